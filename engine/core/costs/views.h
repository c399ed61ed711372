// Ops that take no memory of their own.
#pragma once

#include <vector>

#include "berth/costs.h"
#include "berth/graph.h"

namespace berth {

/// Whether each op is a view (ops::is_view), or done in place by the op before it (Costs::joined).
[[nodiscard]] std::vector<bool> views_of(const Graph& graph, const Costs& costs);

}  // namespace berth
