#include "transfers.h"

#include <map>
#include <string>
#include <utility>

#include "llvm/ADT/STLExtras.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "op_facts.h"
#include "places.h"
#include "shards.h"

namespace berth_mlir {
namespace {

mlir::Attribute promise(mlir::MLIRContext* context, std::int32_t device) {
  return mlir::parseAttribute("#hal.device.promise<@device_" + std::to_string(device) + ">",
                              context);
}

/// With integers that have no sign, as all have in IREE's own dialects; any other type as it is.
mlir::RankedTensorType signless(mlir::RankedTensorType type) {
  auto number = mlir::dyn_cast<mlir::IntegerType>(type.getElementType());
  if (!number || number.isSignless()) return type;
  return type.clone(mlir::IntegerType::get(type.getContext(), number.getWidth()));
}

/// The same bits as another type. IREE takes signs from StableHLO's ops, and from none of its own dialects.
mlir::Value reread(mlir::OpBuilder& builder, mlir::Value value, mlir::Type type,
                   std::int32_t device) {
  if (value.getType() == type) return value;
  mlir::OperationState state(value.getLoc(), "stablehlo.bitcast_convert");
  state.addOperands(value);
  state.addTypes(type);
  state.addAttribute("stream.affinity", promise(value.getContext(), device));
  return builder.create(state)->getResult(0);
}

mlir::Value transferred(mlir::Value value, std::int32_t home, std::int32_t device) {
  const auto type = mlir::cast<mlir::RankedTensorType>(value.getType());
  mlir::OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  const mlir::Value sent = reread(builder, value, signless(type), home);
  mlir::OperationState state(value.getLoc(), "flow.tensor.transfer");
  state.addOperands(sent);
  state.addTypes(sent.getType());
  state.addAttribute("operandSegmentSizes", builder.getDenseI32ArrayAttr({1, 0}));
  state.addAttribute("target", promise(value.getContext(), device));
  return reread(builder, builder.create(state)->getResult(0), type, device);
}

using Readers = std::map<std::int32_t, llvm::SmallVector<mlir::OpOperand*>>;

/// The ops of the block that read the value; those in regions count as the op that has them.
Readers readers_of(mlir::Value value, mlir::Block& block,
                   const std::function<std::int32_t(mlir::Operation*)>& device_of) {
  Readers readers;
  for (mlir::OpOperand& use : value.getUses()) {
    mlir::Operation* const reader = block.findAncestorOpInBlock(*use.getOwner());
    const std::int32_t device = reader != nullptr ? device_of(reader) : -1;
    if (device >= 0) readers[device].push_back(&use);
  }
  return readers;
}

/// The same op again, behind it. Operation::clone drops what ops of dialects that are not loaded have.
mlir::Operation* copied(mlir::Operation& op) {
  mlir::OpBuilder builder(op.getContext());
  builder.setInsertionPointAfter(&op);
  mlir::OperationState state(op.getLoc(), op.getName());
  state.addTypes(op.getResultTypes());
  state.addAttributes(llvm::to_vector(op.getDiscardableAttrs()));
  state.propertiesAttr = op.getPropertiesAsAttribute();
  return builder.create(state);
}

void add_constant(mlir::Operation& op, const Readers& readers) {
  bool first = true;
  for (const auto& [device, uses] : readers) {
    mlir::Operation* const here = first ? &op : copied(op);
    first = false;
    here->setAttr("stream.affinity", promise(op.getContext(), device));
    for (mlir::OpOperand* use : uses) use->set(here->getResult(0));
  }
}

/// IREE refuses annotations of shards, and sends nothing behind what has no device: who reads one, or a barrier, reads
/// its operand.
void drop_annotations(mlir::Region& body) {
  body.walk([](mlir::Operation* op) {
    if (!only_passes_on(*op) || converts_shards(*op)) return;
    op->replaceAllUsesWith(op->getOperands().take_front(op->getNumResults()));
    op->erase();
  });
}

/// A value of tensors in a form that flow.tensor.transfer does not take: torch-mlir's, a buffer, a tuple. Null
/// where there is none.
mlir::Value unsendable(mlir::Region& body) {
  const auto is_other = [](mlir::Value value) {
    const mlir::Type type = value.getType();
    if (mlir::isa<mlir::RankedTensorType>(type) || type.isIntOrIndexOrFloat()) return false;
    return mlir::isa<mlir::TupleType>(type) || TensorFacts(type).ranked;
  };
  for (mlir::Value argument : body.getArguments()) {
    if (is_other(argument)) return argument;
  }
  for (mlir::Operation& op : body.front()) {
    const auto found = llvm::find_if(op.getResults(), is_other);
    if (found != op.result_end()) return *found;
  }
  return {};
}

}  // namespace

mlir::LogicalResult add_affinities(mlir::Region& body,
                                   const std::function<std::int32_t(mlir::Operation*)>& device_of,
                                   const std::vector<std::int32_t>& device_of_argument) {
  mlir::MLIRContext* const context = body.getContext();
  if (!promise(context, 0)) {
    return body.getParentOp()->emitError(
        "berth-place: form=iree needs the dialect hal, or --allow-unregistered-dialect");
  }
  if (const mlir::Value value = unsendable(body)) {
    return body.getParentOp()->emitError("berth-place: form=iree sends MLIR's own tensors, and no ")
           << value.getType()
           << "; lower the function first (torch: iree-opt with convert-torch-to-linalg and "
              "torch-func-backend-type-conversion)";
  }
  drop_annotations(body);
  llvm::SmallVector<std::pair<mlir::Value, std::int32_t>> values;
  for (auto [argument, device] : llvm::zip(body.getArguments(), device_of_argument)) {
    values.emplace_back(argument, device);
  }
  for (mlir::Operation& op : llvm::make_early_inc_range(body.front())) {
    const std::int32_t device = device_of(&op);
    if (device < 0 && is_constant(op)) {
      add_constant(op, readers_of(op.getResult(0), body.front(), device_of));
    }
    if (device < 0) continue;
    op.setAttr("stream.affinity", promise(context, device));
    for (mlir::Value result : op.getResults()) values.emplace_back(result, device);
  }
  for (const auto& [value, home] : values) {
    if (!mlir::isa<mlir::RankedTensorType>(value.getType())) continue;
    for (const auto& [device, uses] : readers_of(value, body.front(), device_of)) {
      if (device == home) continue;
      const mlir::Value copy = transferred(value, home, device);
      for (mlir::OpOperand* use : uses) use->set(copy);
    }
  }
  return mlir::success();
}

}  // namespace berth_mlir
