#include "transfers.h"

#include <map>
#include <string>
#include <utility>

#include "llvm/ADT/STLExtras.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace berth_mlir {
namespace {

mlir::Attribute promise(mlir::MLIRContext* context, std::int32_t device) {
  return mlir::parseAttribute("#hal.device.promise<@device_" + std::to_string(device) + ">",
                              context);
}

mlir::Value transferred(mlir::Value value, mlir::Attribute target) {
  mlir::OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  mlir::OperationState state(value.getLoc(), "flow.tensor.transfer");
  state.addOperands(value);
  state.addTypes(value.getType());
  state.addAttribute("operandSegmentSizes", builder.getDenseI32ArrayAttr({1, 0}));
  state.addAttribute("target", target);
  return builder.create(state)->getResult(0);
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
  llvm::SmallVector<std::pair<mlir::Value, std::int32_t>> values;
  for (auto [argument, device] : llvm::zip(body.getArguments(), device_of_argument)) {
    values.emplace_back(argument, device);
  }
  for (mlir::Operation& op : body.front()) {
    const std::int32_t device = device_of(&op);
    if (device < 0) continue;
    op.setAttr("stream.affinity", promise(context, device));
    for (mlir::Value result : op.getResults()) values.emplace_back(result, device);
  }
  for (const auto& [value, home] : values) {
    if (!mlir::isa<mlir::RankedTensorType>(value.getType())) continue;
    std::map<std::int32_t, llvm::SmallVector<mlir::OpOperand*>> readers;
    for (mlir::OpOperand& use : value.getUses()) {
      mlir::Operation* const reader = body.front().findAncestorOpInBlock(*use.getOwner());
      const std::int32_t device = reader != nullptr ? device_of(reader) : -1;
      if (device >= 0 && device != home) readers[device].push_back(&use);
    }
    for (const auto& [device, uses] : readers) {
      const mlir::Value copy = transferred(value, promise(context, device));
      for (mlir::OpOperand* use : uses) use->set(copy);
    }
  }
  return mlir::success();
}

}  // namespace berth_mlir
