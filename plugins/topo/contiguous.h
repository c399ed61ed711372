// The best way to cut a sequence of groups into one segment per device.
#pragma once

#include <optional>
#include <vector>

#include "berth/problem.h"

namespace berth::policies::topo {

struct ContiguousRules {
  bool memory = true;  ///< a segment's parameters fit its device
  bool kinds = true;   ///< a segment holds no group that its device cannot run
};

/// Groups in their numbering's order, cut into contiguous segments on distinct devices of `devices`
/// so that the largest compute time of a segment is the least over all cuts and all orders of the
/// devices (up to 1e-12 relative). A group that none of the devices can run counts as 0 everywhere.
/// Empty if no cut obeys the rules. Devices of one kind and memory are interchangeable and are used
/// in the cluster's order. If there are too many different ones to search their orders (more than
/// 4,096 combinations), only the cluster's order is tried.
[[nodiscard]] std::optional<GroupPlacement> cut_contiguously(const Problem& problem,
                                                             const std::vector<DeviceId>& devices,
                                                             ContiguousRules rules);

}  // namespace berth::policies::topo
