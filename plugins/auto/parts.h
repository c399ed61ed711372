// Parts of a machine: what is spread over all of it can be slower.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "berth/problem.h"
#include "berth/support/index.h"

namespace berth::policies::auto_policy {

/// A problem on some of its devices.
struct Part {
  std::shared_ptr<const Problem> problem;
  std::vector<DeviceId> devices;  ///< by device of the part

  [[nodiscard]] Placement to_whole(Placement placement) const {
    for (DeviceId& device : placement) device = devices[at(device)];
    return placement;
  }
  [[nodiscard]] bool holds(const Placement& placement) const {
    return std::all_of(placement.begin(), placement.end(), [&](DeviceId device) {
      return std::binary_search(devices.begin(), devices.end(), device);
    });
  }
  /// Shrinks a placement that uses no other devices.
  [[nodiscard]] Placement from_whole(Placement placement) const {
    for (DeviceId& device : placement) {
      device = static_cast<DeviceId>(std::lower_bound(devices.begin(), devices.end(), device) -
                                     devices.begin());
    }
    return placement;
  }
};

/// The problem on the hosts and on one of `divisor` of the devices of every other kind, rounded up,
/// the first ones.
[[nodiscard]] Part part_of_machine(const Problem& problem, DeviceId divisor);

}  // namespace berth::policies::auto_policy
