// The order of the search: the plain step placed by the policy; a replica per device; fewer replicas of
// several devices each, one placed by the policy and mirrored, with the fast links within groups or between
// them; shares evened out where devices differ. Each gets a small part of the budget. Then those that the
// policy can improve share what is left by halving: the plain step is one of them.
//
// Posing a step of replicas takes as long as thousands of proposals. So a plan is posed only where the
// work of one replica, which is soon known, leaves it a chance.
#include "host/replica_search.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "berth/bounds.h"
#include "berth/error.h"
#include "berth/evaluator.h"
#include "berth/simulator.h"
#include "berth/support/clock.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "host/replica_shares.h"
#include "replicas/owners.h"
#include "support/units.h"

namespace berth {
namespace {

constexpr double kDefaultBudget_s = 30;
/// Parts of the budget: for the plain step before plans, and for one replica of each kind of group.
constexpr double kPlainPart = 0.2, kGroupPart = 0.05;
/// Part of what is left for each round of the halving but the last, which gets the rest.
constexpr double kRoundPart = 1.0 / 3;
/// Groups are looked at while so much is left for those that lead: posing cannot be stopped, and one of a large
/// graph takes seconds.
constexpr double kLeftForBest = 0.5;
/// A group whose replica alone is so much slower than the best step is not posed.
constexpr double kNoChance = 1.25;
/// Part of what a plan of groups gets that one replica has; all have the rest.
constexpr double kOnePart = 0.5;
/// Posing that takes more than this part of what is left is dear: for plans of which a replica alone takes at
/// most so much of the best step, which then may not have had the time to become good.
constexpr double kDearPart = 0.35, kDearChance = 0.5;
/// A step that waits less for its reduction than this part of it has nothing to gain by other buckets.
constexpr double kLeastWait = 0.02;
/// Below this no search is begun: seconds, and proposals.
constexpr double kLeast_s = 0.5, kLeastMoves = 1;
/// Steps of more ops are not searched any more: in what time there is nothing would come of it.
constexpr OpId kMostPolished = 80'000;

struct Placed {
  Task task;
  Placement placement;
  Evaluation evaluation;
};

/// A plan with a placement; the plain step has no replicas.
struct Tried {
  ReplicaPlan plan;
  Placed step;
  Placed one;  ///< of a plan of several devices each: its first replica
};

bool is_grouped(const ReplicaPlan& plan) {
  return std::any_of(plan.replicas.begin(), plan.replicas.end(),
                     [](const auto& one) { return one.devices.size() > 1; });
}

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
        shares_(models_, *cluster_),
        counts_(settings.moves.value_or(0) > 0),
        budget_(counts_ ? static_cast<double>(*settings.moves)
                        : settings.budget_s.value_or(kDefaultBudget_s)) {}

  Outcome run() {
    began_ = std::chrono::steady_clock::now();
    if (*settings_.replicate == "auto") {
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
      consider(plan, left() / 4);
      const std::size_t count = plan.replicas.size();
      if (is_grouped(plan) && *settings_.replicate == std::to_string(count) && !stopped()) {
        consider(even_plan(*cluster_, count, models_.batch(), FastLinks::between), left() / 4);
      }
    }
    halve();
    return finish();
  }

 private:
  /// The rest of the budget, in its unit: seconds, or proposals where the settings limit those.
  double left() const { return budget_ - (counts_ ? proposed_ : seconds()); }
  /// Loading is no part of a budget, as it is none where a step is placed: here at several sizes.
  double seconds() const { return seconds_since(began_) - models_.loading_s(); }
  bool stopped() const {
    return left() <= (counts_ ? kLeastMoves : kLeast_s) || is_over() ||
           (hooks_.should_stop && hooks_.should_stop());
  }
  /// Whether a time that proposals have, too, is over.
  bool is_over() const { return counts_ && settings_.budget_s && seconds() >= *settings_.budget_s; }
  void note(std::string text) {
    if (hooks_.note) hooks_.note(text);
    notes_.push_back(std::move(text));
  }

