// One replica of a plan whose replicas are alike, with what it waits for of the others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/export.h"
#include "berth/replicas.h"

namespace berth {

/// The step of one replica. A collective is one op, on a reducer: a device that does nothing else. The link to it takes as
/// long as the ring, and occupies what sends and the channels of the ring; the way back takes no time. The other
/// replicas are at the same point all the time: on a host that all use, and on channels, everything takes as many times as
/// long. The graph has about a k-th of the ops of the whole step. It is
/// an estimate: a chunk of a ring of ops waits for those of others.
struct Folded {
  /// The replica's ops, named "replica_0/..", then of each bucket pack, reduction and join. Costs have one kind
  /// more than the plan's cluster.
  SizedModel model;
  OpId ops_each = 0;
  std::shared_ptr<const Cluster> cluster;             ///< with the reducers behind its devices
  std::vector<std::pair<OpId, DeviceId>> reductions;  ///< the op of each bucket, and its reducer
};

/// `one` is the model at the replicas' share. Updates are every replica's own, whatever the plan says. Throws what
/// replicate() throws.
[[nodiscard]] BERTH_EXPORT Folded fold(const Training& training, const SizedModel& whole,
                                       const SizedModel& one, const Cluster& cluster,
                                       const ReplicaPlan& plan);

/// The reduction between the devices at one position of all replicas, as a link over which the reduced bytes go once:
/// a ring of 2 (k - 1) rounds of a k-th of them each, or such rings in two levels (levels.h).
struct RingLink {
  double bandwidth_bytes_per_s = 0;
  double latency_us = 0;
  std::vector<std::string> channels;  ///< that any of its links occupies
};
[[nodiscard]] BERTH_EXPORT RingLink ring_link(const ReplicaPlan& plan, std::size_t position,
                                              const Cluster& cluster);
/// Reducers of such a plan: a few, so that devices of a replica seldom wait for one another there.
[[nodiscard]] std::size_t reducer_count(const ReplicaPlan& plan);
/// The cluster as the first replica finds it among the others, and reducers, of one more kind.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Cluster> with_reducers(const ReplicaPlan& plan,
                                                                        const Cluster& cluster);

}  // namespace berth
