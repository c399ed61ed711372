// Ops that costs count as work of others (Costs::joined).
#pragma once

#include <vector>

#include "berth/constraints.h"
#include "berth/costs.h"
#include "berth/graph.h"

namespace berth {

/// Rules that keep what was measured as one together.
[[nodiscard]] std::vector<ConstraintRule> joined_rules(const Graph& graph, const Costs& costs);

}  // namespace berth
