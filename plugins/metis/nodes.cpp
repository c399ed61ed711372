#include "metis/nodes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace berth::policies::metis {
namespace {

/// A tensor of a usual size.
constexpr std::int64_t kBytes = 1 << 20;
constexpr double kSlower = 2;

double there_and_back_us(const Cluster& cluster, DeviceId a, DeviceId b) {
  return cluster.route(a, b).transfer_us(kBytes) + cluster.route(b, a).transfer_us(kBytes);
}

}  // namespace

std::vector<int> sort_by_nodes(const Cluster& cluster, std::vector<DeviceId>& devices,
                               std::vector<double>& speeds) {
  double least_us = std::numeric_limits<double>::infinity(), most_us = 0;
  for (const DeviceId a : devices) {
    for (const DeviceId b : devices) {
      if (a >= b) continue;
      least_us = std::min(least_us, there_and_back_us(cluster, a, b));
      most_us = std::max(most_us, there_and_back_us(cluster, a, b));
    }
  }
  std::vector<int> node_of(devices.size(), 0);
  if (!(most_us >= kSlower * least_us)) return node_of;
  // Between what is fast and what is slow, on a scale of ratios.
  const double near_us = std::sqrt(least_us) * std::sqrt(most_us);
  std::fill(node_of.begin(), node_of.end(), -1);
  int nodes = 0;
  std::vector<std::size_t> reached;
  for (std::size_t first = 0; first < devices.size(); ++first) {
    if (node_of[first] >= 0) continue;
    node_of[first] = nodes;
    reached.assign(1, first);
    while (!reached.empty()) {
      const std::size_t a = reached.back();
      reached.pop_back();
      for (std::size_t b = 0; b < devices.size(); ++b) {
        if (node_of[b] >= 0 || there_and_back_us(cluster, devices[a], devices[b]) > near_us)
          continue;
        node_of[b] = nodes;
        reached.push_back(b);
      }
    }
    ++nodes;
  }
  std::vector<std::size_t> order(devices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return node_of[a] < node_of[b]; });
  const auto devices_before = devices;
  const auto speeds_before = speeds;
  const auto node_before = node_of;
  for (std::size_t i = 0; i < order.size(); ++i) {
    devices[i] = devices_before[order[i]];
    speeds[i] = speeds_before[order[i]];
    node_of[i] = node_before[order[i]];
  }
  return node_of;
}

}  // namespace berth::policies::metis
