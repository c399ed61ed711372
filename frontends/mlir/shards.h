// Computations that the IR has for one shard.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace berth_mlir {

/// How many shards run the body of sdy.manual_computation (JAX's shard_map), the product of the sizes that its mesh has
/// along its manual axes; or the function of a call between GSPMD's conversions to shards and back, the partitions that
/// those say. Attributes of Shardy are read from their text; 1 where that says nothing, and for other ops.
[[nodiscard]] double shards_of(mlir::Operation& op);

/// Whether the op turns a tensor into its shard, or shards into their tensor, as GSPMD has it. All shards are there, so
/// that it is that tensor.
[[nodiscard]] bool converts_shards(mlir::Operation& op);
/// Whether the op, which is no annotation, takes the shard that such a conversion gives.
[[nodiscard]] bool reads_a_shard(mlir::Operation& op);

/// The type of the tensor that the shard becomes; the value's own where nothing converts it.
[[nodiscard]] mlir::Type whole_type(mlir::Value value);

/// Whether the op exchanges tensors with others that run the same program.
[[nodiscard]] bool is_collective(mlir::Operation& op);
/// Collectives among the ops and within them, but in what runs all shards itself.
[[nodiscard]] llvm::SmallVector<mlir::Operation*> collectives_of(
    llvm::ArrayRef<mlir::Operation*> ops);

}  // namespace berth_mlir
