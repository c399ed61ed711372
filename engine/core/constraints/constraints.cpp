#include "berth/constraints.h"

#include <algorithm>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"
#include "constraints/compiler.h"

namespace berth {

Constraints::Constraints(const Graph& graph, const Cluster& cluster, const Costs& costs,
                         std::vector<ConstraintRule> rules)
    : rules_(std::move(rules)) {
  if (costs.kind_count() != cluster.kind_count() ||
      costs.of_kind(0).size() != at(graph.op_count())) {
    throw Error(ErrorCode::invalid_argument,
                "the costs are for another graph or cluster than the constraints; make them from "
                "these");
  }
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    memory_bytes_.push_back(cluster.device(d).memory_bytes);
  }
  ConstraintCompiler(graph, cluster, costs, *this).run();
}

std::vector<bool> Constraints::column(DeviceId device) const {
  std::vector<bool> column;
  for (std::size_t i = at(device); i < sets_.size(); i += memory_bytes_.size()) {
    column.push_back(sets_[i]);
  }
  return column;
}

std::vector<std::size_t> Constraints::rules_against(OpId op, DeviceId device) const {
  std::vector<std::size_t> against;
  for (const Restriction& restriction : restrictions_) {
    if (restriction.devices[at(device)]) continue;
    const bool about = std::any_of(restriction.ops.begin(), restriction.ops.end(), [&](OpId other) {
      return classes_->of(other) == classes_->of(op);
    });
    if (about && (against.empty() || against.back() != restriction.rule)) {
      against.push_back(restriction.rule);
    }
  }
  return against;
}

}  // namespace berth
