#include "reports/elsewhere.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "berth/constraints.h"
#include "berth/graph.h"
#include "berth/groups.h"
#include "berth/support/index.h"
#include "berth/support/sums.h"
#include "berth/support/text.h"
#include "costs/cost_table.h"
#include "problem/op_time.h"
#include "reports/alike.h"

namespace berth::reports {
namespace {

/// Simulated ops that a page may cost: some seconds. A move is counted as a whole step, which it
/// is at worst; a trace allocates, and takes some ten times as long as a step.
constexpr std::int64_t kTryOps = 60'000'000;
constexpr std::int64_t kTraceOps = 4'000'000;
/// That a reason takes at most, each about as long as a trace.
constexpr std::int64_t kSimulations = 4;
/// Steps that differ by less last as long.
constexpr double kAsLong = 1 + 1e-9;
/// The part of a change from which on it is a reason for it.
constexpr double kReasonShare = 0.1;

std::vector<Device> devices_of(const Cluster& cluster) {
  std::vector<Device> devices;
  for (DeviceId device = 0; device < cluster.device_count(); ++device) {
    devices.push_back(cluster.device(device));
  }
  return devices;
}

/// A machine with the same hosts that only keep parameters.
std::shared_ptr<const Cluster> machine_like(const Cluster& cluster, std::vector<Device> devices,
                                            const std::vector<LinkSpec>& links) {
  auto made = std::make_shared<const Cluster>(cluster.name(), std::move(devices), links);
  for (DeviceId device = 0; device < cluster.device_count(); ++device) {
    const DeviceId worker = cluster.works_in(device);
    if (worker != device) return made->with_hosts_keeping_for(worker);
  }
  return made;
}

/// The same problem where `ops` keep the kind of `there` busy as long as they do `here`. Costs hold
/// the overheads, as these may be larger than all of the time here.
std::shared_ptr<const Problem> with_times_of(const Problem& problem, const std::vector<OpId>& ops,
                                             DeviceId here, DeviceId there) {
  const Cluster& cluster = problem.cluster();
  CostTable table(problem.costs());
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    for (OpId op = 0; op < problem.graph().op_count(); ++op) {
      table.cost_us(op, kind) = busy_us(problem, op, kind);
    }
  }
  const KindId from = cluster.kind_of(here), to = cluster.kind_of(there);
  for (const OpId op : ops) table.cost_us(op, to) = table.cost_us(op, from);
  std::vector<Device> devices = devices_of(cluster);
  for (Device& device : devices) device.op_overhead_us = 0;
  return std::make_shared<const Problem>(
      problem.shared_graph(), machine_like(cluster, std::move(devices), cluster.links()),
      std::move(table).costs(), problem.shared_groups(), problem.options(), problem.constraints());
}

/// The same problem where transfers take no time.
std::shared_ptr<const Problem> with_free_transfers(const Problem& problem) {
  const Cluster& cluster = problem.cluster();
  LinkSpec free;
  free.src = free.dst = "*";
  free.bandwidth_bytes_per_s = 1e30;
  free.parallel = true;
  ProblemOptions options = problem.options();
  options.transfer_gap_us = 0;
  return std::make_shared<const Problem>(
      problem.shared_graph(), machine_like(cluster, devices_of(cluster), {free}),
      problem.shared_costs(), problem.shared_groups(), options, problem.constraints());
}

double objective_us(const std::shared_ptr<const Problem>& problem, const Placement& placement) {
  return make_simulation_evaluator(problem, /*threads=*/1)->evaluate(placement).objective_us;
}

/// Classes by importance: on the critical path, then by compute time.
std::vector<GroupId> by_importance(const Outcome& outcome, const Groups& classes) {
  struct Key {
    bool off_path = true;
    double us = 0;
    GroupId unit = 0;
  };
  std::vector<Key> keys(at(classes.count()));
  for (GroupId unit = 0; unit < classes.count(); ++unit) {
    keys[at(unit)].unit = unit;
    for (const OpId op : classes.members(unit)) {
      keys[at(unit)].us += outcome.trace.op_end_us[at(op)] - outcome.trace.op_start_us[at(op)];
    }
  }
  for (const CriticalStep& step : outcome.trace.critical_path) {
    if (step.op != kNoOp) keys[at(classes.of(step.op))].off_path = false;
  }
  std::stable_sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return a.off_path != b.off_path ? b.off_path : a.us > b.us;
  });
  std::vector<GroupId> order;
  for (const Key& key : keys) order.push_back(key.unit);
  return order;
}