  /// The lead is never given up. Others are kept as long as a search can improve them: the best of each number
  /// of replicas.
  bool keep(Tried tried) {
    const bool first =
        kept_.empty() || better(tried.step.evaluation, kept_.front().step.evaluation);
    if (first && hooks_.progress && tried.step.evaluation.feasible) {
      hooks_.progress(tried.step.evaluation.objective_us,
                      cat(tried.plan.replicas.size(), " replicas"));
    }
    kept_.push_back(std::move(tried));
    sort_kept();
    std::set<std::size_t> counts;
    std::erase_if(kept_, [&](const Tried& other) {
      const bool best_of_count = counts.insert(other.plan.replicas.size()).second;
      return &other != &kept_.front() && (!best_of_count || !runs(other));
    });
    return first;
  }
  void sort_kept() {
    std::stable_sort(kept_.begin(), kept_.end(), [](const Tried& a, const Tried& b) {
      return better(a.step.evaluation, b.step.evaluation);
    });
  }
  /// Whether the policy has something to decide.
  bool runs(const Tried& tried) const {
    return (tried.plan.replicas.empty() || is_grouped(tried.plan)) &&
           tried.step.task.problem->graph().op_count() <= kMostPolished;
  }
  double best_us() const {
    return kept_.empty() || !kept_.front().step.evaluation.feasible
               ? kCannotRun
               : kept_.front().step.evaluation.objective_us;
  }

  Settings inner(double amount) const {
    Settings settings = settings_;
    settings.replicate.reset();
    if (counts_) {
      settings.moves = static_cast<std::int64_t>(std::max(1.0, amount));
      if (settings_.budget_s) {
        settings.budget_s = std::max(0.0, *settings_.budget_s - seconds());
      }
    } else {
      settings.budget_s = std::max(0.0, amount);
    }
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
    TaskParts parts;
    parts.costs = models_.whole().costs;
    Tried plain;
    const auto began = std::chrono::steady_clock::now();
    plain.step.task = make_task(engine_, models_.whole().graph, cluster_, inner(0), parts);
    plain.step.task.model = model_;
    plain_problem_ = plain.step.task.problem;
    // Until one is posed: the plain step's, and twice as much for making the graph.
    posed_op_s_ = 3 * seconds_since(began) / plain_problem_->graph().op_count();
    search(plain.step, kPlainPart * budget_);
    return plain;
  }

  /// The policy goes on from the placement, if there is one. Leaves the better of the two; whether it is
  /// another. `amount` of the budget, all of which counts as used.
  bool search(Placed& placed, double amount) {
    RunHooks hooks = inner_hooks();
    if (!placed.placement.empty()) hooks.initial = {placed.placement};
    Settings settings = inner(amount);
    // The same proposals again would be of no use.
    settings.seed = settings_.seed.value_or(hooks_.seed) + searches_++;
    proposed_ += amount;
    Outcome outcome = berth::place(engine_, placed.task, settings, hooks);
    evaluations_ += outcome.search->evaluations;
    simulated_ops_ += outcome.search->simulated_ops;
    if (!placed.placement.empty() && !better(outcome.evaluation, placed.evaluation)) return false;
    placed.placement = std::move(outcome.placement);
    placed.evaluation = std::move(outcome.evaluation);
    return true;
  }

  // --- Plans -----------------------------------------------------------------------------------

  void plans() {
    const std::vector<DeviceId> devices = accelerators(*cluster_);
    const auto most = std::min(devices.size(), static_cast<std::size_t>(models_.batch()));
    if (most < 2) {
      note("no replicas: there is one device for them");
      return;
    }
    const bool alike = std::all_of(devices.begin(), devices.end(), [&](DeviceId device) {
      return cluster_->kind_of(device) == cluster_->kind_of(devices.front());
    });
    if (alike) {
      consider(even_plan(*cluster_, most, models_.batch()), 0);
    } else {
      unequal(devices);
    }
    // Groups of several devices, the largest first: they have the least to reduce.
    for (std::size_t count = 2; count < most && alike; ++count) {
      if (devices.size() % count != 0) continue;
      for (const FastLinks links : {FastLinks::within, FastLinks::between}) {
        if (stopped() || left() < kLeftForBest * budget_) break;
        consider(even_plan(*cluster_, count, models_.batch(), links),
                 std::min(left() / 2, kGroupPart * budget_));
      }
    }
    try_buckets();
    try_shared_updates();
  }

