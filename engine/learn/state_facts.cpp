// Facts from which features of states are computed.
#include <algorithm>

#include "berth/sdk/observation.h"
#include "berth/support/index.h"

namespace berth {

GroupFacts::GroupFacts(const Problem& problem) {
  const Groups& groups = problem.groups();
  for (GroupId group = 0; group < groups.count(); ++group) {
    double least = kCannotRun;
    for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
      least = std::min(least, problem.group_cost_us(group, device));
    }
    double bytes = 0;
    for (const OpId op : groups.members(group)) {
      bytes += static_cast<double>(problem.graph().output_bytes(op));
    }
    cost_us.push_back(least);
    output_bytes.push_back(bytes);
    largest_cost_us = std::max(largest_cost_us, least);
    largest_output = std::max(largest_output, bytes);
    largest_parameters =
        std::max(largest_parameters, static_cast<double>(problem.group_param_bytes(group)));
  }
  tail.resize(cost_us.size());
  double longest = 0;
  for (GroupId group = groups.count() - 1; group >= 0; --group) {
    double after = 0;
    for (const Groups::Edge& edge : forward_out_edges(groups, group)) {
      after = std::max(after, tail[at(edge.dst)]);
    }
    tail[at(group)] = cost_us[at(group)] + after;
    longest = std::max(longest, tail[at(group)]);
  }
  for (double& value : tail) value = longest > 0 ? value / longest : 0;
}

DeviceLoads::DeviceLoads(const Problem& problem, const Environment::Episode& episode)
    : us(at(problem.cluster().device_count())), parameter_bytes(us.size()) {
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    const DeviceId device = episode.placement[group];
    const double cost = problem.group_cost_us(group, device);
    total_us += cost;
    if (group == episode.current()) continue;
    us[at(device)] += cost;
    parameter_bytes[at(device)] += static_cast<double>(problem.group_param_bytes(group));
  }
}

PartialSchedule visited_schedule(const Problem& problem, const Environment::Episode& episode) {
  PartialSchedule schedule(problem);
  for (std::size_t i = 0; i < episode.step; ++i) {
    schedule.put(episode.order[i], episode.placement[episode.order[i]]);
  }
  return schedule;
}

}  // namespace berth
