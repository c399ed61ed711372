// The order of the search: what all plans are like, by one replica of each with its reduction; those that the
// policy can improve, and the plain step, share the time by halving; then the best are posed whole, and the policy
// goes on with the best of all.
//
// Posing a step of replicas takes as long as thousands of proposals. One replica has as many ops as the plain
// step, and a placement of it is one of all.
#include "host/replica_search.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "berth/bounds.h"
#include "berth/error.h"
#include "berth/simulator.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "host/replica_limit.h"
#include "host/replica_shares.h"
#include "host/replica_steps.h"
#include "replicas/folded.h"
#include "replicas/owners.h"
#include "support/units.h"

namespace berth {
namespace {

/// Part of the budget for the plain step before unequal shares are looked for.
constexpr double kPlainPart = 0.2;
/// Part of what is left for each round of the halving but the last, which gets the rest.
constexpr double kRoundPart = 1.0 / 3;
/// Part of the budget that is kept for a whole step of groups.
constexpr double kWholePart = 0.1;
/// A step that is so much slower than the best one will not become the best.
constexpr double kNoChance = 1.1;
/// Posing a plan for what may be a small gain takes at most that part of what is left.
constexpr double kPosingPart = 0.15;
/// The policy comes that near to a bound: what is slower than that will not be the best either.
constexpr double kNearBound = 1.5;
/// A gain of less than this part of a step is not looked for.
constexpr double kLeastGain = 0.02;
constexpr std::int64_t kSomeBytes = 1'000'000;
/// Steps of more ops are not searched any more: in what time there is nothing would come of it.
constexpr OpId kMostPolished = 80'000;

bool before(const Tried& a, const Tried& b) {
  return a.us() < b.us();
}

/// Whether groups of one plan are linked as those of the other, inside and to one another.
bool linked_alike(const ReplicaPlan& a, const ReplicaPlan& b, const Cluster& cluster) {
  const auto inside = [&](const ReplicaPlan& plan) {
    double us = 0;
    std::size_t channels = 0;
    for (const DeviceId from : plan.replicas.front().devices) {
      for (const DeviceId to : plan.replicas.front().devices) {
        if (from == to) continue;
        us += cluster.route(from, to).transfer_us(kSomeBytes);
        channels += cluster.route(from, to).channels.size();
      }
    }
    return std::pair(us, channels);
  };
  const auto around = [&](const ReplicaPlan& plan) {
    double us = 0;
    std::size_t channels = 0;
    for (std::size_t position = 0; position < plan.replicas.front().devices.size(); ++position) {
      const RingLink ring = ring_link(plan, position, cluster);
      us += ring.latency_us + kSomeBytes / ring.bandwidth_bytes_per_s * 1e6;
      channels += ring.channels.size();
    }
    return std::pair(us, channels);
  };
  return inside(a) == inside(b) && around(a) == around(b);
}

class ReplicaSearch {
 public:
  ReplicaSearch(Engine& engine, const std::string& model, const Settings& settings,
                const RunHooks& hooks)
      : model_(model),
        settings_(settings),
        hooks_(hooks),
        cluster_(make_cluster(settings)),
        models_(engine, model, settings, cluster_),
        shares_(models_, *cluster_),
        budget_(settings, hooks, models_),
        steps_(engine, model, settings, hooks, models_, budget_),
        tries_buckets_(*settings.replicate == "auto") {}

  Outcome run() {
    Tried plain = steps_.plain();
    plain_problem_ = plain.one.task.problem;
    if (*settings_.replicate == "auto") {
      run_auto(std::move(plain));
    } else {
      const ReplicaPlan plan = plan_of(*settings_.replicate, *cluster_, models_.batch());
      any_plan_ = true;
      tried_.push_back(steps_.planned(plan));
      const std::size_t count = plan.replicas.size();
      if (tried_.back().is_grouped()) {
        if (*settings_.replicate == std::to_string(count)) add_other_links(count);
        std::swap(tried_, running_);
        halve();
      }
    }
    take_lead();
    return finish();
  }

