// Values of the IR that share memory, and values behind calls.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace berth_mlir {

/// A value, and the calls that lead to it, the innermost last.
struct Followed {
  mlir::Value value;
  llvm::SmallVector<mlir::Operation*, 2> calls;
};

/// Follows a value behind calls: the result of a call is what its function returns, and the argument of a function
/// that was entered so is what the call hands to it.
[[nodiscard]] Followed followed(Followed from);

}  // namespace berth_mlir
