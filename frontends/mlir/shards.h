// Computations that the IR has for one shard.
#pragma once

#include "mlir/IR/Operation.h"

namespace berth_mlir {

/// How many shards run the body of sdy.manual_computation (JAX's shard_map): the product of the sizes that its mesh has
/// along its manual axes. Attributes of Shardy are read from their text; 1 where that says nothing.
double shards_of(mlir::Operation& op);

}  // namespace berth_mlir
