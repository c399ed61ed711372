#include "replicas/levels.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "berth/support/index.h"

namespace berth {
namespace {

constexpr std::int64_t kSomeBytes = 1'000'000;

/// One transfer over each of some links, all at once.
struct Round {
  double bandwidth_bytes_per_s = std::numeric_limits<double>::infinity();
  double latency_us = 0;
  std::map<ChannelId, int> uses;
};

/// Links of a ring of replicas, at one position of each.
void add_ring(std::vector<std::pair<DeviceId, DeviceId>>& links, const ReplicaPlan& plan,
              std::size_t position, const std::vector<std::size_t>& ring) {
  for (std::size_t i = 0; i < ring.size(); ++i) {
    links.emplace_back(plan.replicas[ring[i]].devices[position],
                       plan.replicas[ring[(i + 1) % ring.size()]].devices[position]);
  }
}

Round round_over(const std::vector<std::pair<DeviceId, DeviceId>>& links, const Cluster& cluster) {
  Round round;
  int at_once = 1;
  for (const auto& [src, dst] : links) {
    if (src == dst) continue;
    const Route& route = cluster.route(src, dst);
    round.bandwidth_bytes_per_s =
        std::min(round.bandwidth_bytes_per_s, route.bandwidth_bytes_per_s);
    round.latency_us = std::max(round.latency_us, route.transfer_us(0));
    // A channel carries one transfer at a time.
    for (const ChannelId channel : route.channels) {
      at_once = std::max(at_once, ++round.uses[channel]);
    }
  }
  round.bandwidth_bytes_per_s /= at_once;
  round.latency_us *= at_once;
  return round;
}

std::vector<std::string> names(const std::map<ChannelId, int>& uses, const Cluster& cluster) {
  std::vector<std::string> all;
  for (const auto& [channel, links] : uses) all.push_back(cluster.channel_name(channel));
  return all;
}

RingLink two_level_link(const ReplicaPlan& plan, const ReplicaNodes& nodes, std::size_t position,
                        const Cluster& cluster) {
  std::vector<std::pair<DeviceId, DeviceId>> within, across;
  for (const auto& node : nodes) add_ring(within, plan, position, node);
  for (std::size_t part = 0; part < nodes.front().size(); ++part) {
    std::vector<std::size_t> column;
    for (const auto& node : nodes) column.push_back(node[part]);
    add_ring(across, plan, position, column);
  }
  const Round inside = round_over(within, cluster), between = round_over(across, cluster);
  const auto n = static_cast<double>(nodes.size());
  const auto m = static_cast<double>(nodes.front().size());
  RingLink link;
  link.latency_us = 2 * (m - 1) * inside.latency_us + 2 * (n - 1) * between.latency_us;
  link.bandwidth_bytes_per_s = 1 / (2 * (m - 1) / m / inside.bandwidth_bytes_per_s +
                                    2 * (n - 1) / (n * m) / between.bandwidth_bytes_per_s);
  std::map<ChannelId, int> uses = inside.uses;
  uses.insert(between.uses.begin(), between.uses.end());
  link.channels = names(uses, cluster);
  return link;
}

double us_of(const RingLink& link, std::int64_t bytes) {
  return link.latency_us + static_cast<double>(bytes) / link.bandwidth_bytes_per_s * 1e6;
}

std::vector<DeviceId> first_devices(const ReplicaPlan& plan) {
  std::vector<DeviceId> devices;
  for (const auto& replica : plan.replicas) devices.push_back(replica.devices.front());
  return devices;
}

/// The host that is nearest.
DeviceId node_of(DeviceId device, const Cluster& cluster) {
  DeviceId nearest = kNoDevice;
  double least_us = std::numeric_limits<double>::infinity();
  for (DeviceId host = 0; host < cluster.device_count(); ++host) {
    if (!cluster.device(host).host) continue;
    const double us = host == device ? 0 : cluster.route(device, host).transfer_us(kSomeBytes);
    if (us >= least_us) continue;
    least_us = us;
    nearest = host;
  }
  return nearest;
}

bool is_faster_inside(const std::vector<DeviceId>& devices, const std::vector<DeviceId>& node,
                      const Cluster& cluster) {
  double inside_us = 0, between_us = std::numeric_limits<double>::infinity();
  for (std::size_t a = 0; a < devices.size(); ++a) {
    for (std::size_t b = 0; b < devices.size(); ++b) {
      if (a == b) continue;
      const double us = cluster.route(devices[a], devices[b]).transfer_us(kSomeBytes);
      if (node[a] == node[b]) {
        inside_us = std::max(inside_us, us);
      } else {
        between_us = std::min(between_us, us);
      }
    }
  }
  return inside_us < between_us;
}

/// `some` in the order of a ring.
std::vector<std::size_t> in_ring(const std::vector<std::size_t>& some,
                                 const std::vector<DeviceId>& devices, const Cluster& cluster) {
  std::vector<DeviceId> chosen;
  for (const std::size_t i : some) chosen.push_back(devices[i]);
  std::vector<std::size_t> order = ring_order(chosen, cluster);
  for (std::size_t& i : order) i = some[i];
  return order;
}

}  // namespace

ReplicaNodes reduction_nodes(const ReplicaPlan& plan, const Cluster& cluster) {
  const std::vector<DeviceId> devices = first_devices(plan);
  std::vector<DeviceId> node;
  std::map<DeviceId, std::vector<std::size_t>> by_node;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    node.push_back(node_of(devices[i], cluster));
    by_node[node.back()].push_back(i);
  }
  if (by_node.size() < 2) return {};
  const std::size_t each = by_node.begin()->second.size();
  const bool even = std::all_of(by_node.begin(), by_node.end(),
                                [&](const auto& entry) { return entry.second.size() == each; });
  if (each < 2 || !even || !is_faster_inside(devices, node, cluster)) return {};
  std::vector<std::size_t> firsts;
  for (const auto& [host, replicas] : by_node) firsts.push_back(replicas.front());
  ReplicaNodes nodes;
  for (const std::size_t first : in_ring(firsts, devices, cluster)) {
    nodes.push_back(in_ring(by_node.at(node[first]), devices, cluster));
  }
  const double flat_us = us_of(flat_ring_link(plan, 0, cluster), plan.bucket_bytes);
  const double levels_us = us_of(two_level_link(plan, nodes, 0, cluster), plan.bucket_bytes);
  return levels_us < flat_us ? nodes : ReplicaNodes{};
}

RingLink flat_ring_link(const ReplicaPlan& plan, std::size_t position, const Cluster& cluster) {
  const std::vector<std::size_t> order = ring_order(first_devices(plan), cluster);
  std::vector<std::pair<DeviceId, DeviceId>> links;
  add_ring(links, plan, position, order);
  const Round round = round_over(links, cluster);
  const auto k = static_cast<double>(order.size());
  const double rounds = 2 * (k - 1);
  return {round.bandwidth_bytes_per_s * k / rounds, round.latency_us * rounds,
          names(round.uses, cluster)};
}

RingLink ring_link(const ReplicaPlan& plan, std::size_t position, const Cluster& cluster) {
  const ReplicaNodes nodes = reduction_nodes(plan, cluster);
  return nodes.empty() ? flat_ring_link(plan, position, cluster)
                       : two_level_link(plan, nodes, position, cluster);
}

}  // namespace berth
