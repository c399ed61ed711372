#include "common/weighted_graph.h"

#include <algorithm>
#include <utility>

#include "berth/support/index.h"

namespace berth::policies {
std::vector<double> relative_speeds(const Problem& problem, const std::vector<DeviceId>& devices) {
  std::vector<double> total_us(devices.size(), 0);
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    const bool common = std::all_of(devices.begin(), devices.end(), [&](DeviceId device) {
      return problem.can_run(group, device);
    });
    for (std::size_t d = 0; common && d < devices.size(); ++d) {
      total_us[d] += problem.group_cost_us(group, devices[d]);
    }
  }
  const double fastest = *std::min_element(total_us.begin(), total_us.end());
  constexpr double kSlowest = 1e-12;  // partitioners divide by it
  std::vector<double> result;
  for (const double us : total_us) {
    result.push_back(fastest > 0 ? std::max(fastest / us, kSlowest) : 1);
  }
  return result;
}

WeightedGraph weighted_graph(const Problem& problem, const std::vector<DeviceId>& devices,
                             const std::vector<double>& speed) {
  const Groups& groups = problem.groups();
  WeightedGraph source;
  source.fixed.assign(at(groups.count()), -1);
  for (GroupId group = 0; group < groups.count(); ++group) {
    double us = 0;
    double able = 0;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      if (!problem.can_run(group, devices[d])) continue;
      us += problem.group_cost_us(group, devices[d]) * speed[d];
      able += 1;
      source.fixed[at(group)] = static_cast<std::int32_t>(d);
    }
    if (able != 1 || devices.size() == 1) source.fixed[at(group)] = -1;
    source.vertex_weights.push_back(able > 0 ? us / able : 0);

    for (const Groups::Edge& edge : groups.out_edges(group)) {
      source.edges.push_back({std::min(edge.src, edge.dst), std::max(edge.src, edge.dst),
                              static_cast<double>(edge.bytes)});
    }
  }
  // Groups on a cycle have an edge in each direction: one undirected edge carries both.
  std::sort(source.edges.begin(), source.edges.end(),
            [](const WeightedGraph::Edge& a, const WeightedGraph::Edge& b) {
              return std::pair(a.a, a.b) < std::pair(b.a, b.b);
            });
  std::vector<WeightedGraph::Edge> merged;
  for (const WeightedGraph::Edge& edge : source.edges) {
    if (!merged.empty() && merged.back().a == edge.a && merged.back().b == edge.b) {
      merged.back().weight += edge.weight;
    } else {
      merged.push_back(edge);
    }
  }
  source.edges = std::move(merged);
  return source;
}

}  // namespace berth::policies