 private:
  void note(std::string text) {
    if (hooks_.note) hooks_.note(text);
    notes_.push_back(std::move(text));
  }
  double best_us() const {
    double least_us = kCannotRun;
    for (const Tried& tried : tried_) least_us = std::min(least_us, tried.us());
    return least_us;
  }

  // --- Plans -----------------------------------------------------------------------------------

  void run_auto(Tried plain) {
    const std::vector<DeviceId> devices = accelerators(*cluster_);
    const auto most = std::min(devices.size(), static_cast<std::size_t>(models_.batch()));
    std::string none = most < 2 ? "there is one device for them" : "";
    try {
      static_cast<void>(models_.training());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      none = error.what();
    }
    if (!none.empty()) {
      note("no replicas: " + none);
      running_.push_back(std::move(plain));
      return halve();
    }
    any_plan_ = true;
    // However short the budget is, and whatever the policy is.
    if (Tried single = steps_.on_one_device(plain); single.us() < kCannotRun) {
      tried_.push_back(std::move(single));
    }
    const bool alike = are_of_one_kind(devices, *cluster_);
    if (alike) {
      const ReplicaPlan plan = even_plan(*cluster_, most, models_.batch());
      if (is_served(plan)) retire(steps_.planned(plan));
    } else {
      steps_.search(plain.one, kPlainPart * budget_.whole());
      const auto place = static_cast<std::ptrdiff_t>(tried_.size());
      tried_.push_back(std::move(plain));
      unequal(devices);
      plain = std::move(tried_[static_cast<std::size_t>(place)]);
      tried_.erase(tried_.begin() + place);
    }
    plain.bound_us = lower_bound(*plain_problem_).us;
    const double plain_bound_us = plain.bound_us;
    if (plain_bound_us < best_us()) running_.push_back(std::move(plain));
    // Groups of several devices, the largest first: they have the least to reduce.
    for (std::size_t count = 2; count < most && alike; ++count) {
      if (devices.size() % count == 0) add_groups(count, plain_bound_us);
    }
    halve();
  }
  /// Devices of groups that are near one another, or of rings that are; the same on a switch.
  void add_groups(std::size_t count, double plain_bound_us) {
    const ReplicaPlan within = even_plan(*cluster_, count, models_.batch());
    for (const FastLinks links : {FastLinks::within, FastLinks::between}) {
      if (budget_.stopped()) return;
      const ReplicaPlan plan = even_plan(*cluster_, count, models_.batch(), links);
      if (links == FastLinks::between && linked_alike(plan, within, *cluster_)) continue;
      if (!is_served(plan)) continue;
      Tried tried = steps_.planned(plan);
      // With a bound above that of the plain step, nothing is gained by replicas.
      tried.bound_us = lower_bound(tried.one.problem()).us;
      if (tried.bound_us >= std::min(best_us(), plain_bound_us)) {
        saw(plan, cat("takes at least ", format_us(tried.bound_us)));
      } else {
        running_.push_back(std::move(tried));
      }
    }
  }
  /// Whether the model can be had at each share.
  bool is_served(const ReplicaPlan& plan) {
    try {
      for (const auto& replica : plan.replicas) static_cast<void>(models_.share(replica.share));
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      saw(plan, cat("not posed, ", error.what()));
      return false;
    }
  }
  void add_other_links(std::size_t count) {
    const ReplicaPlan plan = even_plan(*cluster_, count, models_.batch(), FastLinks::between);
    if (!(plan == tried_.back().plan)) tried_.push_back(steps_.planned(plan));
  }

