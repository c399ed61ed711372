// The bound of all plans.
#include <algorithm>
#include <limits>
#include <set>

#include "berth/replicas.h"
#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth {
namespace {

/// The least that the whole batch takes, for each kind and op, whatever the size of its parts.
std::vector<std::vector<double>> least_costs(const SizedModel& whole, const SizedModel& smaller,
                                             double times, const Cluster& cluster) {
  std::vector<std::vector<double>> us(at(cluster.kind_count()));
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    const double overhead_us = cluster.kind_device(kind).op_overhead_us;
    for (OpId op = 0; op < whole.graph->op_count(); ++op) {
      const auto cost = [&](const SizedModel& model) {
        const double one = model.costs->op_us(op, kind);
        return one > 0 && one < kCannotRun ? one + overhead_us : one;
      };
      us[at(kind)].push_back(std::min(cost(whole), times * cost(smaller)));
    }
  }
  return us;
}

/// Shares of the step's time by device; for each op the least of share times cost may not exceed it.
double spread_us(const std::vector<std::vector<double>>& us, const std::vector<double>& share) {
  double sum = 0;
  for (std::size_t op = 0; op < us.front().size(); ++op) {
    double least = kCannotRun;
    for (std::size_t kind = 0; kind < us.size(); ++kind) {
      if (us[kind][op] < kCannotRun) least = std::min(least, share[kind] * us[kind][op]);
    }
    if (least < kCannotRun) sum += least;
  }
  return sum;
}

/// The least that two replicas take to exchange twice the gradients' bytes, over whatever links there are. Of
/// links on which any number of transfers have the whole bandwidth each, nothing is known: 0.
double exchange_us(std::int64_t gradient_bytes, const Cluster& cluster) {
  if (cluster.has_parallel_routes()) return 0;
  double bandwidth = 0;
  for (DeviceId dst = 0; dst < cluster.device_count(); ++dst) {
    double fastest = 0, all = 0;
    for (DeviceId src = 0; src < cluster.device_count(); ++src) {
      if (src == dst) continue;
      const double one = cluster.route(src, dst).bandwidth_bytes_per_s;
      fastest = std::max(fastest, one);
      all += one;
    }
    bandwidth += cluster.device(dst).engine_per_link ? all : fastest;
  }
  return bandwidth > 0 ? 2.0 * static_cast<double>(gradient_bytes) / bandwidth * 1e6 : 0;
}

}  // namespace

ReplicaBound bound_replicas(const Training& training, const SizedModel& whole,
                            const SizedModel& smaller, std::int64_t smaller_batch,
                            const Cluster& cluster, double plain_us) {
  const double times = static_cast<double>(training.batch) / static_cast<double>(smaller_batch);
  const auto us = least_costs(whole, smaller, times, cluster);
  std::vector<double> count(us.size(), 0), work(us.size(), 0);
  for (DeviceId device = 0; device < cluster.device_count(); ++device) {
    count[at(cluster.kind_of(device))] += 1;
  }
  for (std::size_t kind = 0; kind < us.size(); ++kind) {
    for (const double one : us[kind]) work[kind] += one < kCannotRun ? one : 0;
  }
  // The dual of spreading the work: any shares of devices that add up to 1 give a bound. Those by the
  // speed of a device, and those without the devices of one kind or another.
  ReplicaBound bound;
  const std::size_t subsets = us.size() < 10 ? std::size_t{1} << us.size() : 1;
  for (std::size_t left_out = 0; left_out < subsets; ++left_out) {
    std::vector<double> share(us.size(), 0);
    double sum = 0;
    for (std::size_t kind = 0; kind < us.size(); ++kind) {
      if ((left_out >> kind & 1) == 1 || work[kind] <= 0) continue;
      share[kind] = 1 / work[kind];
      sum += share[kind] * count[kind];
    }
    if (sum <= 0) continue;
    for (double& one : share) one /= sum;
    bound.us = std::max(bound.us, spread_us(us, share));
  }
  bound.basis = "work of the whole batch over all devices";
  const double links_us = exchange_us(training.gradient_bytes, cluster);
  if (const double either_us = std::min(plain_us, links_us); either_us > bound.us) {
    bound.us = either_us;
    bound.basis = plain_us < links_us ? "bound of placing whole ops"
                                      : "bytes of the gradients over all links";
  }
  return bound;
}

}  // namespace berth
