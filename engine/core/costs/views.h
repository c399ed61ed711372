// Ops that take no memory of their own.
#pragma once

#include <vector>

#include "berth/costs.h"
#include "berth/graph.h"

namespace berth {

/// By op: a view (ops::is_view), or what the op before it does in place (Costs::joined).
[[nodiscard]] std::vector<bool> views_of(const Graph& graph, const Costs& costs);

}  // namespace berth