  /// Devices of several kinds: shares that let all end together, for all kinds and for the fastest.
  void unequal(const std::vector<DeviceId>& devices) {
    const std::vector<DeviceId> fastest = shares_.by_speed(devices);
    for (std::size_t used = devices.size(); used > 1 && !budget_.stopped(); --used) {
      // The slowest device is left out next.
      std::vector<DeviceId> some(fastest.begin(),
                                 fastest.begin() + static_cast<std::ptrdiff_t>(used));
      if (used < fastest.size() &&
          cluster_->kind_of(some.back()) == cluster_->kind_of(fastest[used])) {
        continue;  // all of a kind, or none
      }
      std::sort(some.begin(), some.end());
      if (const auto plan = shares_.even_ends(some)) improve_shares(*plan);
    }
  }
  /// Moves samples between kinds as the simulated steps say, while that helps.
  void improve_shares(ReplicaPlan plan) {
    for (int round = 0; round < 5 && !budget_.stopped() && is_served(plan); ++round) {
      if (const double us = steps_.alone_us(plan); us >= best_us()) {
        return saw(plan, cat("not posed, a replica takes ", format_us(us)));
      }
      const double least_us = best_us();
      tried_.push_back({.plan = plan});
      pose(tried_.back());
      if (tried_.back().us() >= least_us) return;
      const auto next = shares_.shifted(plan, replica_times(ReplicaSteps::traced(tried_.back())));
      if (!next) return;
      plan = *next;
    }
  }

  void pose(Tried& tried) {
    const auto stage = hooks_.stage ? hooks_.stage(cat(tried.plan.replicas.size(), " replicas"),
                                                   budget_.counts_proposals()
                                                       ? std::numeric_limits<double>::infinity()
                                                       : budget_.left())
                                    : nullptr;
    const double estimate_us = tried.us();
    steps_.pose(tried);
    saw(tried.plan, tried.us() < kCannotRun ? format_us(tried.us()) : "does not fit");
    if (hooks_.progress && tried.us() < estimate_us) {
      hooks_.progress(tried.us(), cat(tried.plan.replicas.size(), " replicas"));
    }
  }
  void saw(const ReplicaPlan& plan, const std::string& what) {
    if (*settings_.replicate != "auto") return;
    seen_ += cat(seen_.empty() ? "" : "; ", plan.text(*cluster_), " ", what);
  }

  // --- The time --------------------------------------------------------------------------------

  /// Successive halving (Karnin, Koren and Somekh, ICML 2013): all that the policy can improve get as much; the
  /// better half goes on, as far as it has a chance against the best so far.
  void halve() {
    drop_most();
    bool first = true;
    while (!running_.empty() && !budget_.stopped()) {
      const double rival_us = best_us();
      const auto count = static_cast<double>(running_.size());
      const double amount = budget_.left() - kept_for_posing_s();
      const bool last = running_.size() == 1 && (!first || rival_us >= expected_us());
      if (amount < budget_.least()) break;
      for (Tried& tried : running_) {
        steps_.search(tried.one, last ? amount : kRoundPart * amount / count);
      }
      std::stable_sort(running_.begin(), running_.end(), before);
      if (last) break;
      first = false;
      const double least_us = std::min(rival_us, running_.front().us());
      for (std::size_t left = (running_.size() + 1) / 2;
           running_.size() > left ||
           (!running_.empty() && running_.back().us() > kNoChance * least_us);) {
        retire(std::move(running_.back()));
        running_.pop_back();
      }
      // The last one gets all that is left, when it is known what it has to beat.
      if (running_.size() == 1 && best_us() < running_.front().us()) pose_best();
    }
    for (Tried& tried : running_) retire(std::move(tried));
    running_.clear();
  }
  /// Leaves out those whose turns would be too short: the worst bounds first, and the plain step never.
  void drop_most() {
    const double amount = kRoundPart * (budget_.left() - kept_for_posing_s());
    const auto most = static_cast<std::size_t>(std::max(1.0, amount / budget_.least()));
    std::stable_sort(running_.begin(), running_.end(), [](const Tried& a, const Tried& b) {
      return a.is_plain() != b.is_plain() ? a.is_plain() : a.bound_us < b.bound_us;
    });
    if (running_.size() > most) running_.resize(most);
  }
  /// Posing cannot be stopped. The whole step of groups is improved, too, and posed with shared updates. Those that run
  /// may become the best.
  double kept_for_posing_s() {
    const bool counts = budget_.counts_proposals();
    const int times = can_share_updates(*models_.whole().graph) ? 2 : 1;
    double kept = 0;
    for (const Tried& tried : running_) {
      if (!tried.is_grouped()) continue;
      const double posing_s = counts ? 0 : times * steps_.posing_s(tried.plan);
      kept = std::max(kept, kWholePart * budget_.whole() + posing_s);
    }
    const auto best = std::min_element(tried_.begin(), tried_.end(), before);
    if (counts || best == tried_.end() || best->is_posed() || best->us() >= expected_us()) {
      return kept;
    }
    return std::max(kept, steps_.posing_s(best->plan));
  }
  /// The best of those that run; before it is placed, what the policy makes of its bound at the worst.
  double expected_us() const {
    double least_us = kCannotRun;
    for (const Tried& tried : running_) {
      const double us = tried.us() < kCannotRun ? tried.us() : kNearBound * tried.bound_us;
      least_us = std::min(least_us, us);
    }
    return least_us;
  }
  /// It gets no more time, and is a plan as any other.
  void retire(Tried tried) {
    const double us = tried.us();
    if (!tried.is_plain())
      saw(tried.plan, us < kCannotRun ? "about " + format_us(us) : "does not fit");
    tried_.push_back(std::move(tried));
  }

