#include "berth/problem_choices.h"

#include <utility>

#include "berth/support/text.h"

namespace berth {
namespace {

/// Kinds of devices that no op can run on: stated costs that speak of other kinds, most likely.
/// The placement would leave them idle without a word.
void note_idle_kinds(const Problem& problem, std::vector<std::string>& notes) {
  if (problem.costs().source() == "roofline") return;  // it knows what only a host can run
  const Cluster& cluster = problem.cluster();
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    bool used = false;
    for (OpId op = 0; op < problem.graph().op_count() && !used; ++op) {
      used = problem.costs().can_run(op, kind);
    }
    if (used || problem.graph().op_count() == 0) continue;
    notes.push_back(cat("no op has a cost on device kind '", cluster.kind_name(kind),
                        "', so that those devices stay idle (costs: ", problem.costs().source(),
                        "); name a cluster of the kinds that the costs are for, or choose "
                        "roofline costs"));
  }
}

}  // namespace

LoadedCosts make_costs(Engine& engine, const Graph& graph, const Cluster& cluster,
                       const std::string& source) {
  if (source.empty()) return {Costs::stated_or_roofline(graph, cluster), {}};
  if (source == "stated") return {Costs::stated(graph, cluster), {}};
  if (source == "roofline") return {Costs::roofline(graph, cluster), {}};
  return engine.load_costs(source, graph, cluster);
}

MadeProblem make_problem(Engine& engine, std::shared_ptr<const Graph> graph,
                         std::shared_ptr<const Cluster> cluster, const ProblemChoices& choices) {
  MadeProblem made;
  std::shared_ptr<const Costs> costs = choices.costs;
  if (costs == nullptr) {
    LoadedCosts loaded = make_costs(engine, *graph, *cluster, choices.cost_source);
    costs = std::move(loaded.costs);
    made.notes = std::move(loaded.notes);
  }
  std::shared_ptr<const Constraints> constraints;
  if (!choices.constraints.empty()) {
    constraints =
        std::make_shared<const Constraints>(*graph, *cluster, *costs, choices.constraints);
  }
  std::shared_ptr<const Groups> groups = choices.groups;
  if (groups == nullptr) {
    groups = make_groups(*graph, *costs, choices.grouping, choices.group_count);
  }
  made.problem =
      std::make_shared<const Problem>(std::move(graph), std::move(cluster), std::move(costs),
                                      std::move(groups), choices.options, std::move(constraints));
  note_idle_kinds(*made.problem, made.notes);
  return made;
}

}  // namespace berth
