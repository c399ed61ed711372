#include "berth/sdk/footprint.h"

#include "berth/support/index.h"
#include "berth/support/sums.h"

namespace berth {

Footprint::Footprint(const Problem& problem, double output_share)
    : devices_(at(problem.cluster().device_count())),
      own_(at(problem.groups().count()), 0),
      shared_(own_.size()) {
  const Graph& graph = problem.graph();
  const Groups& groups = problem.groups();
  const bool parameters = counts_lifetimes(problem.options());
  for (OpId op = 0; op < graph.op_count(); ++op) {
    std::int64_t& own = own_[at(groups.of(op))];
    if (parameters) own = saturating_sum(own, graph.own_param_bytes(op));
    own = saturating_sum(own, problem.lasting_bytes(op));
    if (problem.is_view(op)) continue;
    // A share of 1 is exact, whatever the bytes; below, doubles are near enough.
    std::int64_t outputs = graph.output_bytes(op);
    if (parameters) outputs -= graph.lasting_bytes(op);
    own = saturating_sum(own, output_share >= 1 ? outputs
                                                : static_cast<std::int64_t>(
                                                      output_share * static_cast<double>(outputs)));
  }
  if (!parameters) return;
  const auto& shared = graph.shared_parameters();
  for (std::size_t i = 0; i < shared.size(); ++i) {
    shared_bytes_.push_back(shared[i].bytes);
    for (const OpId op : shared[i].consumers) {
      std::vector<std::size_t>& list = shared_[at(groups.of(op))];
      if (list.empty() || list.back() != i) list.push_back(i);
    }
  }
}

std::int64_t Footprint::alone(GroupId group) const {
  std::int64_t bytes = own_[at(group)];
  for (const std::size_t i : shared_[at(group)]) bytes = saturating_sum(bytes, shared_bytes_[i]);
  return bytes;
}

std::int64_t Footprint::added(GroupId group, DeviceId device) const {
  std::int64_t bytes = own_[at(group)];
  for (const std::size_t i : shared_[at(group)]) {
    if (!resident_.contains(key(i, device))) bytes = saturating_sum(bytes, shared_bytes_[i]);
  }
  return bytes;
}

void Footprint::put(GroupId group, DeviceId device) {
  for (const std::size_t i : shared_[at(group)]) resident_.insert(key(i, device));
}

}  // namespace berth