  /// The optimizer's ops once, for the values handed round.
  void try_shared_updates() {
    if (stopped() || kept_.front().plan.replicas.empty()) return;
    ReplicaPlan plan = kept_.front().plan;
    if (plan.share_updates || !can_share_updates(*models_.whole().graph)) return;
    plan.share_updates = true;
    consider(plan, 0);
  }

  /// Larger buckets wait longer, and lose less in latencies.
  void try_buckets() {
    const Tried& best = kept_.front();
    if (best.plan.replicas.empty() || is_grouped(best.plan)) return;
    const double waits_us = replica_times(traced(best)).waits_us;
    if (waits_us < kLeastWait * best.step.evaluation.objective_us) return;
    for (const std::int64_t bytes : {std::int64_t{32'000'000}, std::int64_t{2'000'000}}) {
      if (stopped()) return;
      ReplicaPlan plan = kept_.front().plan;
      plan.bucket_bytes = bytes;
      consider(plan, 0);
    }
  }

  /// Devices of several kinds: shares that let all end together, for all kinds and for the fastest.
  void unequal(const std::vector<DeviceId>& devices) {
    const std::vector<DeviceId> fastest = shares_.by_speed(devices);
    for (std::size_t used = devices.size(); used > 1 && !stopped(); --used) {
      // The slowest device is left out next.
      std::vector<DeviceId> some(fastest.begin(),
                                 fastest.begin() + static_cast<std::ptrdiff_t>(used));
      if (used < fastest.size() &&
          cluster_->kind_of(some.back()) == cluster_->kind_of(fastest[used])) {
        continue;  // all of a kind, or none
      }
      std::sort(some.begin(), some.end());
      if (const auto plan = shares_.even_ends(some)) {
        consider(*plan, 0);
        improve_shares(*plan);
      }
    }
  }
  /// Moves samples between kinds as the simulated steps say, while that helps.
  void improve_shares(ReplicaPlan plan) {
    for (int round = 0; round < 4 && !stopped() && last_; ++round) {
      const auto next = shares_.shifted(plan, replica_times(*last_));
      if (!next || !consider(*next, 0)) return;
      plan = *next;
    }
  }

  // --- One plan --------------------------------------------------------------------------------

