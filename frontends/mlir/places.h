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

/// The operand that the result is, with no memory of its own: what only says how a tensor is sharded, a barrier,
/// and a state of a loop that its body hands on as it got it. Null where the result is a tensor.
[[nodiscard]] mlir::Value operand_that_is(mlir::OpResult result);
/// Whether the result is the first operand's memory with another shape, or a part of it.
[[nodiscard]] bool is_view(mlir::Operation& op);
/// Whether that is all of the op: it takes no time, and no device runs it.
[[nodiscard]] bool only_passes_on(mlir::Operation& op);

/// The operand that the op's type says a result is written over, or that a loop's state starts as; null for none.
[[nodiscard]] mlir::Value destination_by_type(mlir::OpResult result);
/// The operand whose place in memory the result takes, as bufferization has it, where nothing reads that operand
/// afterwards: the destination of linalg's ops and of inserts, the start of a loop's state. Null for none.
[[nodiscard]] mlir::Value destination_of(mlir::OpResult result);

/// Whether the op writes a part of its destination and leaves the rest as it is.
[[nodiscard]] bool updates_part(mlir::Operation& op);

/// Whether it is an update of a buffer with nothing in it.
[[nodiscard]] bool starts_empty(mlir::Operation& op);

/// Whether an op of the same block, or within it, reads the value after this one does.
[[nodiscard]] bool is_read_after(mlir::Value value, mlir::Operation& op);

/// Whether the op gives a buffer with nothing in it: its memory is that of what is written there.
[[nodiscard]] bool is_empty(mlir::Operation& op);

/// The only op that reads the result of `op`, which fills it with one number, if what that gives takes the
/// result's place. Null for other ops.
[[nodiscard]] mlir::Operation* taker_of_filled(mlir::Operation& op);

}  // namespace berth_mlir
