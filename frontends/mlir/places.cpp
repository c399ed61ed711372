#include "places.h"

#include <optional>

#include "llvm/ADT/STLExtras.h"
#include "op_facts.h"

namespace berth_mlir {
namespace {

/// The values that the only block of the op's region hands on when it ends.
mlir::OperandRange handed_on(mlir::Operation& op, unsigned region) {
  return op.getRegion(region).front().back().getOperands();
}

bool has_plain_regions(mlir::Operation& op, unsigned count) {
  return op.getNumRegions() == count && llvm::all_of(op.getRegions(), [](mlir::Region& region) {
           return region.hasOneBlock() && !region.front().empty();
         });
}

/// States of "for" loops are the last operands, and behind the counter in the body.
bool is_for(mlir::Operation& op) {
  const llvm::StringRef type = op.getName().getStringRef();
  return type == "scf.for" || type == "affine.for";
}

mlir::Value last_operand_of(mlir::OpResult result) {
  mlir::Operation& op = *result.getOwner();
  if (op.getNumOperands() < op.getNumResults()) return {};
  return op.getOperand(op.getNumOperands() - op.getNumResults() + result.getResultNumber());
}

/// The number of the state that a while loop gives as this result; empty where it gives something else.
std::optional<unsigned> state_given(mlir::Operation& op, unsigned result) {
  if (op.getNumResults() != op.getNumOperands()) return std::nullopt;
  if (op.getName().getStringRef() != "scf.while") return result;
  const mlir::OperandRange tested = handed_on(op, 0);
  if (result + 1 >= tested.size()) return std::nullopt;
  auto state = mlir::dyn_cast<mlir::BlockArgument>(tested[result + 1]);
  if (!state || state.getOwner() != &op.getRegion(0).front()) return std::nullopt;
  return state.getArgNumber();
}

/// Whether `value`, which the body hands on, is the body's own argument.
bool is_argument(mlir::Value value, mlir::Block& body, unsigned argument) {
  return argument < body.getNumArguments() &&
         followed({value, {}}).value == body.getArgument(argument);
}

mlir::Value unchanged_state(mlir::OpResult result) {
  mlir::Operation& op = *result.getOwner();
  const unsigned number = result.getResultNumber();
  if (is_for(op)) {
    if (!has_plain_regions(op, 1) || number >= handed_on(op, 0).size()) return {};
    const mlir::Value next = handed_on(op, 0)[number];
    return is_argument(next, op.getRegion(0).front(), number + 1) ? last_operand_of(result)
                                                                  : mlir::Value();
  }
  if (!op.getName().getStringRef().ends_with(".while") || !has_plain_regions(op, 2)) return {};
  const std::optional<unsigned> state = state_given(op, number);
  if (!state || *state >= handed_on(op, 1).size()) return {};
  const mlir::Value next = handed_on(op, 1)[*state];
  return is_argument(next, op.getRegion(1).front(), number) ? op.getOperand(*state) : mlir::Value();
}

}  // namespace

Followed followed(Followed from) {
  constexpr int kMostSteps = 1000;  // calls of calls may double without end
  for (int step = 0; step < kMostSteps; ++step) {
    if (auto result = mlir::dyn_cast<mlir::OpResult>(from.value)) {
      mlir::Operation* const callee = callee_of(*result.getOwner());
      if (callee == nullptr || callee->getNumRegions() != 1 || !has_plain_regions(*callee, 1) ||
          result.getResultNumber() >= handed_on(*callee, 0).size()) {
        return from;
      }
      from.calls.push_back(result.getOwner());
      from.value = handed_on(*callee, 0)[result.getResultNumber()];
      continue;
    }
    auto argument = mlir::cast<mlir::BlockArgument>(from.value);
    const bool entered =
        !from.calls.empty() && argument.getOwner()->getParentOp() == callee_of(*from.calls.back());
    if (!entered || argument.getArgNumber() >= from.calls.back()->getNumOperands()) return from;
    from.value = from.calls.back()->getOperand(argument.getArgNumber());
    from.calls.pop_back();
  }
  return from;
}

mlir::Value operand_that_is(mlir::OpResult result) {
  mlir::Operation& op = *result.getOwner();
  if (is_annotation(op)) return op.getOperand(0);
  if (hlo_name(op) == "optimization_barrier" && op.getResultTypes() == op.getOperandTypes()) {
    return op.getOperand(result.getResultNumber());
  }
  return unchanged_state(result);
}

bool is_view(mlir::Operation& op) {
  const llvm::StringRef type = op.getName().getStringRef(), in_hlo = hlo_name(op);
  constexpr llvm::StringRef kTypes[] = {"memref.cast",
                                        "memref.collapse_shape",
                                        "memref.expand_shape",
                                        "memref.reshape",
                                        "memref.reinterpret_cast",
                                        "memref.memory_space_cast",
                                        "memref.subview",
                                        "memref.transpose",
                                        "memref.view",
                                        "tensor.bitcast",
                                        "tensor.cast",
                                        "tensor.collapse_shape",
                                        "tensor.expand_shape",
                                        "tensor.reshape",
                                        "tosa.reshape",
                                        "torch.aten.view",
                                        "torch.aten.transpose.int",
                                        "torch.aten.permute"};
  return op.getNumOperands() > 0 && op.getNumResults() == 1 &&
         (llvm::is_contained(kTypes, type) || in_hlo == "reshape" || in_hlo == "bitcast_convert");
}

bool only_passes_on(mlir::Operation& op) {
  if (is_annotation(op)) return true;
  return op.getNumRegions() == 0 && op.getNumResults() > 0 &&
         llvm::all_of(op.getResults(), [](mlir::OpResult result) {
           return static_cast<bool>(operand_that_is(result));
         });
}

mlir::Value destination_by_type(mlir::OpResult result) {
  mlir::Operation& op = *result.getOwner();
  const llvm::StringRef type = op.getName().getStringRef();
  const unsigned number = result.getResultNumber();
  const auto operand = [&op](unsigned i) {
    return i < op.getNumOperands() ? op.getOperand(i) : mlir::Value();
  };
  if (type.ends_with(".while") && has_plain_regions(op, 2)) {
    const std::optional<unsigned> state = state_given(op, number);
    return state ? operand(*state) : mlir::Value();
  }
  const llvm::StringRef in_hlo = hlo_name(op);
  if (in_hlo == "dynamic_update_slice" || type == "tosa.scatter") return operand(0);
  if (in_hlo == "scatter") return operand(number);
  if (type == "tensor.insert" || type == "tensor.insert_slice" || type == "tensor.scatter" ||
      type == "bufferization.materialize_in_destination") {
    return operand(1);
  }
  const bool last = is_for(op) || type == "scf.forall" || type == "tensor.pack" ||
                    type == "tensor.unpack" || type.starts_with("linalg.") ||
                    type.starts_with("iree_linalg_ext.");
  return last ? last_operand_of(result) : mlir::Value();
}

mlir::Value destination_of(mlir::OpResult result) {
  const mlir::Value destination = destination_by_type(result);
  const bool fits = destination && destination.getType() == result.getType();
  return fits && !operand_that_is(result) ? destination : mlir::Value();
}

bool updates_part(mlir::Operation& op) {
  const llvm::StringRef type = op.getName().getStringRef(), in_hlo = hlo_name(op);
  return in_hlo == "dynamic_update_slice" || in_hlo == "scatter" || type == "tensor.insert" ||
         type == "tensor.insert_slice" || type == "tensor.scatter" || type == "tosa.scatter" ||
         type == "iree_linalg_ext.scatter" || type == "iree_linalg_ext.map_store" ||
         type == "iree_linalg_ext.map_scatter";
}

bool starts_empty(mlir::Operation& op) {
  if (!updates_part(op)) return false;
  const mlir::Value destination = destination_of(op.getResult(0));
  mlir::Operation* const maker = destination ? destination.getDefiningOp() : nullptr;
  return maker != nullptr && is_empty(*maker);
}

bool is_read_after(mlir::Value value, mlir::Operation& op) {
  return llvm::any_of(value.getUsers(), [&op](mlir::Operation* user) {
    mlir::Operation* const reader = op.getBlock()->findAncestorOpInBlock(*user);
    return reader != nullptr && op.isBeforeInBlock(reader);
  });
}

bool is_empty(mlir::Operation& op) {
  const llvm::StringRef type = op.getName().getStringRef();
  if (op.getNumResults() != 1) return false;
  return type == "tensor.empty" ||
         (type == "bufferization.alloc_tensor" && !attribute_of(op, "copy") &&
          llvm::none_of(op.getOperandTypes(),
                        [](mlir::Type operand) { return mlir::isa<mlir::ShapedType>(operand); }));
}

mlir::Operation* taker_of_filled(mlir::Operation& op) {
  const llvm::StringRef type = op.getName().getStringRef();
  const bool fills = type == "linalg.fill" || type == "linalg.broadcast" ||
                     type == "tensor.splat" || hlo_name(op) == "broadcast_in_dim";
  if (!fills || op.getNumResults() != 1 || op.getNumOperands() == 0) return nullptr;
  const mlir::Value filled = op.getResult(0);
  const TensorFacts number(op.getOperand(0).getType());
  if (!number.ranked || number.elements() != 1 || !filled.hasOneUse()) return nullptr;
  mlir::Operation* const taker = *filled.getUsers().begin();
  const auto takes = [&filled](mlir::OpResult result) { return destination_of(result) == filled; };
  return taker->getBlock() == op.getBlock() && llvm::any_of(taker->getResults(), takes) ? taker
                                                                                        : nullptr;
}

}  // namespace berth_mlir
