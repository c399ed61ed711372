// Placements in the form that IREE executes.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "mlir/IR/Operation.h"
#include "mlir/IR/Region.h"
#include "mlir/Support/LogicalResult.h"

namespace berth_mlir {

/// Gives every op of the body its affinity, "#hal.device.promise<@device_N>", and moves a value once
/// to each device that reads it elsewhere than where it is made: "flow.tensor.transfer". A constant is
/// copied to every device that reads it, and annotations of shards are left out. `device_of` gives -1 for what has no device.
/// An error where the body has tensors in other forms than MLIR's own.
mlir::LogicalResult add_affinities(mlir::Region& body,
                                   const std::function<std::int32_t(mlir::Operation*)>& device_of,
                                   const std::vector<std::int32_t>& device_of_argument);

}  // namespace berth_mlir
