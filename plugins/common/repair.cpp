#include "common/repair.h"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>

#include "berth/error.h"

namespace berth::policies {
namespace {

constexpr int kMemoryRounds = 8;

std::size_t at(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

/// Saturating: what matters is only that it is more than any device has.
std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kNoLimit : sum;
}

/// Bytes each group needs on its device: parameters, where the problem counts them, and its
/// outputs, where asked for. A parameter shared by several groups counts once per device.
class Footprint {
 public:
  Footprint(const Problem& problem, bool outputs)
      : devices_(at(problem.cluster().device_count())),
        own_(at(problem.groups().count()), 0),
        shared_(own_.size()) {
    const Graph& graph = problem.graph();
    const Groups& groups = problem.groups();
    // The published simulator of `placeto` knows no parameters.
    const bool parameters = problem.options().objective == Objective::throughput ||
                            problem.options().semantics == Semantics::dataflow;
    for (OpId op = 0; op < graph.op_count(); ++op) {
      std::int64_t& own = own_[at(groups.of(op))];
      if (parameters) own = plus(own, graph.own_param_bytes(op));
      if (outputs) own = plus(own, graph.output_bytes(op));
    }
    if (!parameters) return;
    const auto& shared = graph.shared_parameters();
    for (std::size_t i = 0; i < shared.size(); ++i) {
      shared_bytes_.push_back(shared[i].bytes);
      for (const OpId op : shared[i].consumers) {
        std::vector<std::size_t>& list = shared_[at(groups.of(op))];
        if (list.empty() || list.back() != i) list.push_back(i);
      }
    }
  }

  /// All of the group's bytes, as if it were alone on a device.
  [[nodiscard]] std::int64_t alone(GroupId group) const {
    std::int64_t bytes = own_[at(group)];
    for (const std::size_t i : shared_[at(group)]) bytes = plus(bytes, shared_bytes_[i]);
    return bytes;
  }

  /// What the group would add to a device that holds what was put there so far.
  [[nodiscard]] std::int64_t added(GroupId group, DeviceId device) const {
    std::int64_t bytes = own_[at(group)];
    for (const std::size_t i : shared_[at(group)]) {
      if (!resident_.contains(key(i, device))) bytes = plus(bytes, shared_bytes_[i]);
    }
    return bytes;
  }

  void put(GroupId group, DeviceId device) {
    for (const std::size_t i : shared_[at(group)]) resident_.emplace(key(i, device), true);
  }

 private:
  [[nodiscard]] std::size_t key(std::size_t shared, DeviceId device) const {
    return shared * devices_ + at(device);
  }

