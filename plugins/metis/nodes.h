#pragma once

#include <vector>

#include "berth/cluster.h"

namespace berth::policies::metis {

/// Sorts `devices`, and `speeds` with them, so that the devices of a node follow each other, and
/// returns the node of each. A node is what fast links connect, where there are links at least twice
/// as slow between nodes; without such there is one node.
std::vector<int> sort_by_nodes(const Cluster& cluster, std::vector<DeviceId>& devices,
                               std::vector<double>& speeds);

}  // namespace berth::policies::metis