  /// Whether it is the best so far. `amount`: for placing one replica of several devices.
  bool consider(ReplicaPlan plan, double amount) {
    const auto stage =
        hooks_.stage ? hooks_.stage(cat(plan.replicas.size(), " replicas"),
                                    counts_ ? std::numeric_limits<double>::infinity() : left())
                     : nullptr;
    any_plan_ = true;
    last_.reset();
    const bool searches = settings_.replicate == "auto";
    const bool grouped = is_grouped(plan);
    Tried tried;
    if (grouped) tried.one = placed_one(plan, amount);
    if (searches) {
      const double alone_us =
          grouped ? tried.one.evaluation.objective_us : least_of_own_devices_us(plan);
      const double most_us = (is_dear(plan) ? kDearChance : grouped ? kNoChance : 1) * best_us();
      if (alone_us >= most_us) {
        saw(plan, alone_us < kCannotRun ? cat("not posed, a replica takes ", format_us(alone_us))
                                        : std::string("does not fit"));
        return false;
      }
    }
    tried.plan = plan;
    const auto began = std::chrono::steady_clock::now();
    tried.step.task = replicated_task(engine_, models_, plan, settings_);
    posed_op_s_ = seconds_since(began) / tried.step.task.problem->graph().op_count();
    tried.step.placement = grouped ? mirror(tried) : own_devices(tried);
    evaluate(tried.step);
    if (searches) {
      saw(plan, tried.step.evaluation.feasible ? format_us(tried.step.evaluation.objective_us)
                                               : std::string("does not fit"));
    }
    last_ = traced(tried);
    return keep(std::move(tried));
  }
  void saw(const ReplicaPlan& plan, const std::string& what) {
    seen_ += cat(seen_.empty() ? "" : "; ", plan.text(*cluster_), " ", what);
  }
  void evaluate(Placed& placed) {
    const Simulator simulator(placed.task.problem);
    Simulator::Workspace workspace;
    simulator.evaluate(placed.placement, workspace, placed.evaluation);
    ++evaluations_;
    simulated_ops_ += placed.task.problem->graph().op_count();
  }
  /// Whether posing the plan takes so much of what is left that it must be worth it.
  bool is_dear(const ReplicaPlan& plan) const {
    const double ops = static_cast<double>(plan.replicas.size()) *
                       static_cast<double>(plain_problem_->graph().op_count());
    return !counts_ && posed_op_s_ * ops > kDearPart * left();
  }
  /// A device does all of its replica. kCannotRun where one does not fit. Updates are shared from here on
  /// where that alone leaves the plan a chance.
  double least_of_own_devices_us(ReplicaPlan& plan) {
    double each_us = 0, shared_us = 0;
    std::set<std::pair<std::int64_t, KindId>> known;
    for (const auto& replica : plan.replicas) {
      const DeviceId device = replica.devices.front();
      const KindId kind = cluster_->kind_of(device);
      if (!known.emplace(replica.share, kind).second) continue;
      const SizedModel& model = models_.at_size(replica.share);
      Placed alone;
      alone.task.problem = std::make_shared<const Problem>(model.graph, cluster_, model.costs);
      alone.placement = one_device_placement(*alone.task.problem, device);
      evaluate(alone);
      if (!alone.evaluation.feasible) return kCannotRun;
      const double us = alone.evaluation.objective_us;
      const double others = 1 - 1 / static_cast<double>(plan.replicas.size());
      each_us = std::max(each_us, us);
      shared_us = std::max(shared_us, us - others * shares_.updates_us(replica.share, kind));
    }
    if (each_us >= best_us() && can_share_updates(*models_.whole().graph))
      plan.share_updates = true;
    return plan.share_updates ? shared_us : each_us;
  }
  static Outcome traced(const Tried& tried) {
    Outcome outcome;
    outcome.problem = tried.step.task.problem;
    outcome.replicas = tried.step.task.replicas;
    outcome.trace = Simulator(outcome.problem).trace(tried.step.placement);
    return outcome;
  }

  /// Each replica on its own device, the rest on a host.
  Placement own_devices(const Tried& tried) const {
    const Problem& problem = *tried.step.task.problem;
    const ReplicaFigures& figures = *tried.step.task.replicas;
    const auto classes = problem.finest_groups();
    Placement placement(at(problem.graph().op_count()), 0);
    for (GroupId c = 0; c < classes->count(); ++c) {
      const auto ops = classes->members(c);
      const auto r = at(figures.replica_of[at(ops.front())]);
      const auto runs = [&](DeviceId device) {
        return std::all_of(ops.begin(), ops.end(),
                           [&](OpId op) { return problem.cost_us(op, device) < kCannotRun; });
      };
      DeviceId device = tried.plan.replicas[r].devices.front();
      for (DeviceId other = 0; !runs(device) && other < cluster_->device_count(); ++other) {
        if (runs(other)) device = other;
      }
      for (const OpId op : ops) placement[at(op)] = device;
    }
    return placement;
  }

