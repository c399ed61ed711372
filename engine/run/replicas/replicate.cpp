// The graph of k replicas, or of one that stands for all, and where its ops are.
#include <algorithm>
#include <map>
#include <string_view>

#include "berth/replicas.h"
#include "berth/support/index.h"
#include "replicas/emitter.h"
#include "replicas/folded.h"

namespace berth {

Replicated replicate(const Training& training, const SizedModel& whole,
                     std::span<const SizedModel> models, const Cluster& cluster,
                     const ReplicaPlan& plan) {
  return ReplicaEmitter(training, whole, models, cluster, plan).run();
}

Folded fold(const Training& training, const SizedModel& whole, const SizedModel& one,
            const Cluster& cluster, const ReplicaPlan& plan) {
  ReplicaPlan each = plan;
  each.share_updates = false;
  ReplicaEmitter emitter(training, whole, std::span(&one, 1), cluster, each);
  Replicated step = emitter.run();
  Folded folded;
  folded.model = std::move(step.model);
  folded.ops_each = step.ops_each;
  folded.cluster = with_reducers(plan, cluster);
  for (const OpId op : emitter.reductions()) {
    const auto reducer = folded.reductions.size() % reducer_count(plan);
    folded.reductions.emplace_back(op, cluster.device_count() + static_cast<DeviceId>(reducer));
  }
  return folded;
}

Placement mirrored(const Replicated& step, const ReplicaPlan& plan, const Placement& first) {
  Placement placement;
  placement.reserve(at(step.model.graph->op_count()));
  const auto& own = plan.replicas.front().devices;
  const auto device_in = [&](std::size_t r, DeviceId device) {
    const auto place = std::find(own.begin(), own.end(), device);
    if (place == own.end()) return device;
    return plan.replicas[r].devices[static_cast<std::size_t>(place - own.begin())];
  };
  for (std::size_t r = 0; r < plan.replicas.size(); ++r) {
    for (const DeviceId device : first) placement.push_back(device_in(r, device));
  }
  for (const std::int32_t r : step.reduction_replica) {
    placement.push_back(plan.replicas[static_cast<std::size_t>(r)].devices.front());
  }
  // In a class, the reduction is where the class is.
  std::map<std::string_view, DeviceId> classes;
  const Graph& graph = *step.model.graph;
  const OpId ops = step.ops_each * static_cast<OpId>(plan.replicas.size());
  for (OpId op = 0; op < ops; ++op) {
    if (!graph.colocation(op).empty()) classes.emplace(graph.colocation(op), placement[at(op)]);
  }
  for (OpId op = ops; op < graph.op_count(); ++op) {
    const auto of_class = classes.find(graph.colocation(op));
    if (of_class != classes.end()) placement[at(op)] = of_class->second;
  }
  return placement;
}

}  // namespace berth
