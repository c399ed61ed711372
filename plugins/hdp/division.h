// Where the grouper begins: a division of a graph's units that nobody made by hand.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/problem.h"

namespace berth::hdp {

/// A group below `count` (>= 2) for every unit, the groups of `problem`.
///
/// A weight that many units read is that of a layer which has been unrolled. Where a graph has such
/// weights, the units that read one (which each share a group with their gradients, where the graph
/// co-locates them) are a layer, and every other unit belongs to the layer to which it has the most
/// traffic. Each layer is cut into stretches of about equal compute time by depth, so that a
/// stretch is a few steps; its groups are numbered in that order, and layers follow one another by
/// the depth at which they begin. A graph without such weights is divided by `coarsen`.
///
/// Units of one group can run on the same devices. Names, op types and hand-made rules play no
/// part.
[[nodiscard]] std::vector<std::int32_t> divide(const Problem& problem, std::int32_t count);

}  // namespace berth::hdp
