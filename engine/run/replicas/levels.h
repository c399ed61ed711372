// Reductions in two levels, for replicas on several nodes.
#pragma once

#include <cstddef>
#include <vector>

#include "berth/cluster.h"
#include "berth/export.h"
#include "berth/replicas.h"
#include "replicas/folded.h"

namespace berth {

/// Replicas by the node that they are on, each node in the order of a ring: as many on each.
using ReplicaNodes = std::vector<std::vector<std::size_t>>;

/// The nodes for a reduction in two levels: summed inside, so that each replica of a node has a part of its sum, then
/// between those of each part, and gathered inside. A flat ring of k replicas sends 2 (k - 1) / k of the bytes over the
/// link between two nodes, two levels over n nodes 2 (n - 1) / n of them. A node is a host with what is nearest to it.
/// Empty where a flat ring takes no longer for a bucket: on one node always, and where links inside of nodes are no faster
/// than those between them.
[[nodiscard]] BERTH_EXPORT ReplicaNodes reduction_nodes(const ReplicaPlan& plan,
                                                        const Cluster& cluster);

/// The flat ring, whatever the nodes are: rows of tables go round it.
[[nodiscard]] RingLink flat_ring_link(const ReplicaPlan& plan, std::size_t position,
                                      const Cluster& cluster);

}  // namespace berth