  // --- The lead --------------------------------------------------------------------------------

  /// The best becomes the only one, and gets what is left.
  void take_lead() {
    for (Tried& tried : tried_) {
      // However short the budget is.
      const bool searched = tried.is_plain() || tried.is_grouped();
      if (best_us() == kCannotRun && searched)
        steps_.search(tried.one, std::max(0.0, budget_.left()));
    }
    pose_best();
    std::swap(tried_.front(), *std::min_element(tried_.begin(), tried_.end(), before));
    tried_.resize(1);
    Tried& lead = tried_.front();
    const bool runs = lead.is_plain() ||
                      (lead.is_posed() && lead.step.problem().graph().op_count() <= kMostPolished);
    if (runs && !budget_.stopped()) steps_.search(lead.whole(), budget_.left());
  }
  /// Poses what may be the best of those that get no more time, until the best of them is posed.
  void pose_best() {
    for (;;) {
      add_variants();
      const auto best = std::min_element(tried_.begin(), tried_.end(), before);
      if (best->is_posed() || !best->can_be_posed()) break;
      const bool other = std::any_of(tried_.begin(), tried_.end(), [](const Tried& tried) {
        return tried.is_posed() && tried.us() < kCannotRun;
      });
      if (other && is_dear(*best, 1)) {
        tried_.erase(best);
      } else {
        pose(*best);
      }
    }
    if (!tries_buckets_) return;
    tries_buckets_ = false;
    try_buckets();
  }
  /// Whether posing takes more than a part of what is left, where that is a time.
  bool is_dear(const Tried& tried, double part) {
    return !budget_.counts_proposals() && steps_.posing_s(tried.plan) > part * budget_.left();
  }

  /// Shared updates where they may make a plan the best.
  void add_variants() {
    if (*settings_.replicate != "auto") return;
    if (!can_share_updates(*models_.whole().graph)) return;
    std::vector<Tried> more;
    for (Tried& tried : tried_) {
      if (tried.is_plain() || tried.varied) continue;
      const auto& first = tried.plan.replicas.front();
      const KindId kind = cluster_->kind_of(first.devices.front());
      const double others = 1 - 1 / static_cast<double>(tried.plan.replicas.size());
      const double saves_us = others * shares_.updates_us(first.share, kind) /
                              static_cast<double>(first.devices.size());
      const double guess_us = tried.us() - saves_us;
      if (saves_us < kLeastGain * tried.us() || guess_us >= best_us()) continue;
      // A guess for single devices is a poor one: their best is posed as it is first. Shared updates of groups
      // save more than their work, as a group reduces small gradients one by one; the best of them is enough.
      if (!tried.is_posed() && tried.is_grouped() != (tried.us() <= best_us())) continue;
      tried.varied = true;
      Tried shared = tried;
      shared.plan.share_updates = true;
      shared.step = {};
      shared.guess_us = guess_us;
      more.push_back(std::move(shared));
    }
    std::move(more.begin(), more.end(), std::back_inserter(tried_));
  }
  /// Larger buckets wait longer, and lose less in latencies: of the best, if it waits for its reduction. An estimate
  /// knows nothing of buckets that wait for one another.
  void try_buckets() {
    const Tried best = *std::min_element(tried_.begin(), tried_.end(), before);
    if (best.is_plain() || best.is_grouped() || !best.is_posed()) return;
    if (best.us() < (1 + kLeastGain) * steps_.alone_us(best.plan)) return;
    for (const std::int64_t bytes : {32'000'000, 2'000'000}) {
      if (budget_.stopped() || is_dear(best, kPosingPart)) return;
      Tried other{.plan = best.plan};
      other.plan.bucket_bytes = bytes;
      other.varied = true;
      tried_.push_back(std::move(other));
      pose(tried_.back());
    }
  }

