/// @file
/// One device for all that it can run: what placements are compared with.
#pragma once

#include <string>

#include "berth/evaluator.h"
#include "berth/export.h"
#include "berth/problem.h"
#include "berth/types.h"

namespace berth {

/// What a framework does by default: all that `device` can run and may hold on it, the rest on a
/// host or, where no host can run it, on the device that computes it fastest. What constraints keep
/// apart is apart. Memory is not asked. Throws Error(infeasible) where nothing keeps them apart.
/// The best of these placements is that of best_single_device.
[[nodiscard]] BERTH_EXPORT Placement one_device_placement(const Problem& problem, DeviceId device);

/// "gpu:0", or "gpu:0 for all that it can run, cpu:0 for 12 ops". Not for kNoDevice.
[[nodiscard]] BERTH_EXPORT std::string single_device_text(const Problem& problem,
                                                          const SingleDevice& single);

}  // namespace berth
