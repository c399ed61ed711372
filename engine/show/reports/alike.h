// Idle devices in whose place another would do.
#pragma once

#include <vector>

#include "berth/evaluator.h"

namespace berth::reports {

/// Gives by device the first that some ops could move to in its place with the same step, to the
/// last digit: itself, unless neither holds an op, and they are alike: of one class, with as much memory
/// and links of the same figures and channels from and to all devices that hold ops. None of the
/// latter comes between the two, since ties between simultaneous events go by the order of devices.
[[nodiscard]] std::vector<DeviceId> first_alike(const Problem& problem, const Placement& placement);

/// The evaluation with the two devices in each other's place.
[[nodiscard]] Evaluation exchanged(Evaluation evaluation, DeviceId a, DeviceId b);

}  // namespace berth::reports
