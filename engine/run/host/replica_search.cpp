// The order of the search: the plain step placed by the policy; a replica per device; fewer replicas of
// several devices each, one placed by the policy and mirrored, with the fast links within groups or between
// them; shares evened out where devices differ. Each gets a small part of the time. Then the policy goes on from
// those that are close to the best, and from the best of these with the time that is left.
#include "host/replica_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "berth/bounds.h"
#include "berth/error.h"
#include "berth/evaluator.h"
#include "berth/simulator.h"
#include "berth/support/clock.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "support/units.h"

namespace berth {
namespace {

constexpr double kDefaultBudget_s = 30;
/// Parts of the budget: for the plain step, for each kind of group, and for each that is close to the best.
constexpr double kPlainPart = 0.12, kGroupPart = 0.05, kClosePart = 0.12;
/// So much slower than the best is close to it; so many are kept.
constexpr double kClose = 1.05;
constexpr std::size_t kMostKept = 3;
/// A step that waits less for its reduction than this part of it has nothing to gain by other buckets.
constexpr double kLeastWait = 0.02;
/// Below this no search is begun.
constexpr double kLeast_s = 0.5;
/// Steps of more ops are not searched any more: in what time there is nothing would come of it.
constexpr OpId kMostPolished = 80'000;

/// A plan with a placement; the plain step has no replicas.
struct Tried {
  ReplicaPlan plan;
  Task task;
  Placement placement;
  Evaluation evaluation;
};

class ReplicaSearch {
 public:
  ReplicaSearch(Engine& engine, const std::string& model, const Settings& settings,
                const RunHooks& hooks)
      : engine_(engine),
        model_(model),
        settings_(settings),
        hooks_(hooks),
        cluster_(make_cluster(settings)),
        models_(engine, model, settings, cluster_),
        budget_s_(settings.budget_s.value_or(kDefaultBudget_s)) {}

  Outcome run() {
    const bool search = *settings_.replicate == "auto";
    if (search) {
      keep(place_plain());
      try {
        static_cast<void>(models_.training());
        plans();
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) throw;
        note(cat("no replicas: ", error.what()));
      }
    } else {
      const ReplicaPlan plan = plan_of(*settings_.replicate, *cluster_, models_.batch());
      consider(plan, left_s() / 4);
      const std::size_t count = plan.replicas.size();
      if (is_grouped(plan) && *settings_.replicate == std::to_string(count) && !stopped()) {
        consider(even_plan(*cluster_, count, models_.batch(), FastLinks::between), left_s() / 4);
      }
    }
    return finish();
  }

 private:
  double left_s() const { return budget_s_ - seconds_since(began_); }
  bool stopped() const {
    return left_s() <= kLeast_s || (hooks_.should_stop && hooks_.should_stop());
  }
  void note(std::string text) {
    if (hooks_.note) hooks_.note(text);
    notes_.push_back(std::move(text));
  }
  /// Among the best few, the best first; whether it is the best.
  bool keep(Tried candidate) {
    const auto before = [](const Tried& a, const Tried& b) {
      return better(a.evaluation, b.evaluation);
    };
    const auto place = std::upper_bound(kept_.begin(), kept_.end(), candidate, before);
    const bool first = place == kept_.begin();
    if (first && hooks_.progress && candidate.evaluation.feasible) {
      hooks_.progress(candidate.evaluation.objective_us,
                      cat(candidate.plan.replicas.size(), " replicas"));
    }
    kept_.insert(place, std::move(candidate));
    if (kept_.size() > kMostKept) kept_.pop_back();
    return first;
  }

  Settings inner(double budget_s) const {
    Settings settings = settings_;
    settings.replicate.reset();
    settings.budget_s = std::max(0.0, budget_s);
    settings.bound = BoundEffort::none;
    settings.prove.reset();
    settings.certificate.reset();
    settings.start.reset();
    return settings;
  }
  RunHooks inner_hooks() const {
    RunHooks hooks = hooks_;
    hooks.initial.clear();
    hooks.note = {};
    return hooks;
  }

  Tried place_plain() {
    const Settings settings = inner(kPlainPart * budget_s_);
    TaskParts parts;
    parts.costs = models_.whole().costs;
    Tried plain;
    plain.task = make_task(engine_, models_.whole().graph, cluster_, settings, parts);
    plain.task.model = model_;
    plain_problem_ = plain.task.problem;
    search(plain, kPlainPart * budget_s_);
    return plain;
  }

