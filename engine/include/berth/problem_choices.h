/// @file
/// A problem from what people say of it: names, numbers and rules, with defaults for the rest.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/cluster.h"
#include "berth/constraints.h"
#include "berth/costs.h"
#include "berth/engine.h"
#include "berth/export.h"
#include "berth/graph.h"
#include "berth/groups.h"
#include "berth/problem.h"

namespace berth {

/// Everything beside graph and cluster. What is left open has one default, whoever asks.
struct ProblemChoices {
  std::shared_ptr<const Costs> costs;  ///< null = by `cost_source`
  /// "stated" (in the graph), "roofline", or a file with costs. Empty = op by op:
  /// stated where the graph states one, else roofline.
  std::string cost_source;

  std::shared_ptr<const Groups> groups;  ///< null = by the two below, as make_groups says
  std::optional<Grouping> grouping;
  std::optional<GroupId> group_count;

  ProblemOptions options;
  std::vector<ConstraintRule> constraints;
};

struct MadeProblem {
  std::shared_ptr<const Problem> problem;
  /// What a user should know and can live with: how many ops a file of costs measured, device kinds
  /// without any costs.
  std::vector<std::string> notes;
};

/// The costs that `source` names (see ProblemChoices::cost_source). `engine` reads files.
[[nodiscard]] BERTH_EXPORT LoadedCosts make_costs(Engine& engine, const Graph& graph,
                                                  const Cluster& cluster,
                                                  const std::string& source);

/// Throws what Problem, Constraints, make_groups and make_costs throw.
[[nodiscard]] BERTH_EXPORT MadeProblem make_problem(Engine& engine,
                                                    std::shared_ptr<const Graph> graph,
                                                    std::shared_ptr<const Cluster> cluster,
                                                    const ProblemChoices& choices);

}  // namespace berth
