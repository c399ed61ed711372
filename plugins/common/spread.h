// Which devices a baseline uses.
#pragma once

#include <vector>

#include "berth/problem.h"

namespace berth::policies {

/// Devices that a baseline spreads a graph over, in the cluster's order: all, or all but the hosts.
/// A cluster of hosts only gives all of them. Never empty.
[[nodiscard]] std::vector<DeviceId> spread_devices(const Problem& problem, bool hosts);

}  // namespace berth::policies
