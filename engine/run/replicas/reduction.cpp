// The ring of a reduction: its order and its time.
#include <algorithm>
#include <limits>
#include <numeric>

#include "berth/replicas.h"
#include "berth/support/index.h"

namespace berth {
namespace {

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
  double transfer_us = 0, sum_us = 0;
  for (std::size_t i = 0; i < k; ++i) {
    const DeviceId src = devices[order[i]], dst = devices[order[(i + 1) % k]];
    transfer_us = std::max(transfer_us, cluster.route(src, dst).transfer_us(chunk));
    const Device& device = cluster.device(dst);
    Work work;
    work.flops = static_cast<double>(chunk) / 4;
    work.bytes = 3.0 * static_cast<double>(chunk);
    work.op_class = OpClass::elementwise;
    if (device.flops > 0 && device.memory_bandwidth > 0) {
      sum_us = std::max(sum_us, roofline_us(work, device) + device.op_overhead_us);
    }
  }
  const auto rounds = static_cast<double>(k - 1);
  return 2 * rounds * transfer_us + rounds * sum_us;
}

}  // namespace berth
