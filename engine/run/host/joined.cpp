#include "host/joined.h"

#include <utility>

#include "berth/run.h"
#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth {

std::vector<ConstraintRule> joined_rules(const Graph& graph, const Costs& costs) {
  std::vector<ConstraintRule> rules;
  for (const Costs::Joined& pair : costs.joined()) {
    if (graph.is_constant(pair.op) || graph.is_constant(pair.with)) continue;  // not of the step
    ConstraintRule rule;
    rule.kind = ConstraintRule::Kind::colocate;
    for (const OpId op : {pair.with, pair.op}) rule.ops.push_back({graph.op_name(op), {}, {}, {}});
    rule.text = cat("costs of ", costs.source(), ": '", graph.op_name(pair.with),
                    "' does the work of '", graph.op_name(pair.op), "'");
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::string separated_text(const Task& task, const Placement& placement) {
  const Graph& graph = task.problem->graph();
  std::int64_t apart = 0;
  Costs::Joined first{kNoOp, kNoOp};
  for (const Costs::Joined& pair : task.problem->costs().joined()) {
    if (placement[at(pair.op)] == placement[at(pair.with)]) continue;
    if (++apart == 1) first = pair;
  }
  if (apart == 0) return {};
  return cat("the costs count ", apart, apart == 1 ? " op" : " ops",
             " as work of others, which the placement has elsewhere, such as '",
             graph.op_name(first.op), "' of '", graph.op_name(first.with),
             "': a step takes longer than simulated");
}

}  // namespace berth
