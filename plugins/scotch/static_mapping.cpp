#include "scotch/static_mapping.h"

#include <algorithm>

#include "berth/sdk/repair.h"
#include "berth/support/index.h"
#include "common/spread.h"

namespace berth::policies::scotch {
namespace {

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
  MappingTarget target{relative_speeds(problem, devices), {}};
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

}  // namespace

ScotchPolicy::ScotchPolicy(const Options& options, bool hosts)
    : strategy_(options.text("strategy")),
      imbalance_(options.real("imbalance")),
      repair_(options.boolean("repair")),
      hosts_(hosts) {}

PolicyAnswer ScotchPolicy::place(Evaluator& evaluator, const PlaceContext& context) {
  const Problem& problem = evaluator.problem();
  const std::vector<DeviceId> devices = spread_devices(problem, hosts_);
  GroupPlacement placement(at(problem.groups().count()), devices.front());
  if (devices.size() > 1) {
    const MappingTarget target = target_of(problem, devices);
    const std::vector<std::int32_t> processors =
        map_statically(weighted_graph(problem, devices, target.speeds), target, strategy_,
                       imbalance_, context.seed);
    placement = {};
    for (const std::int32_t processor : processors) placement.push_back(devices[at(processor)]);
  }
  return repair_placement(problem, evaluator, std::move(placement), repair_, context);
}

}  // namespace berth::policies::scotch
