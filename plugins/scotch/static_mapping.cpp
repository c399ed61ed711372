#include "scotch/static_mapping.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "berth/error.h"

namespace berth::policies {
namespace {

std::size_t at(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

MappingStrategy strategy_from_name(const std::string& name) {
  static const std::map<std::string, MappingStrategy> kKnown = {
      {"default", MappingStrategy::standard},
      {"quality", MappingStrategy::quality},
      {"speed", MappingStrategy::speed},
      {"balance", MappingStrategy::balance}};
  const auto found = kKnown.find(name);
  if (found == kKnown.end()) {
    throw Error(ErrorCode::invalid_argument,
                "no Scotch strategy '" + name + "'. Known: default, quality, speed, balance");
  }
  return found->second;
}

/// Speed of each device relative to the fastest, over the groups that all of them can run: Scotch
/// knows one load per vertex and one speed per processor.
std::vector<double> speeds(const Problem& problem, const std::vector<DeviceId>& devices) {
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
  std::vector<double> result;
  for (const double us : total_us) result.push_back(fastest > 0 ? fastest / us : 1);
  return result;
}

MappingTarget target_of(const Problem& problem, const std::vector<DeviceId>& devices) {
  double bytes = 0;
  double tensors = 0;
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    for (const Groups::Edge& edge : problem.groups().out_edges(group)) {
      bytes += static_cast<double>(edge.bytes);
      tensors += edge.tensors;
    }
  }
  const auto mean_bytes = static_cast<std::int64_t>(tensors > 0 ? bytes / tensors : 0);
  MappingTarget target{speeds(problem, devices), {}};
  for (const DeviceId a : devices) {
    for (const DeviceId b : devices) {
      if (a == b) {
        target.distances.push_back(0);
        continue;
      }
      const double us = problem.cluster().route(a, b).transfer_us(mean_bytes) +
                        problem.cluster().route(b, a).transfer_us(mean_bytes);
      // Links without latency and tensors without bytes: all equally near.
      target.distances.push_back(std::max(us, 1e-9));
    }
  }
  return target;
}

MappingGraph source_of(const Problem& problem, const std::vector<DeviceId>& devices,
                       const std::vector<double>& speed) {
  const Groups& groups = problem.groups();
  MappingGraph source;
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
            [](const MappingGraph::Edge& a, const MappingGraph::Edge& b) {
              return std::pair(a.a, a.b) < std::pair(b.a, b.b);
            });
  std::vector<MappingGraph::Edge> merged;
  for (const MappingGraph::Edge& edge : source.edges) {
    if (!merged.empty() && merged.back().a == edge.a && merged.back().b == edge.b) {
      merged.back().weight += edge.weight;
    } else {
      merged.push_back(edge);
    }
  }
  source.edges = std::move(merged);
  return source;
}

}  // namespace

ScotchPolicy::ScotchPolicy(const Options& options, bool hosts)
    : strategy_(strategy_from_name(options.text("strategy"))),
      imbalance_(options.real("imbalance")),
      repair_(options.boolean("repair")),
      hosts_(hosts) {
  if (!(imbalance_ > 0 && imbalance_ <= 10)) {
    std::ostringstream message;
    message << "imbalance is " << imbalance_ << "; give a value in (0, 10], such as 0.01";
    throw Error(ErrorCode::invalid_argument, message.str());
  }
}

Placement ScotchPolicy::place(const Problem& problem, Evaluator& evaluator, PlaceContext& context) {
  const std::vector<DeviceId> devices = spread_devices(problem, hosts_);
  GroupPlacement placement(at(problem.groups().count()), devices.front());
  if (devices.size() > 1) {
    const MappingTarget target = target_of(problem, devices);
    const std::vector<std::int32_t> processors = map_statically(
        source_of(problem, devices, target.speeds), target, strategy_, imbalance_, context.seed);
    std::transform(processors.begin(), processors.end(), placement.begin(),
                   [&](std::int32_t processor) { return devices[at(processor)]; });
  }
  return finish(problem, evaluator, std::move(placement), repair_);
}

}  // namespace berth::policies