  /// The policy goes on from the placement, if there is one. Leaves the better of the two.
  void search(Tried& tried, double budget_s) {
    RunHooks hooks = inner_hooks();
    if (!tried.placement.empty()) hooks.initial = {tried.placement};
    Outcome outcome = berth::place(engine_, tried.task, inner(budget_s), hooks);
    evaluations_ += outcome.search->evaluations;
    simulated_ops_ += outcome.search->simulated_ops;
    if (!tried.placement.empty() && better(tried.evaluation, outcome.evaluation)) return;
    tried.placement = std::move(outcome.placement);
    tried.evaluation = std::move(outcome.evaluation);
  }

  // --- Plans -----------------------------------------------------------------------------------

  void plans() {
    const std::vector<DeviceId> devices = accelerators(*cluster_);
    const auto most = std::min(devices.size(), static_cast<std::size_t>(models_.batch()));
    if (most < 2) {
      note("no replicas: there is one device for them");
      return;
    }
    std::vector<KindId> kinds;
    for (const DeviceId device : devices) kinds.push_back(cluster_->kind_of(device));
    const bool alike =
        std::all_of(kinds.begin(), kinds.end(), [&](KindId kind) { return kind == kinds.front(); });
    if (alike) {
      consider(even_plan(*cluster_, most, models_.batch()), 0);
    } else {
      unequal(devices);
    }
    // Groups of several devices, the largest first: they have the least to reduce.
    for (std::size_t count = 2; count < most && alike; ++count) {
      if (devices.size() % count != 0) continue;
      for (const FastLinks links : {FastLinks::within, FastLinks::between}) {
        if (stopped()) return;
        consider(even_plan(*cluster_, count, models_.batch(), links),
                 std::min(left_s() / 2, kGroupPart * budget_s_));
      }
    }
    try_buckets();
    try_shared_updates();
  }

  /// The optimizer's ops once, for the values handed round.
  void try_shared_updates() {
    if (stopped() || kept_.front().plan.replicas.empty()) return;
    ReplicaPlan plan = kept_.front().plan;
    if (!models_.whole().graph->states().empty()) return;
    plan.share_updates = true;
    consider(plan, 0);
  }

  /// Larger buckets wait longer, and lose less in latencies.
  void try_buckets() {
    const Tried& best = kept_.front();
    if (best.plan.replicas.empty() || is_grouped(best.plan)) return;
    const double waits_us = replica_times(traced(best)).waits_us;
    if (waits_us < kLeastWait * best.evaluation.objective_us) return;
    for (const std::int64_t bytes : {std::int64_t{32'000'000}, std::int64_t{2'000'000}}) {
      if (stopped()) return;
      ReplicaPlan plan = kept_.front().plan;
      plan.bucket_bytes = bytes;
      consider(plan, 0);
    }
  }