  std::size_t devices_;
  std::vector<std::int64_t> own_;
  std::vector<std::vector<std::size_t>> shared_;  // per group, ascending, distinct
  std::vector<std::int64_t> shared_bytes_;
  std::unordered_map<std::size_t, bool> resident_;
};

/// Compute time of `group` on `device` plus its transfers from and to neighbours elsewhere.
double added_us(const Problem& problem, const GroupPlacement& placement, GroupId group,
                DeviceId device) {
  const Cluster& cluster = problem.cluster();
  double us = problem.group_cost_us(group, device);
  for (const Groups::Edge& edge : problem.groups().in_edges(group)) {
    const DeviceId other = placement[at(edge.src)];
    if (other != device) us += cluster.route(other, device).transfer_us(edge.bytes);
  }
  for (const Groups::Edge& edge : problem.groups().out_edges(group)) {
    const DeviceId other = placement[at(edge.dst)];
    if (other != device) us += cluster.route(device, other).transfer_us(edge.bytes);
  }
  return us;
}

/// The groups from the most restricted and the largest on.
std::vector<GroupId> packing_order(const Problem& problem, const Footprint& footprint) {
  const GroupId count = problem.groups().count();
  std::vector<std::tuple<DeviceId, std::int64_t, GroupId>> keys;
  keys.reserve(at(count));
  for (GroupId group = 0; group < count; ++group) {
    DeviceId able = 0;
    for (DeviceId d = 0; d < problem.cluster().device_count(); ++d) {
      able += problem.can_run(group, d) ? 1 : 0;
    }
    keys.emplace_back(able, -footprint.alone(group), group);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<GroupId> order;
  order.reserve(keys.size());
  for (const auto& key : keys) order.push_back(std::get<2>(key));
  return order;
}

/// Keeps every group where it is if its device can run it and has room below `capacity`, else
/// moves it to where it adds least. Returns the first group that finds no room; kNoGroup = all do.
GroupId pack(const Problem& problem, Footprint footprint, const std::vector<std::int64_t>& capacity,
             GroupPlacement& placement) {
  std::vector<std::int64_t> used(capacity.size(), 0);
  const auto fits = [&](GroupId group, DeviceId device) {
    return problem.can_run(group, device) &&
           plus(used[at(device)], footprint.added(group, device)) <= capacity[at(device)];
  };
  for (const GroupId group : packing_order(problem, footprint)) {
    DeviceId best = placement[at(group)];
    if (!fits(group, best)) {
      best = kNoDevice;
      double best_us = kCannotRun;
      for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
        if (!fits(group, device)) continue;
        const double us = added_us(problem, placement, group, device);
        if (best == kNoDevice || us < best_us) {
          best = device;
          best_us = us;
        }
      }
      if (best == kNoDevice) return group;
    }
    placement[at(group)] = best;
    used[at(best)] = plus(used[at(best)], footprint.added(group, best));
    footprint.put(group, best);
  }
  return kNoGroup;
}

std::vector<std::int64_t> memories(const Problem& problem) {
  std::vector<std::int64_t> bytes;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    bytes.push_back(problem.cluster().device(device).memory_bytes);
  }
  return bytes;
}

/// Capacities in the footprint's bytes that make each overflowing device shed its excess and let
/// the others take what they have free, judged by the peaks of an evaluation.
std::vector<std::int64_t> capacities(const Problem& problem, Footprint footprint,
                                     const GroupPlacement& placement,
                                     const Evaluation& evaluation) {
  std::vector<std::int64_t> capacity(at(problem.cluster().device_count()), 0);
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    const DeviceId device = placement[at(group)];
    capacity[at(device)] = plus(capacity[at(device)], footprint.added(group, device));
    footprint.put(group, device);
  }
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    const std::int64_t memory = problem.cluster().device(device).memory_bytes;
    const std::int64_t free =
        memory == kNoLimit ? kNoLimit : memory - evaluation.peak_bytes[at(device)];
    capacity[at(device)] = plus(capacity[at(device)], free);
  }
  return capacity;
}

}  // namespace

std::vector<DeviceId> spread_devices(const Problem& problem, bool hosts) {
  std::vector<DeviceId> devices;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    if (hosts || !problem.cluster().device(device).host) devices.push_back(device);
  }
  return devices.empty() ? spread_devices(problem, /*hosts=*/true) : devices;
}

void keep_to_kinds(const Problem& problem, GroupPlacement& placement) {
  const std::vector<std::int64_t> unlimited(at(problem.cluster().device_count()), kNoLimit);
  pack(problem, Footprint(problem, /*outputs=*/false), unlimited, placement);
}

void keep_to_parameters(const Problem& problem, GroupPlacement& placement) {
  const Footprint footprint(problem, /*outputs=*/false);
  const GroupId homeless = pack(problem, footprint, memories(problem), placement);
  if (homeless == kNoGroup) return;
  std::ostringstream message;
  message << "the parameters do not fit: the group of op '"
          << problem.graph().op_name(problem.groups().members(homeless).front()) << "' needs "
          << footprint.alone(homeless) << " bytes and no device of cluster '"
          << problem.cluster().name() << "' that can run it has them left ("
          << problem.graph().total_param_bytes()
          << " bytes in all); use finer groups, more devices or larger ones";
  throw Error(ErrorCode::infeasible, message.str());
}

Placement finish(const Problem& problem, Evaluator& evaluator, GroupPlacement placement,
                 bool fit_memory) {
  if (!fit_memory) {
    keep_to_kinds(problem, placement);
    return problem.groups().expand(placement);
  }
  keep_to_parameters(problem, placement);
  const Footprint footprint(problem, /*outputs=*/true);
  Evaluation evaluation;
  for (int round = 0; round < kMemoryRounds; ++round) {
    const Placement per_op = problem.groups().expand(placement);
    evaluation = evaluator.evaluate(per_op);
    if (evaluation.feasible) return per_op;
    GroupPlacement moved = placement;
    const std::vector<std::int64_t> capacity =
        capacities(problem, footprint, placement, evaluation);
    if (pack(problem, footprint, capacity, moved) != kNoGroup || moved == placement) break;
    placement = std::move(moved);
  }
  std::ostringstream message;
  message << "memory is short: device '" << problem.cluster().device(evaluation.worst_device).name
          << "' exceeds its memory by " << evaluation.excess_bytes
          << " bytes and moving groups elsewhere does not help; use finer groups, more devices or "
             "larger ones, or set repair=false to get the placement all the same";
  throw Error(ErrorCode::infeasible, message.str());
}

}  // namespace berth::policies
