#include "places.h"

#include <optional>

#include "llvm/ADT/STLExtras.h"
#include "op_facts.h"

namespace berth_mlir {
namespace {

/// The values that the only block of the op's region hands on when it ends.
mlir::OperandRange handed_on(mlir::Operation& op) {
  return op.getRegion(0).front().back().getOperands();
}

bool has_plain_region(mlir::Operation& op) {
  return op.getNumRegions() == 1 && op.getRegion(0).hasOneBlock() &&
         !op.getRegion(0).front().empty();
}

}  // namespace

Followed followed(Followed from) {
  constexpr int kMostSteps = 1000;  // calls of calls may double without end
  for (int step = 0; step < kMostSteps; ++step) {
    if (auto result = mlir::dyn_cast<mlir::OpResult>(from.value)) {
      mlir::Operation* const callee = callee_of(*result.getOwner());
      if (callee == nullptr || !has_plain_region(*callee) ||
          result.getResultNumber() >= handed_on(*callee).size()) {
        return from;
      }
      from.calls.push_back(result.getOwner());
      from.value = handed_on(*callee)[result.getResultNumber()];
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

}  // namespace berth_mlir