class Prober {
 public:
  Prober(const Outcome& outcome, const std::function<bool()>& should_stop)
      : outcome_(outcome),
        should_stop_(should_stop),
        problem_(*outcome.problem),
        placement_(outcome.placement),
        evaluator_(make_simulation_evaluator(outcome.problem, /*threads=*/1)),
        starts_us_(outcome.placement.size()),
        first_alike_(first_alike(*outcome.problem, outcome.placement)) {
    if (evaluator_->successive() != nullptr) {
      sequence_ = evaluator_->successive()->sequence(/*tries=*/true);
      Evaluation now;
      sequence_->start(placement_, now, starts_us_);
      now_ = worth_of(problem_, now);
    } else {
      now_ = worth_of(problem_, evaluator_->evaluate(placement_));
    }
  }

  [[nodiscard]] double now_us() const { return now_.objective_us; }

  /// Empty: there is no time for it.
  std::optional<Unit> probe(std::span<const OpId> members) {
    Unit unit;
    unit.ops.assign(members.begin(), members.end());
    const DeviceId own = outcome_.placement[at(unit.ops.front())];
    std::vector<std::size_t> tried(at(problem_.cluster().device_count()));
    for (DeviceId device = 0; device < problem_.cluster().device_count(); ++device) {
      if (device == own) continue;
      tried[at(device)] = unit.elsewhere.size();
      if (const DeviceId first = first_alike_[at(device)]; first != device) {
        unit.elsewhere.push_back(unit.elsewhere[tried[at(first)]]);
        unit.elsewhere.back().device = device;
        continue;
      }
      if (tried_ops_ > kTryOps || (should_stop_ && should_stop_())) return std::nullopt;
      unit.elsewhere.push_back(elsewhere(unit.ops, own, device));
    }
    DeviceId where = kNoDevice;
    unit.bound = bound_by(problem_, unit.ops, own, now_, unit.elsewhere, where);
    if (!unit.bound && traced_ops_ < kTraceOps) {
      traced_ops_ += kSimulations * problem_.graph().op_count();
      unit.bound = reason_of(outcome_, unit.ops, now_us(), where);
    }
    return unit;
  }

 private:
  Elsewhere elsewhere(const std::vector<OpId>& ops, DeviceId own, DeviceId device) {
    Elsewhere other;
    other.device = device;
    other.refused = refusal(problem_, ops, device);
    if (!other.refused.empty()) return other;
    tried_ops_ += problem_.graph().op_count();
    for (const OpId op : ops) placement_[at(op)] = device;
    if (problem_.crowded_device(placement_) != kNoDevice) {
      other.refused = "it would share the device with an op that must be apart";
    } else if (const Score score = try_move(ops); score.excess_bytes == 0) {
      other.worth.objective_us = score.objective_us;
    } else {
      other.worth = worth_of(problem_, evaluator_->evaluate(placement_));
      other.excess_bytes = score.excess_bytes;
    }
    for (const OpId op : ops) placement_[at(op)] = own;
    return other;
  }

  Score try_move(const std::vector<OpId>& ops) {
    if (sequence_ == nullptr) return evaluator_->evaluate(placement_).score();
    return sequence_->try_move(placement_, ops, std::numeric_limits<double>::infinity());
  }

  const Outcome& outcome_;
  const std::function<bool()>& should_stop_;
  const Problem& problem_;
  Placement placement_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<PlacementSequence> sequence_;  // null: the evaluator has none
  std::vector<double> starts_us_;
  std::vector<DeviceId> first_alike_;
  Worth now_;
  std::int64_t tried_ops_ = 0;
  std::int64_t traced_ops_ = 0;
};

}  // namespace

