#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "berth/error.h"
#include "berth/evaluator.h"
#include "berth/sdk/separation.h"
#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth {
namespace {

/// The time that `ops` compute on the device; kCannotRun where one of them may not be there.
double compute_us(const Problem& problem, std::span<const OpId> ops, DeviceId device) {
  double us = 0;
  for (const OpId op : ops) us += problem.cost_us(op, device);
  return us;
}

/// The device for ops that may not be on `device`: hosts before others, then the fastest.
DeviceId elsewhere(const Problem& problem, std::span<const OpId> ops, DeviceId device) {
  DeviceId best = kNoDevice;
  double best_us = kCannotRun;
  for (DeviceId other = 0; other < problem.cluster().device_count(); ++other) {
    if (other == device) continue;
    const double us = compute_us(problem, ops, other);
    if (!(us < kCannotRun)) continue;
    const bool host = problem.cluster().device(other).host;
    const bool best_is_host = best != kNoDevice && problem.cluster().device(best).host;
    if (best != kNoDevice && (host != best_is_host ? best_is_host : us >= best_us)) continue;
    best = other;
    best_us = us;
  }
  return best;
}

/// Moves what constraints keep apart, op by op: groups of a coarser grain need not stay together.
void keep_apart(const Problem& problem, const std::shared_ptr<const Groups>& classes,
                Placement& placement) {
  const Problem finest(problem.shared_graph(), problem.shared_cluster(), problem.shared_costs(),
                       classes, problem.options(), problem.constraints());
  const Groups& groups = finest.groups();  // the same classes, in an order of their own
  GroupPlacement device_of_group(at(groups.count()));
  for (GroupId group = 0; group < groups.count(); ++group) {
    device_of_group[group] = placement[at(groups.members(group).front())];
  }
  for (const auto& [group, device] : separated_devices(finest, device_of_group)) {
    for (const OpId op : groups.members(group)) placement[at(op)] = device;
  }
}

/// The ops that a placement has on each device but `device`.
std::map<DeviceId, std::int64_t> ops_elsewhere(const Placement& placement, DeviceId device) {
  std::map<DeviceId, std::int64_t> ops;
  for (const DeviceId other : placement) {
    if (other != device) ++ops[other];
  }
  return ops;
}

/// Whether a step with all that it can run on `a` lasts as long as one with `b` in its place.
bool alike(const Problem& problem, DeviceId a, DeviceId b,
           const std::map<DeviceId, std::int64_t>& rest) {
  if (problem.device_class(a) != problem.device_class(b) ||
      problem.memory_bytes(a) != problem.memory_bytes(b)) {
    return false;
  }
  const Cluster& cluster = problem.cluster();
  const auto figures = [&](DeviceId src, DeviceId dst) {
    const Route& route = cluster.route(src, dst);
    return std::tuple(route.bandwidth_bytes_per_s, route.latency_us, route.parallel,
                      route.receiver_us);
  };
  return std::all_of(rest.begin(), rest.end(), [&](const auto& entry) {
    const DeviceId other = entry.first;
    return other != b && figures(a, other) == figures(b, other) &&
           figures(other, a) == figures(other, b);
  });
}

/// See one_device_placement.
Placement on_one_device(const Problem& problem, const std::shared_ptr<const Groups>& classes,
                        DeviceId device) {
  Placement placement(at(problem.graph().op_count()), device);
  for (GroupId c = 0; c < classes->count(); ++c) {
    const auto ops = classes->members(c);
    if (compute_us(problem, ops, device) < kCannotRun) continue;
    const DeviceId other = elsewhere(problem, ops, device);
    for (const OpId op : ops) placement[at(op)] = other;
  }
  if (problem.crowded_device(placement) != kNoDevice) keep_apart(problem, classes, placement);
  return placement;
}

struct Candidate {
  DeviceId device;
  Placement placement;
  std::map<DeviceId, std::int64_t> rest;  ///< see ops_elsewhere
  bool host;
  double least_us;  ///< what its busiest device computes: no objective is less
};

std::optional<Candidate> candidate(const Problem& problem,
                                   const std::shared_ptr<const Groups>& classes, DeviceId device) {
  try {
    Candidate made{device,
                   on_one_device(problem, classes, device),
                   {},
                   problem.cluster().device(device).host,
                   0};
    made.rest = ops_elsewhere(made.placement, device);
    std::vector<double> us(at(problem.cluster().device_count()), 0);
    bool runs_something = false;
    for (OpId op = 0; op < problem.graph().op_count(); ++op) {
      const DeviceId on = made.placement[at(op)];
      us[at(on)] += problem.cost_us(op, on);
      runs_something = runs_something || on == device;
    }
    made.least_us = *std::max_element(us.begin(), us.end());
    if (runs_something) return made;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::infeasible) throw;
  }
  return std::nullopt;
}

/// One of each kind of devices that are alike: hosts last, else those that compute least first.
std::vector<Candidate> candidates_of(const Problem& problem) {
  const auto classes = problem.finest_groups();
  std::vector<Candidate> candidates;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    const bool seen = std::any_of(
        candidates.begin(), candidates.end(),
        [&](const Candidate& other) { return alike(problem, other.device, device, other.rest); });
    if (seen) continue;
    if (auto made = candidate(problem, classes, device)) candidates.push_back(std::move(*made));
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.host, a.least_us) < std::tuple(b.host, b.least_us);
  });
  return candidates;
}

}  // namespace

Placement one_device_placement(const Problem& problem, DeviceId device) {
  return on_one_device(problem, problem.finest_groups(), device);
}

SingleDevice best_single_device(Evaluator& evaluator) {
  constexpr double kRounding = 1e-9;
  SingleDevice best;
  bool others = false, others_hold = false;
  for (Candidate& each : candidates_of(evaluator.problem())) {
    others = others || !each.host;
    const bool hopeless = best.device != kNoDevice && !evaluator.measures() &&
                          each.least_us * (1 - kRounding) > best.evaluation.objective_us;
    if (hopeless) continue;
    Evaluation evaluation = evaluator.evaluate(each.placement);
    if (!evaluation.feasible) continue;
    others_hold = others_hold || !each.host;
    if (best.device == kNoDevice || std::tuple(evaluation.objective_us, each.device) <
                                        std::tuple(best.evaluation.objective_us, best.device)) {
      best = {each.device, std::move(each.placement), std::move(evaluation)};
    }
  }
  best.only_hosts_hold = best.device != kNoDevice && others && !others_hold;
  return best;
}

std::string single_device_text(const Problem& problem, const SingleDevice& single) {
  std::string text = problem.cluster().device(single.device).name;
  const auto rest = ops_elsewhere(single.placement, single.device);
  if (!rest.empty()) text += " for all that it can run";
  for (const auto& [device, ops] : rest) {
    text +=
        cat(", ", problem.cluster().device(device).name, " for ", ops, ops == 1 ? " op" : " ops");
  }
  if (single.only_hosts_hold) text += ", since none but a host holds the model";
  return text;
}

}  // namespace berth
