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
    const std::vector<std::int32_t> processors =
        map_statically(weighted_graph(problem, devices, target.speeds), target, strategy_,
                       imbalance_, context.seed);
    std::transform(processors.begin(), processors.end(), placement.begin(),
                   [&](std::int32_t processor) { return devices[at(processor)]; });
  }
  return finish(problem, evaluator, std::move(placement), repair_);
}

}  // namespace berth::policies