  // --- The result ------------------------------------------------------------------------------

  Outcome finish() {
    Tried& lead = tried_.front();
    const Placed& best = lead.whole();
    if (best.placement.empty()) {
      throw steps_.nothing_fits().value_or(Error(ErrorCode::infeasible, "no plan fits"));
    }
    Outcome outcome;
    outcome.problem = best.task.problem;
    outcome.placement = best.placement;
    outcome.evaluation = best.evaluation;
    outcome.trace = Simulator(best.task.problem).trace(best.placement);
    outcome.replicas = best.task.replicas;
    outcome.notes = models_.notes();
    for (const std::string& said : outcome.notes) {
      if (hooks_.note) hooks_.note(said);
    }
    outcome.origin.model = model_;
    outcome.origin.policy = settings_.policy.value_or("auto");
    outcome.origin.seed = settings_.seed.value_or(hooks_.seed);
    outcome.origin.settings = best.task.settings;
    outcome.search.emplace();
    const bool cancelled = hooks_.should_stop && hooks_.should_stop();
    outcome.search->end = cancelled           ? SearchEnd::cancelled
                          : budget_.stopped() ? SearchEnd::budget
                                              : SearchEnd::done;
    compare_with_one_device(plain_problem_, outcome);
    note_policy(lead);
    if (lead.is_plain() && any_plan_) {
      note("a placement of whole ops is faster than the replicas that were found");
    }
    if (settings_.bound != BoundEffort::none) bound(outcome);
    if (!seen_.empty()) note("plans tried: " + seen_);
    outcome.notes.insert(outcome.notes.end(), notes_.begin(), notes_.end());
    outcome.search->evaluations = steps_.evaluations();
    outcome.search->simulated_ops = steps_.simulated_ops();
    outcome.search->wall_s = budget_.wall_s();
    return outcome;
  }

  /// A placement with each replica on its own device is not the policy's, which the result names.
  void note_policy(Tried& lead) {
    if (lead.is_plain() || lead.is_grouped() || lead.whole().improved) return;
    note(cat("each replica is on the device that the plan names: policy '",
             settings_.policy.value_or("auto"),
             lead.whole().longest > 0 ? "' found nothing better" : "' had no time for more"));
  }
  void bound(Outcome& outcome) {
    const BoundEffort effort = bound_effort(settings_);
    constexpr double kUnbounded_s = std::numeric_limits<double>::infinity();
    bool cut_short = false;
    const auto should_stop =
        [&, stop = bound_stop(hooks_.should_stop, settings_.budget_s.value_or(kUnbounded_s))] {
          cut_short = cut_short || stop();
          return cut_short;
        };
    const LowerBound plain = lower_bound(*plain_problem_, effort, should_stop);
    if (!any_plan_) {
      outcome.bound = plain;
      return;
    }
    const ReplicaBound found = limit_of_plans(models_, shares_, plain.us, effort, should_stop);
    outcome.bound = {found.us, found.basis, cut_short};
  }

  const std::string& model_;
  const Settings& settings_;
  const RunHooks& hooks_;
  std::shared_ptr<const Cluster> cluster_;
  ReplicaModels models_;
  ReplicaShares shares_;
  ReplicaBudget budget_;
  ReplicaSteps steps_;
  std::shared_ptr<const Problem> plain_problem_;
  std::vector<Tried> running_;  // the policy improves them
  std::vector<Tried> tried_;    // the others
  bool any_plan_ = false;
  bool tries_buckets_;
  std::vector<std::string> notes_;
  std::string seen_;
};

}  // namespace

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
