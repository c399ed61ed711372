#include "writers/offloading.h"

#include <utility>
#include <vector>

#include "costs/cost_table.h"

namespace berth::writers {

std::shared_ptr<const Costs> offloaded(const ToolTask& task, DeviceId main) {
  CostTable table(task.costs);
  const KindId kind_of_main = task.cluster.kind_of(main);
  for (KindId kind = 0; kind < task.costs.kind_count(); ++kind) {
    if (!task.cluster.kind_device(kind).host) continue;
    for (DeviceId host = 0; host < task.cluster.device_count(); ++host) {
      if (task.cluster.kind_of(host) != kind) continue;
      const double rate = task.cluster.route(host, main).bandwidth_bytes_per_s;
      for (OpId op = 0; op < task.graph.op_count(); ++op) {
        const double there = task.costs.op_us(op, kind_of_main);
        if (there >= kCannotRun) continue;
        table.cost_us(op, kind) =
            there + static_cast<double>(task.graph.param_bytes(op)) / rate * 1e6;
      }
    }
  }
  return std::move(table).costs();
}

std::shared_ptr<const Cluster> held_by_hosts(const Cluster& cluster, DeviceId main) {
  std::vector<Device> devices;
  std::vector<LinkSpec> links = cluster.links();
  const auto link = [&](DeviceId src, DeviceId dst, const Route* like) {
    constexpr double kNoTime = 1e18;
    LinkSpec spec;
    spec.src = cluster.device(src).name;
    spec.dst = cluster.device(dst).name;
    spec.bandwidth_bytes_per_s = like == nullptr ? kNoTime : like->bandwidth_bytes_per_s;
    spec.latency_us = like == nullptr ? 0 : like->latency_us;
    spec.parallel = like == nullptr || (like->parallel && !like->receiver_us);
    if (like != nullptr) spec.receiver_us = like->receiver_us;
    for (const ChannelId channel : like == nullptr ? std::vector<ChannelId>() : like->channels) {
      spec.shares.push_back(cluster.channel_name(channel));
    }
    links.push_back(std::move(spec));
  };
  for (DeviceId device = 0; device < cluster.device_count(); ++device) {
    devices.push_back(cluster.device(device));
    if (!cluster.device(device).host) continue;
    for (DeviceId other = 0; other < cluster.device_count(); ++other) {
      if (other == device) continue;
      const bool same = other == main || cluster.device(other).host;
      link(device, other, same ? nullptr : &cluster.route(main, other));
      link(other, device, same ? nullptr : &cluster.route(other, main));
    }
  }
  return std::make_shared<const Cluster>(cluster.name(), std::move(devices), links);
}

}  // namespace berth::writers
