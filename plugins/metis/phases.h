#pragma once

#include "berth/problem.h"
#include "metis/partition.h"

namespace berth::policies::metis {

/// The step in `count` phases of equal work, by when each op could start at the earliest. `graph` is
/// that of the problem's groups; a group has its weight in the phases of its ops.
[[nodiscard]] Phases phases_of(const Problem& problem, const WeightedGraph& graph, int count);

}  // namespace berth::policies::metis
