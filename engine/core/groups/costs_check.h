#pragma once

#include "berth/costs.h"
#include "berth/graph.h"

namespace berth::groups {

/// Throws Error(invalid_argument) unless `costs` has one cost per op of `graph`.
void require_costs_of(const Graph& graph, const Costs& costs);

}  // namespace berth::groups