std::string refusal(const Problem& problem, const std::vector<OpId>& ops, DeviceId device) {
  for (const OpId op : ops) {
    if (!problem.costs().can_run(op, problem.cluster().kind_of(device))) {
      const Device& on = problem.cluster().device(device);
      const std::string why = op_refusal(problem.graph(), op, on);
      return cat("'", problem.graph().op_name(op), "' cannot run on kind ", on.kind,
                 why.empty() ? "" : ", which ", why);
    }
    if (problem.allowed(op, device)) continue;
    const auto& rules = problem.constraints()->rules();
    const std::vector<std::size_t> against = problem.constraints()->rules_against(op, device);
    const ConstraintRule& rule = rules[against.front()];
    return rule.text.empty() ? to_text(rule) : rule.text;
  }
  return {};
}

Worth worth_of(const Problem& problem, const Evaluation& evaluation) {
  Worth worth{evaluation.objective_us, 0};
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    const std::int64_t memory = problem.memory_bytes(device);
    if (memory == kNoLimit) continue;
    const std::int64_t lacking = evaluation.peak_bytes[at(device)] - memory;
    worth.lacking_bytes = saturating_sum(worth.lacking_bytes, std::max<std::int64_t>(0, lacking));
  }
  return worth;
}

std::optional<Bound> bound_by(const Problem& problem, const std::vector<OpId>& ops, DeviceId device,
                              const Worth& now, const std::vector<Elsewhere>& others,
                              DeviceId& where) {
  const Elsewhere* best = nullptr;
  bool memory = false, best_is_slower = true;
  const double here_us = ops_us(problem, ops, device);
  for (const Elsewhere& other : others) {
    if (!other.possible()) continue;
    // Memory that is lacking now as well is no reason against another device.
    const Worth& there = other.worth;
    if (there.lacking_bytes < now.lacking_bytes) return Bound::nothing;
    const bool has_room = there.lacking_bytes == now.lacking_bytes;
    if (has_room && there.objective_us <= now.objective_us) return Bound::nothing;
    memory = memory || (!has_room && there.objective_us < now.objective_us);
    const bool slower = ops_us(problem, ops, other.device) > here_us;
    if (best == nullptr || slower < best_is_slower ||
        (slower == best_is_slower && there.objective_us < best->worth.objective_us)) {
      best = &other;
      best_is_slower = slower;
    }
  }
  if (best == nullptr) return Bound::constraint;
  if (memory) return Bound::memory;
  where = best->device;
  return std::nullopt;
}

Bound reason_of(const Outcome& outcome, const std::vector<OpId>& ops, double now_us,
                DeviceId where) {
  const Problem& problem = *outcome.problem;
  const DeviceId here = outcome.placement[at(ops.front())];
  const bool slower = ops_us(problem, ops, where) > ops_us(problem, ops, here);
  Placement moved = outcome.placement;
  for (const OpId op : ops) moved[at(op)] = where;
  const auto free = with_free_transfers(problem);
  const double free_us = objective_us(free, moved);
  const double free_now_us = objective_us(free, outcome.placement);
  if (slower) {
    const double equal_us = objective_us(with_times_of(problem, ops, here, where), moved);
    if (free_us - free_now_us >= equal_us - now_us) return Bound::compute;
  }
  if (free_us <= free_now_us * kAsLong) return Bound::communication;
  if (problem.options().objective == Objective::throughput) {
    return slower ? Bound::compute : Bound::contention;
  }
  const PathShares now = path_shares(outcome.trace);
  const StepTrace trace = Simulator(outcome.problem).trace(moved);
  const PathShares then = path_shares(trace);
  const double transfers_us = then.transfer_us - now.transfer_us;
  const double contended_us = then.contended_us - now.contended_us;
  const double change_us = trace.runtime_us - outcome.trace.runtime_us;
  if (std::max(transfers_us, contended_us) > std::max(0.0, kReasonShare * change_us)) {
    return transfers_us >= contended_us ? Bound::communication : Bound::contention;
  }
  return slower ? Bound::compute : Bound::order;
}

UnitsElsewhere units_elsewhere(const Outcome& outcome, const std::function<bool()>& should_stop) {
  UnitsElsewhere result;
  const auto classes = outcome.problem->finest_groups();
  Prober prober(outcome, should_stop);
  result.now_us = prober.now_us();
  for (const GroupId group : by_importance(outcome, *classes)) {
    std::optional<Unit> unit = prober.probe(classes->members(group));
    if (!unit) {
      result.all = false;
      break;
    }
    result.units.push_back(std::move(*unit));
  }
  return result;
}

}  // namespace berth::reports
