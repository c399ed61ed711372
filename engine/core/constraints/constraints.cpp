#include "berth/constraints.h"

#include <algorithm>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"
#include "constraints/compiler.h"

namespace berth {

Constraints::Constraints(const Graph& graph, const Cluster& cluster, const Costs& costs,
                         std::vector<ConstraintRule> rules) {
  if (costs.kind_count() != cluster.kind_count() ||
      costs.of_kind(0).size() != at(graph.op_count())) {
    throw Error(ErrorCode::invalid_argument,
                "the costs are for another graph or cluster than the constraints; make them from "
                "these");
  }
  auto data = std::make_shared<Data>();
  data->rules = std::move(rules);
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    data->memory_bytes.push_back(cluster.device(d).memory_bytes);
  }
  ConstraintCompiler(graph, cluster, costs, *data).run();
  data_ = std::move(data);
}

const std::vector<ConstraintRule>& Constraints::rules() const noexcept {
  return data_->rules;
}
std::span<const OpId> Constraints::ops_of(std::size_t rule) const noexcept {
  return data_->ops_of_rule[rule];
}
bool Constraints::allowed(OpId op, DeviceId device) const noexcept {
  return data_->sets[at(data_->set_of_op[at(op)]) * data_->memory_bytes.size() + at(device)];
}
std::int64_t Constraints::memory_bytes(DeviceId device) const noexcept {
  return data_->memory_bytes[at(device)];
}
DeviceId Constraints::device_count() const noexcept {
  return static_cast<DeviceId>(data_->memory_bytes.size());
}
const std::shared_ptr<const Groups>& Constraints::classes() const noexcept {
  return data_->classes;
}
bool Constraints::class_can_be_on(GroupId of_classes, DeviceId device) const noexcept {
  return data_->can_be_on(of_classes, device);
}
const std::vector<Constraints::Separation>& Constraints::separations() const noexcept {
  return data_->separations;
}
std::int32_t Constraints::label_of_class(GroupId of_classes) const noexcept {
  return data_->label_of_class[at(of_classes)];
}

std::vector<bool> Constraints::column(DeviceId device) const {
  std::vector<bool> column;
  for (std::size_t i = at(device); i < data_->sets.size(); i += data_->memory_bytes.size()) {
    column.push_back(data_->sets[i]);
  }
  return column;
}

std::vector<std::size_t> Constraints::rules_against(OpId op, DeviceId device) const {
  std::vector<std::size_t> against;
  for (const Data::Restriction& restriction : data_->restrictions) {
    if (restriction.devices[at(device)]) continue;
    const bool about = std::any_of(restriction.ops.begin(), restriction.ops.end(), [&](OpId other) {
      return data_->classes->of(other) == data_->classes->of(op);
    });
    if (about && (against.empty() || against.back() != restriction.rule)) {
      against.push_back(restriction.rule);
    }
  }
  return against;
}

}  // namespace berth
