// Ops that take no memory of their own.
#pragma once

#include <vector>

#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/graph.h"

namespace berth {

/// Ops that take no memory; both may be empty: there are none.
struct Views {
  std::vector<bool> is_view;          ///< by op
  std::vector<TensorId> overwritten;  ///< by op: the input that a view writes over, or kNoTensor
};

/// The views of a graph (ops::is_view), what the op before does in place (Costs::joined), and with `overwrites` what
/// writes over an input on the machine (ops::overwritten_inputs).
[[nodiscard]] Views views_of(const Graph& graph, const Cluster& cluster, const Costs& costs,
                             bool overwrites);

}  // namespace berth
