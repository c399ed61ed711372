// A bound of all plans, from the model at several sizes.
#pragma once

#include "berth/bound_effort.h"
#include "host/replica_models.h"
#include "host/replica_shares.h"

namespace berth {

/// The largest of three bounds: bound_replicas; a replica of one sample on the whole machine, as every replica has one
/// at least; where all devices are of a kind, the least over d of d devices with their share of the batch, as some
/// replica has no more devices than that for its samples. Without the ops that replicas may share with one another. It is
/// assumed that no op takes less time for more samples. `plain_us`: a bound of the plain step. `should_stop`: see
/// lower_bound.
[[nodiscard]] ReplicaBound limit_of_plans(ReplicaModels& models, ReplicaShares& shares,
                                          double plain_us, BoundEffort effort,
                                          const std::function<bool()>& should_stop);

}  // namespace berth
