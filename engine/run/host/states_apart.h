// States that rules keep from the results that become them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/cluster.h"
#include "berth/constraints.h"
#include "berth/costs.h"
#include "berth/graph.h"

namespace berth {

struct StatesApart {
  std::shared_ptr<const Graph> graph;  ///< carry_states of `states`
  std::vector<Graph::State> states;
  std::string note;  ///< a sentence without a full stop
};

/// The graph with those of its states apart that cannot be where their results are made. Empty where
/// the rules are in conflict without any states too.
[[nodiscard]] std::optional<StatesApart> states_apart(const Graph& graph, const Cluster& cluster,
                                                      const Costs& costs,
                                                      const std::vector<ConstraintRule>& rules);

/// The costs of a graph with more ops behind those of `costs`, which cost nothing.
[[nodiscard]] std::shared_ptr<const Costs> with_free_ops(const Costs& costs, OpId count);

}  // namespace berth
