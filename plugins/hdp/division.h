// The initial groups of the grouper: a division of a graph's units without manual rules.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/problem.h"

namespace berth::hdp {

/// A group below `count` (>= 2) for every unit, the groups of `problem`.
///
/// A weight that many units read belongs to a layer that has been unrolled. If a graph has such
/// weights, the units that read one form a layer (with their gradients, if the graph co-locates
/// them), and every other unit belongs to the layer with which it has the most traffic. Each layer
/// is cut by depth into stretches of about equal compute time, so that a stretch is a few steps.
/// Groups are numbered in that order, and layers by the depth at which they begin. A graph without
/// such weights is divided by `coarsen`.
///
/// Units of one group can run on the same devices. Names, op types and manual rules are not used.
[[nodiscard]] std::vector<std::int32_t> divide(const Problem& problem, std::int32_t count);

}  // namespace berth::hdp
