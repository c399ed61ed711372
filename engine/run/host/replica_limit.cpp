#include "host/replica_limit.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "berth/bounds.h"
#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "costs/cost_table.h"
#include "replicas/owners.h"

namespace berth {
namespace {

/// The hosts and the first `count` other devices, with the best of all links between any two.
std::shared_ptr<const Cluster> best_part(const Cluster& cluster, std::size_t count) {
  std::vector<Device> devices;
  const std::vector<DeviceId> all = accelerators(cluster);
  for (DeviceId device = 0; device < cluster.device_count(); ++device) {
    const auto place = std::find(all.begin(), all.end(), device);
    if (static_cast<std::size_t>(place - all.begin()) >= count && place != all.end()) continue;
    devices.push_back(cluster.device(device));
  }
  LinkSpec link;
  link.src = link.dst = "*";
  link.latency_us = std::numeric_limits<double>::infinity();
  link.parallel = true;
  for (DeviceId src = 0; src < cluster.device_count(); ++src) {
    for (DeviceId dst = 0; dst < cluster.device_count(); ++dst) {
      if (src == dst) continue;
      const Route& route = cluster.route(src, dst);
      link.bandwidth_bytes_per_s =
          std::max(link.bandwidth_bytes_per_s, route.bandwidth_bytes_per_s);
      link.latency_us = std::min(link.latency_us, route.latency_us);
    }
  }
  std::vector<LinkSpec> links;
  if (cluster.device_count() > 1) links.push_back(std::move(link));
  return std::make_shared<const Cluster>(cluster.name(), std::move(devices), links);
}

/// The same, but for these ops, which take no time.
std::shared_ptr<const Costs> without(const Costs& costs, const std::vector<bool>& left_out) {
  CostTable table(costs);
  for (std::vector<double>& us : table.us) {
    for (std::size_t op = 0; op < left_out.size(); ++op) {
      if (left_out[op] && us[op] < kCannotRun) us[op] = 0;
    }
  }
  table.workspace_bytes.clear();
  return std::move(table).costs();
}

/// 0 where the model does not come at that size.
double bound_us(ReplicaModels& models, std::int64_t samples,
                const std::shared_ptr<const Cluster>& cluster, const std::vector<bool>& left_out,
                BoundEffort effort, const std::function<bool()>& should_stop) {
  try {
    const SizedModel& model = models.at_size(samples);
    const auto costs = left_out.empty() ? model.costs : without(*model.costs, left_out);
    return lower_bound(Problem(model.graph, cluster, costs), effort, should_stop).us;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return 0;
  }
}

}  // namespace

ReplicaBound limit_of_plans(ReplicaModels& models, ReplicaShares& shares, double plain_us,
                            BoundEffort effort, const std::function<bool()>& should_stop) {
  const auto& cluster = models.cluster();
  ReplicaBound bound =
      bound_replicas(models.training(), models.whole(), models.at_size(models.smaller()),
                     models.smaller(), *cluster, plain_us);
  const double sample_us = bound_us(models, 1, cluster, {}, effort, should_stop);
  if (sample_us > bound.us) bound = {sample_us, "a replica of one sample on all devices"};
  const std::vector<DeviceId> devices = accelerators(*cluster);
  if (!are_of_one_kind(devices, *cluster)) return bound;
  const std::vector<bool> shared =
      can_share_updates(*models.whole().graph) ? shares.behind_reduction() : std::vector<bool>();
  const auto count = static_cast<std::int64_t>(devices.size());
  double least_us = kCannotRun;
  // One size serves some numbers of devices: at least the samples of the fewest, at most the devices of the most.
  for (std::int64_t fewest = 1, most = 1; fewest <= count; fewest = most + 1, most = 2 * most) {
    most = std::min(most, count);
    const std::int64_t samples = (fewest * models.batch() + count - 1) / count;
    const auto part = best_part(*cluster, static_cast<std::size_t>(most));
    least_us = std::min(least_us, bound_us(models, samples, part, shared, effort, should_stop));
    if (least_us <= bound.us) return bound;
  }
  return {least_us, "shares of the batch on as many of the devices"};
}

}  // namespace berth