  /// One replica placed by the policy on its devices.
  Placed placed_one(const ReplicaPlan& plan, double amount) {
    check_alike(plan);
    const auto& first = plan.replicas.front();
    const auto known = placed_.find({first.share, first.devices});
    if (known != placed_.end()) return known->second;
    const SizedModel& model = models_.at_size(first.share);
    Settings settings = inner(amount);
    ConstraintRule rule;
    rule.ops = {{.name = {}, .regex = ".*", .type = {}, .requested_device = {}}};
    rule.devices = device_names(*cluster_, devices_with_hosts(*cluster_, first.devices));
    settings.constraints.push_back(std::move(rule));
    TaskParts parts;
    parts.costs = model.costs;
    Placed one;
    one.task = make_task(engine_, model.graph, cluster_, settings, parts);
    search(one, amount);
    return placed_[{first.share, first.devices}] = std::move(one);
  }
  /// The others alike.
  static Placement mirror(const Tried& tried) {
    Replicated step;
    step.ops_each = tried.one.task.problem->graph().op_count();
    step.model.graph = tried.step.task.problem->shared_graph();
    const auto& of = tried.step.task.replicas->replica_of;
    step.reduction_replica.assign(
        of.begin() + static_cast<std::ptrdiff_t>(at(step.ops_each) * tried.plan.replicas.size()),
        of.end());
    return mirrored(step, tried.plan, tried.one.placement);
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

  // --- The rest of the budget ------------------------------------------------------------------

  /// Successive halving (Karnin, Koren and Somekh, ICML 2013): all that the policy can improve get as much;
  /// the better half goes on.
  void halve() {
    drop_hopeless();
    std::vector<Tried> running;
    std::optional<Tried> lead;
    for (Tried& tried : kept_) {
      if (runs(tried)) {
        running.push_back(std::move(tried));
      } else {
        lead = std::move(tried);
      }
    }
    kept_.clear();
    while (!running.empty() && !stopped()) {
      const auto count = static_cast<double>(running.size());
      const double each = running.size() == 1 ? left() : kRoundPart * left() / count;
      for (Tried& tried : running) {
        if (!stopped()) improve(tried, std::min(each, left()));
      }
      if (running.size() == 1) break;
      std::stable_sort(running.begin(), running.end(), [](const Tried& a, const Tried& b) {
        return better(a.step.evaluation, b.step.evaluation);
      });
      running.resize((running.size() + 1) / 2);
    }
    kept_ = std::move(running);
    if (lead) kept_.push_back(std::move(*lead));
    sort_kept();
  }
  /// The plain step is left out where its bound is above the lead.
  void drop_hopeless() {
    if (kept_.front().plan.replicas.empty()) return;
    std::erase_if(kept_, [&](const Tried& tried) {
      return tried.plan.replicas.empty() && lower_bound(*plain_problem()).us >= best_us();
    });
  }
  /// A plan of groups: one replica, then all.
  void improve(Tried& tried, double amount) {
    const bool grouped = is_grouped(tried.plan);
    if (grouped && search(tried.one, kOnePart * amount)) {
      Placed again;
      again.task = tried.step.task;
      again.placement = mirror(tried);
      evaluate(again);
      if (better(again.evaluation, tried.step.evaluation)) tried.step = std::move(again);
    }
    search(tried.step, grouped ? (1 - kOnePart) * amount : amount);
  }

  // --- The result ------------------------------------------------------------------------------

  Outcome finish() {
    const Placed& best = kept_.front().step;
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
    outcome.search->end = stopped() ? SearchEnd::budget : SearchEnd::done;
    return outcome;
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
  std::chrono::steady_clock::time_point began_;
  std::shared_ptr<const Cluster> cluster_;
  ReplicaModels models_;
  ReplicaShares shares_;
  double posed_op_s_ = 0;  // of a step of replicas, by op
  bool counts_;            // proposals, not seconds
  double budget_;          // in either
  double proposed_ = 0;
  std::uint64_t searches_ = 0;
  std::shared_ptr<const Problem> plain_problem_;
  std::vector<Tried> kept_;  // the best first
  // One replica's ops, by its samples and devices.
  std::map<std::pair<std::int64_t, std::vector<DeviceId>>, Placed> placed_;
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