  /// Devices of several kinds: shares that let all end together, for all kinds and for the fastest.
  void unequal(const std::vector<DeviceId>& devices) {
    for (std::size_t used = devices.size(); used > 1 && !stopped(); --used) {
      // The slowest device is left out next.
      std::vector<DeviceId> some = by_speed(devices);
      some.resize(used);
      if (used < devices.size() &&
          cluster_->kind_of(some.back()) == cluster_->kind_of(by_speed(devices)[used])) {
        continue;  // all of a kind, or none
      }
      std::sort(some.begin(), some.end());
      if (auto plan = even_ends(some)) {
        consider(*plan, 0);
        improve_shares(*plan);
      }
    }
  }
  std::vector<DeviceId> by_speed(std::vector<DeviceId> devices) {
    std::stable_sort(devices.begin(), devices.end(),
                     [&](DeviceId a, DeviceId b) { return line(a).second < line(b).second; });
    return devices;
  }
  /// The step of one device by its samples: a constant and what each adds, in microseconds.
  std::pair<double, double> line(DeviceId device) {
    const KindId kind = cluster_->kind_of(device);
    const auto known = lines_.find(kind);
    if (known != lines_.end()) return known->second;
    const auto sum = [&](std::int64_t samples) {
      const SizedModel& model = models_.at_size(samples);
      const double overhead = cluster_->kind_device(kind).op_overhead_us;
      double us = 0;
      for (OpId op = 0; op < model.graph->op_count(); ++op) {
        const double one = model.costs->op_us(op, kind);
        if (one > 0 && one < kCannotRun) us += one + overhead;
      }
      return us;
    };
    const std::int64_t large = models_.smaller(), small = std::max<std::int64_t>(1, large / 4);
    const double at_large = sum(large), at_small = sum(small);
    const double slope =
        large > small ? (at_large - at_small) / static_cast<double>(large - small) : at_large;
    return lines_[kind] = {at_large - slope * static_cast<double>(large), slope};
  }
  /// Shares with which the lines of all devices end together, rounded to samples; nothing where a device
  /// would have none.
  std::optional<ReplicaPlan> even_ends(const std::vector<DeviceId>& devices) {
    double per_us = 0, constant = 0;
    for (const DeviceId device : devices) {
      const auto [begin, slope] = line(device);
      if (slope <= 0) return even_plan(*cluster_, devices.size(), models_.batch());
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
  /// Moves samples between kinds as the simulated steps say, while that helps.
  void improve_shares(ReplicaPlan plan) {
    for (int round = 0; round < 4 && !stopped(); ++round) {
      if (!last_) return;
      const ReplicaTimes times = replica_times(*last_);
      std::map<KindId, std::pair<double, std::vector<std::size_t>>> kinds;
      for (std::size_t r = 0; r < plan.replicas.size(); ++r) {
        auto& kind = kinds[cluster_->kind_of(plan.replicas[r].devices.front())];
        kind.first = std::max(kind.first, times.computed_us[r]);
        kind.second.push_back(r);
      }
      const auto by_time = [](const auto& a, const auto& b) {
        return a.second.first < b.second.first;
      };
      const auto& fast = std::min_element(kinds.begin(), kinds.end(), by_time)->second.second;
      const auto& slow = std::max_element(kinds.begin(), kinds.end(), by_time)->second.second;
      if (&fast == &slow) return;
      // As many from every device of the slow kind, so that a kind keeps few sizes.
      const std::size_t moved = std::lcm(fast.size(), slow.size());
      ReplicaPlan next = plan;
      for (std::size_t i = 0; i < moved; ++i) {
        --next.replicas[slow[i % slow.size()]].share;
        ++next.replicas[fast[i % fast.size()]].share;
      }
      for (const auto& replica : next.replicas) {
        if (replica.share < 1) return;
      }
      if (!consider(next, 0)) return;
      plan = next;
    }
  }

  // --- One plan --------------------------------------------------------------------------------

  /// Whether it is the best so far. `budget_s`: for placing one replica of several devices.
  bool consider(const ReplicaPlan& plan, double budget_s) {
    const auto stage =
        hooks_.stage ? hooks_.stage(cat(plan.replicas.size(), " replicas"), left_s()) : nullptr;
    Tried candidate{plan, replicated_task(engine_, models_, plan, settings_), {}, {}};
    candidate.placement =
        is_grouped(plan) ? mirrored_placement(candidate, budget_s) : own_devices(candidate);
    const Simulator simulator(candidate.task.problem);
    Simulator::Workspace workspace;
    simulator.evaluate(candidate.placement, workspace, candidate.evaluation);
    ++evaluations_;
    simulated_ops_ += candidate.task.problem->graph().op_count();
    if (settings_.replicate == "auto") {
      seen_ += cat(seen_.empty() ? "" : "; ", plan.text(*cluster_), " ",
                   candidate.evaluation.feasible ? format_us(candidate.evaluation.objective_us)
                                                 : std::string("does not fit"));
    }
    any_plan_ = true;
    last_ = traced(candidate);
    return keep(std::move(candidate));
  }
  static bool is_grouped(const ReplicaPlan& plan) {
    return std::any_of(plan.replicas.begin(), plan.replicas.end(),
                       [](const auto& one) { return one.devices.size() > 1; });
  }
  Outcome traced(const Tried& candidate) const {
    Outcome outcome;
    outcome.problem = candidate.task.problem;
    outcome.replicas = candidate.task.replicas;
    outcome.trace = Simulator(candidate.task.problem).trace(candidate.placement);
    return outcome;
  }

  /// Each replica on its own device, the rest on a host.
  Placement own_devices(const Tried& candidate) const {
    const Problem& problem = *candidate.task.problem;
    const ReplicaFigures& figures = *candidate.task.replicas;
    const auto classes = problem.finest_groups();
    Placement placement(at(problem.graph().op_count()), 0);
    for (GroupId c = 0; c < classes->count(); ++c) {
      const auto ops = classes->members(c);
      const auto r = at(figures.replica_of[at(ops.front())]);
      const auto runs = [&](DeviceId device) {
        return std::all_of(ops.begin(), ops.end(),
                           [&](OpId op) { return problem.cost_us(op, device) < kCannotRun; });
      };
      DeviceId device = candidate.plan.replicas[r].devices.front();
      for (DeviceId other = 0; !runs(device) && other < cluster_->device_count(); ++other) {
        if (runs(other)) device = other;
      }
      for (const OpId op : ops) placement[at(op)] = device;
    }
    return placement;
  }

  /// One replica placed by the policy on its devices, the others alike.
  Placement mirrored_placement(const Tried& candidate, double budget_s) {
    const ReplicaPlan& plan = candidate.plan;
    check_alike(plan);
    const SizedModel& model = models_.at_size(plan.replicas.front().share);
    Settings settings = inner(budget_s);
    ConstraintRule rule;
    rule.ops = {{.name = {}, .regex = ".*", .type = {}, .requested_device = {}}};
    for (DeviceId device = 0; device < cluster_->device_count(); ++device) {
      if (cluster_->device(device).host) rule.devices.push_back(cluster_->device(device).name);
    }
    for (const DeviceId device : plan.replicas.front().devices) {
      rule.devices.push_back(cluster_->device(device).name);
    }
    settings.constraints.push_back(std::move(rule));
    Placement& one = placed_[{plan.replicas.front().share, plan.replicas.front().devices}];
    if (one.empty()) {
      TaskParts parts;
      parts.costs = model.costs;
      const Task task = make_task(engine_, model.graph, cluster_, settings, parts);
      Outcome outcome = berth::place(engine_, task, settings, inner_hooks());
      evaluations_ += outcome.search->evaluations;
      simulated_ops_ += outcome.search->simulated_ops;
      one = std::move(outcome.placement);
    }
    Replicated step;
    step.ops_each = model.graph->op_count();
    step.model.graph = candidate.task.problem->shared_graph();
    const auto& of = candidate.task.replicas->replica_of;
    step.reduction_replica.assign(
        of.begin() + static_cast<std::ptrdiff_t>(at(step.ops_each) * plan.replicas.size()),
        of.end());
    return mirrored(step, plan, one);
  }
  void check_alike(const ReplicaPlan& plan) const {
    const auto& first = plan.replicas.front().devices;
    for (const auto& replica : plan.replicas) {
      bool alike = replica.devices.size() == first.size();
      for (std::size_t i = 0; alike && i < first.size(); ++i) {
        alike = cluster_->kind_of(replica.devices[i]) == cluster_->kind_of(first[i]);
      }
      if (alike) continue;
      throw Error(
          ErrorCode::invalid_argument,
          "replicas: replicas of several devices have as many each, of the same kinds in the "
          "same order, so that one placement serves all; give each replica one device, or "
          "groups that are alike");
    }
  }

  // --- The result ------------------------------------------------------------------------------

  Outcome finish() {
    polish();
    const Tried& best = kept_.front();
    const bool plain = best.task.replicas == nullptr;
    Outcome outcome;
    outcome.problem = best.task.problem;
    outcome.placement = best.placement;
    outcome.evaluation = best.evaluation;
    outcome.trace = Simulator(best.task.problem).trace(best.placement);
    outcome.replicas = best.task.replicas;
    outcome.notes = models_.notes();
    outcome.origin.model = model_;
    outcome.origin.policy = settings_.policy.value_or("auto");
    outcome.origin.seed = settings_.seed.value_or(hooks_.seed);
    outcome.origin.settings = best.task.settings;
    compare_with_one_device(outcome);
    if (plain && any_plan_) {
      note("a placement of whole ops is faster than the replicas that were found");
    }
    if (settings_.bound != BoundEffort::none) bound(outcome);
    if (!seen_.empty()) note("plans tried: " + seen_);
    outcome.notes.insert(outcome.notes.end(), notes_.begin(), notes_.end());
    outcome.search.emplace();
    outcome.search->evaluations = evaluations_;
    outcome.search->simulated_ops = simulated_ops_;
    outcome.search->wall_s = seconds_since(began_);
    outcome.search->end = left_s() <= kLeast_s ? SearchEnd::budget : SearchEnd::done;
    return outcome;
  }

  /// The policy goes on from those that are close to the best, then from the best of them.
  void polish() {
    const auto searched = [&](const Tried& tried) {
      return (tried.plan.replicas.empty() || is_grouped(tried.plan)) &&
             tried.task.problem->graph().op_count() <= kMostPolished;
    };
    std::vector<Tried> close = std::move(kept_);
    kept_.clear();
    const double best_us = close.front().evaluation.objective_us;
    std::erase_if(close, [&](const Tried& tried) {
      return &tried != &close.front() && !(tried.evaluation.objective_us <= kClose * best_us);
    });
    for (Tried& tried : close) {
      if (close.size() > 1 && searched(tried) && !stopped()) {
        search(tried, std::min(left_s(), kClosePart * budget_s_));
      }
      keep(std::move(tried));
    }
    if (searched(kept_.front()) && !stopped()) search(kept_.front(), left_s());
  }

  const std::shared_ptr<const Problem>& plain_problem() {
    if (plain_problem_ == nullptr) {
      TaskParts parts;
      parts.costs = models_.whole().costs;
      plain_problem_ = make_task(engine_, models_.whole().graph, cluster_, inner(0), parts).problem;
    }
    return plain_problem_;
  }
  /// The plain step on one device: its ops stand for those of the first replica.
  void compare_with_one_device(Outcome& outcome) {
    const auto evaluator = make_simulation_evaluator(plain_problem(), /*threads=*/1);
    outcome.best_single = best_single_device(*evaluator);
    if (outcome.best_single.device == kNoDevice) return;
    outcome.best_single.placement.resize(at(outcome.problem->graph().op_count()),
                                         outcome.best_single.device);
  }
  void bound(Outcome& outcome) {
    const BoundEffort effort = bound_effort(settings_);
    const LowerBound plain = lower_bound(*plain_problem(), effort);
    if (!any_plan_) {
      outcome.bound = plain;
      return;
    }
    const ReplicaBound found =
        bound_replicas(models_.training(), models_.whole(), models_.at_size(models_.smaller()),
                       models_.smaller(), *cluster_, plain.us);
    outcome.bound = {found.us, found.basis};
  }

  Engine& engine_;
  const std::string& model_;
  const Settings& settings_;
  const RunHooks& hooks_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::shared_ptr<const Cluster> cluster_;
  ReplicaModels models_;
  double budget_s_;
  std::map<KindId, std::pair<double, double>> lines_;
  std::shared_ptr<const Problem> plain_problem_;
  std::vector<Tried> kept_;  // the best first
  // One replica's ops, by its samples and devices.
  std::map<std::pair<std::int64_t, std::vector<DeviceId>>, Placement> placed_;
  bool any_plan_ = false;
  std::optional<Outcome> last_;  // the step of the plan that was considered last
  std::vector<std::string> notes_;
  std::string seen_;
  std::int64_t evaluations_ = 0, simulated_ops_ = 0;
};

}  // namespace

Task replicated_task(Engine& engine, ReplicaModels& models, const ReplicaPlan& plan,
                     const Settings& settings) {
  PosedReplicas posed = pose_replicas(models, plan);
  Settings inner = settings;
  inner.replicate.reset();
  inner.constraints.insert(inner.constraints.end(), posed.rules.begin(), posed.rules.end());
  TaskParts parts;
  parts.costs = posed.step.model.costs;
  Task task = make_task(engine, posed.step.model.graph, models.cluster(), inner, parts);
  Settings stored = parse_settings(task.settings, "settings");
  stored.constraints = settings.constraints;
  stored.replicate = posed.figures->plan;
  stored.costs = settings.costs;
  if (stored.costs && stored.costs->find_first_of("/.") != std::string::npos) {
    stored.costs = std::filesystem::absolute(*stored.costs).string();
  }
  task.settings = settings_json(stored);
  task.notes.insert(task.notes.begin(), models.notes().begin(), models.notes().end());
  task.replicas = std::move(posed.figures);
  return task;
}

void check_replicable(const Settings& settings) {
  constexpr std::string_view kUnserved[] = {"tool",   "within",      "constraints", "soft",
                                            "groups", "certificate", "prove",       "start"};
  refuse_unserved(settings, "a step of replicas", kUnserved);
  const auto refuse = [&](const char* key, const char* why) {
    throw Error(ErrorCode::unsupported, cat(settings.place(key), "replicas: ", why));
  };
  if (settings.objective == Objective::throughput) {
    refuse("objective", "they shorten one step; leave the objective out, or say latency");
  }
  if (settings.semantics == Semantics::placeto) {
    refuse("semantics", "the links of placeto semantics send to all at once; choose dataflow");
  }
  if (settings.evaluator == EvaluatorKind::measure) {
    refuse("evaluator", "plans are simulated; write the replicated model and measure that");
  }
}

Outcome run_replicated(Engine& engine, const std::string& model, const Settings& settings,
                       const RunHooks& hooks) {
  check_replicable(settings);
  return ReplicaSearch(engine, model, settings, hooks).run();
}

}  // namespace berth
