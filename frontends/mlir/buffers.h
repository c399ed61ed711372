// Buffers that ops read and write, which no result of theirs shows.
#pragma once

#include "llvm/ADT/SetVector.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace berth_mlir {

/// Buffers around an op that it, or those in its regions, write and otherwise read. A part of a buffer that is taken
/// within counts as that buffer.
struct TouchedBuffers {
  llvm::SetVector<mlir::Value> written, read;
};
[[nodiscard]] TouchedBuffers buffers_of(mlir::Operation& op);

}  // namespace berth_mlir
