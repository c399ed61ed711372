// The ring of a reduction: its order and its time; the machine of a folded step.
#include <algorithm>
#include <map>
#include <numeric>

#include "berth/replicas.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "replicas/folded.h"

namespace berth {
namespace {

/// Time in which every device adds a chunk to another.
double sum_us(std::int64_t chunk, const Device& device) {
  Work work;
  work.flops = static_cast<double>(chunk) / 4;
  work.bytes = 3.0 * static_cast<double>(chunk);
  work.op_class = OpClass::elementwise;
  if (device.flops <= 0 || device.memory_bandwidth <= 0) return 0;
  return roofline_us(work, device) + device.op_overhead_us;
}

/// Orders of up to this many devices are all tried.
constexpr std::size_t kMostTried = 8;

/// The slowest link, then the sum of what the links take for a megabyte.
std::pair<double, double> slowness(std::span<const DeviceId> devices,
                                   const std::vector<std::size_t>& order, const Cluster& cluster) {
  constexpr std::int64_t kBytes = 1'000'000;
  std::pair<double, double> slow{0, 0};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const DeviceId src = devices[order[i]], dst = devices[order[(i + 1) % order.size()]];
    if (src == dst) continue;
    const Route& route = cluster.route(src, dst);
    // A channel that several links share carries their transfers one after the other.
    const double us = route.transfer_us(kBytes) * (1 + static_cast<double>(route.channels.size()));
    slow.first = std::max(slow.first, us);
    slow.second += us;
  }
  return slow;
}

}  // namespace

std::vector<std::size_t> ring_order(std::span<const DeviceId> devices, const Cluster& cluster) {
  std::vector<std::size_t> order(devices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (order.size() < 4) return order;
  if (order.size() <= kMostTried) {
    std::vector<std::size_t> best = order;
    auto least = slowness(devices, best, cluster);
    while (std::next_permutation(order.begin() + 1, order.end())) {
      const auto now = slowness(devices, order, cluster);
      if (now < least) {
        least = now;
        best = order;
      }
    }
    return best;
  }
  // The nearest next.
  for (std::size_t i = 1; i + 1 < order.size(); ++i) {
    const auto nearer = [&](std::size_t a, std::size_t b) {
      const DeviceId from = devices[order[i - 1]];
      return cluster.route(from, devices[a]).transfer_us(1'000'000) <
             cluster.route(from, devices[b]).transfer_us(1'000'000);
    };
    std::iter_swap(
        order.begin() + static_cast<std::ptrdiff_t>(i),
        std::min_element(order.begin() + static_cast<std::ptrdiff_t>(i), order.end(), nearer));
  }
  return order;
}

double ring_us(std::int64_t bytes, std::span<const DeviceId> devices, const Cluster& cluster) {
  const std::size_t k = devices.size();
  if (k < 2) return 0;
  const auto order = ring_order(devices, cluster);
  const std::int64_t chunk = bytes / static_cast<std::int64_t>(k);
  double transfer_us = 0, adds_us = 0;
  for (std::size_t i = 0; i < k; ++i) {
    const DeviceId src = devices[order[i]], dst = devices[order[(i + 1) % k]];
    transfer_us = std::max(transfer_us, cluster.route(src, dst).transfer_us(chunk));
    adds_us = std::max(adds_us, sum_us(chunk, cluster.device(dst)));
  }
  const auto rounds = static_cast<double>(k - 1);
  return 2 * rounds * transfer_us + rounds * adds_us;
}

namespace {

/// Transfers of all replicas at once where the first has one from `src` to `dst`, hosts being everybody's: the most of
/// which a channel or an engine of a host carries.
int at_once(const ReplicaPlan& plan, DeviceId src, DeviceId dst, const Cluster& cluster) {
  const auto& own = plan.replicas.front().devices;
  const auto in = [&](const ReplicaPlan::Replica& replica, DeviceId device) {
    const auto place = std::find(own.begin(), own.end(), device);
    return place == own.end() ? device : replica.devices[at(place - own.begin())];
  };
  const auto one_engine_for_all = [&](DeviceId end) {
    return std::find(own.begin(), own.end(), end) == own.end() &&
           !cluster.device(end).engine_per_link;
  };
  const bool in_turn = one_engine_for_all(src) || one_engine_for_all(dst);
  int most = in_turn ? static_cast<int>(plan.replicas.size()) : 1;
  std::map<ChannelId, int> uses;
  for (const auto& replica : plan.replicas) {
    for (const ChannelId channel : cluster.route(in(replica, src), in(replica, dst)).channels) {
      most = std::max(most, ++uses[channel]);
    }
  }
  return most;
}

}  // namespace

std::size_t reducer_count(const ReplicaPlan& plan) {
  if (plan.replicas.size() < 2) return 0;
  const std::size_t devices = plan.replicas.front().devices.size();
  return devices == 1 ? 1 : 2 * devices;
}

std::shared_ptr<const Cluster> with_reducers(const ReplicaPlan& plan, const Cluster& cluster) {
  constexpr double kAtOnce = 1e30;  // bytes per second
  std::vector<Device> devices;
  for (DeviceId device = 0; device < cluster.device_count(); ++device) {
    devices.push_back(cluster.device(device));
  }
  std::string name = "reducer";
  const auto is_taken = [&](const Device& each) {
    return each.name.starts_with(name) || each.kind == name;
  };
  while (std::any_of(devices.begin(), devices.end(), is_taken)) name += "'";
  std::vector<LinkSpec> links = cluster.links();
  const auto add_link = [&](const std::string& src, const std::string& dst, RingLink link) {
    links.push_back({src, dst, link.bandwidth_bytes_per_s, link.latency_us,
                     std::move(link.channels), /*parallel=*/false});
  };
  const auto& own = plan.replicas.front().devices;
  std::vector<DeviceId> used = own;
  for (DeviceId device = 0; device < cluster.device_count(); ++device) {
    if (cluster.device(device).host) used.push_back(device);
  }
  for (const DeviceId src : used) {
    for (const DeviceId dst : used) {
      if (src == dst) continue;
      const Route& route = cluster.route(src, dst);
      const int times = at_once(plan, src, dst, cluster);
      if (times == 1 || route.parallel) continue;
      RingLink link{route.bandwidth_bytes_per_s / times, route.latency_us * times, {}};
      for (const ChannelId channel : route.channels) {
        link.channels.push_back(cluster.channel_name(channel));
      }
      add_link(cluster.device(src).name, cluster.device(dst).name, std::move(link));
    }
  }
  for (std::size_t i = 0; i < reducer_count(plan); ++i) {
    Device device;
    device.name = cat(name, ":", i);
    device.kind = name;
    add_link("*", device.name, {kAtOnce, 0, {}});
    add_link(device.name, "*", {kAtOnce, 0, {}});
    for (std::size_t position = 0; position < own.size(); ++position) {
      add_link(cluster.device(own[position]).name, device.name, ring_link(plan, position, cluster));
    }
    devices.push_back(std::move(device));
  }
  return std::make_shared<const Cluster>(cluster.name(), std::move(devices), links);
}

}  // namespace berth
