#include "host/replica_shares.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "berth/support/index.h"

namespace berth {

bool are_of_one_kind(const std::vector<DeviceId>& devices, const Cluster& cluster) {
  return std::all_of(devices.begin(), devices.end(), [&](DeviceId device) {
    return cluster.kind_of(device) == cluster.kind_of(devices.front());
  });
}

double ReplicaShares::work_us(std::int64_t samples, KindId kind, const std::vector<bool>& marked) {
  const SizedModel& model = models_.at_size(samples);
  const double overhead = cluster_.kind_device(kind).op_overhead_us;
  double us = 0;
  for (OpId op = 0; op < model.graph->op_count(); ++op) {
    if (!marked.empty() && !marked[at(op)]) continue;
    const double one = model.costs->op_us(op, kind);
    if (one > 0 && one < kCannotRun) us += one + overhead;
  }
  return us;
}

const std::vector<bool>& ReplicaShares::behind_reduction() {
  if (behind_.empty()) {
    const Graph& graph = *models_.whole().graph;
    behind_ = models_.training().reads_reduced;
    for (const OpId op : graph.topological_order()) {
      for (const Edge& edge : graph.in_edges(op)) {
        if (edge.tensor != kNoTensor && behind_[at(edge.src)]) behind_[at(op)] = true;
      }
    }
  }
  return behind_;
}

double ReplicaShares::updates_us(std::int64_t samples, KindId kind) {
  return work_us(samples, kind, behind_reduction());
}

std::vector<DeviceId> ReplicaShares::by_speed(std::vector<DeviceId> devices) {
  std::stable_sort(devices.begin(), devices.end(),
                   [&](DeviceId a, DeviceId b) { return line(a).second < line(b).second; });
  return devices;
}

std::pair<double, double> ReplicaShares::line(DeviceId device) {
  const KindId kind = cluster_.kind_of(device);
  const auto known = lines_.find(kind);
  if (known != lines_.end()) return known->second;
  const std::int64_t large = models_.smaller(), small = std::max<std::int64_t>(1, large / 4);
  const double at_large = work_us(large, kind, {});
  const double at_small = work_us(small, kind, {});
  const double slope =
      large > small ? (at_large - at_small) / static_cast<double>(large - small) : at_large;
  return lines_[kind] = {at_large - slope * static_cast<double>(large), slope};
}

std::optional<ReplicaPlan> ReplicaShares::even_ends(const std::vector<DeviceId>& devices) {
  double per_us = 0, constant = 0;
  for (const DeviceId device : devices) {
    const auto [begin, slope] = line(device);
    if (slope <= 0) return even_plan(cluster_, devices.size(), models_.batch());
    per_us += 1 / slope;
    constant += begin / slope;
  }
  const double end_us = (static_cast<double>(models_.batch()) + constant) / per_us;
  ReplicaPlan plan;
  std::vector<std::pair<double, std::size_t>> rests;
  std::int64_t given = 0;
  for (const DeviceId device : devices) {
    const auto [begin, slope] = line(device);
    const double share = (end_us - begin) / slope;
    if (share < 1) return std::nullopt;
    const auto whole = static_cast<std::int64_t>(share);
    rests.emplace_back(share - static_cast<double>(whole), plan.replicas.size());
    plan.replicas.push_back({{device}, whole});
    given += whole;
  }
  std::stable_sort(rests.begin(), rests.end(), std::greater<>());
  for (std::size_t i = 0; given < models_.batch(); ++given, ++i) {
    ++plan.replicas[rests[i % rests.size()].second].share;
  }
  return plan;
}

std::optional<ReplicaPlan> ReplicaShares::shifted(const ReplicaPlan& plan,
                                                  const ReplicaTimes& times) const {
  std::map<KindId, std::pair<double, std::vector<std::size_t>>> kinds;
  for (std::size_t r = 0; r < plan.replicas.size(); ++r) {
    auto& kind = kinds[cluster_.kind_of(plan.replicas[r].devices.front())];
    kind.first = std::max(kind.first, times.computed_us[r]);
    kind.second.push_back(r);
  }
  const auto by_time = [](const auto& a, const auto& b) { return a.second.first < b.second.first; };
  const auto& fast = std::min_element(kinds.begin(), kinds.end(), by_time)->second.second;
  const auto& slow = std::max_element(kinds.begin(), kinds.end(), by_time)->second.second;
  if (&fast == &slow) return std::nullopt;
  // As many from every device of the slow kind, so that a kind keeps few sizes.
  const std::size_t moved = std::lcm(fast.size(), slow.size());
  ReplicaPlan next = plan;
  for (std::size_t i = 0; i < moved; ++i) {
    --next.replicas[slow[i % slow.size()]].share;
    ++next.replicas[fast[i % fast.size()]].share;
  }
  const bool all = std::all_of(next.replicas.begin(), next.replicas.end(),
                               [](const auto& replica) { return replica.share >= 1; });
  return all ? std::optional(next) : std::nullopt;
}

}  // namespace berth
