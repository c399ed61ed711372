#include "auto/contained.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string_view>

#include "auto/known.h"
#include "berth/error.h"
#include "berth/sdk/named_policy.h"
#include "berth/sdk/repair.h"
#include "berth/support/clock.h"
#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth::policies::auto_policy {
namespace {

// In haste a budget is so short that a search would hardly begin: to prepare one takes some forty steps, and single
// moves find little in a few hundred more. A pass of `instant` decides all groups anew in the time of a few steps.
/// Steps below which there is no search, and the share of a longer budget that passes get, both for graphs of at most
/// kFewOps. Of larger ones a search judges moves by contracted steps, which take the smaller a part of a whole one: with 0.3
/// of 250 steps for passes Inception-V3's training step of 13,063 ops is 6 % longer, and family graphs of 2,000 are 3 % shorter.
constexpr double kHastySteps = 400;
constexpr double kShareOfInstant = 0.15;
constexpr double kFewOps = 5000;
/// The most steps that passes last beside a search. Only a small problem has time for more, in a long budget, and the
/// policies that come next may prove its best placement at once.
constexpr double kMostStepsOfPasses = 100'000;
/// Passes get at least so many steps, up to half of the budget: the first two, from nothing, are worth more where steps
/// are slow than all else that there is time for. Of a layered graph of 100,000 ops they find more than a search does in
/// 400 steps, so graphs of more than kManyOps have the more passes.
constexpr double kStepsOfPasses = 12;
constexpr double kStepsOfPassesPerDevice = 0.15;
constexpr double kMostOfPasses = 0.5;
constexpr double kManyOps = 20'000;
/// In haste others are asked where the budget is so many times what they take.
constexpr double kTimesWhatOthersTake = 7;
constexpr std::string_view kInstant = "instant";

/// `exact` simulates all the time: not where that would measure, nor for more groups, at the finest.
constexpr std::string_view kExact = "exact";
constexpr GroupId kMostExactGroups = 48;
/// After so much of the budget no further quick policy is run, none on a part of the machine, and nothing
/// else, once anything fits. With twice as much six training steps of 13,000 to 17,000 ops are 5 % longer after 1 s
/// (median; -1 to +10 %).
constexpr double kShareOfQuick = 0.3;
constexpr double kShareOfParts = 0.2;
constexpr double kShareOfAll = 0.2;

/// A list scheduler that takes no longer than a partitioner, and the best partitioner: whose answer is
/// the better one says who else is worth the time of a short budget. Where it is the first, the second
/// of such schedulers comes at once, and has more of the budget than others: on NASNetLarge's training
/// step it needs 0.13 s, and is up to 41 % better than what a quarter of a second gives without it. Where
/// it is the partitioner, its divisions into phases and of parts of the machine are the better ones.
constexpr std::string_view kListScheduler = "heft";
constexpr std::string_view kPartitioner = "metis";
constexpr std::string_view kSecondListScheduler = "m-etf";
constexpr double kShareOfSecond = 0.55;
/// Goes on from the best placement so far and tries every device: on the machine part the best placement uses.
constexpr std::string_view kLookAhead = "lookahead";
/// A policy that fails within this share of its time has given up.
constexpr double kAtOnce = 0.5;

/// Puts the policy of that name behind the one at `i`, if it is to come later.
void bring_next(std::vector<Contained>& order, std::size_t i, std::string_view name) {
  const auto next = order.begin() + static_cast<std::ptrdiff_t>(i) + 1;
  const auto found =
      std::find_if(next, order.end(), [&](const Contained& each) { return each.name == name; });
  if (found != order.end()) std::rotate(next, found, found + 1);
}

/// Knows what it was asked before: in a short budget the same placement is evaluated by the policy that made it, by the
/// collector, and by whoever goes on from it. Measures how long an evaluation takes.
class Remembering final : public Evaluator {
 public:
  Remembering(Evaluator& evaluator, const Seconds& now) : evaluator_(evaluator), now_(now) {}

  using Evaluator::evaluate;
  void evaluate(std::span<const Placement> placements, std::span<Evaluation> out) override {
    const bool one = placements.size() == 1 && out.size() == 1;
    if (!one) return evaluator_.evaluate(placements, out);
    const auto same = std::find_if(seen_.begin(), seen_.end(), [&](const Seen& each) {
      return each.placement == placements.front();
    });
    if (same != seen_.end()) {
      out.front() = same->evaluation;
      return;
    }
    const double before = now_();
    evaluator_.evaluate(placements, out);
    least_s_ = std::min(least_s_, now_() - before);
    if (measures()) return;  // no two measurements are the same
    const bool best = seen_.empty() || better(out.front(), seen_.front().evaluation);
    seen_.insert(seen_.begin() + (best ? 0 : 1), {placements.front(), out.front()});
    if (seen_.size() > kMost) seen_.pop_back();
  }
  const Problem& problem() const noexcept override { return evaluator_.problem(); }
  bool measures() const noexcept override { return evaluator_.measures(); }
  std::int64_t evaluations() const noexcept override { return evaluator_.evaluations(); }
  std::int64_t simulated_ops() const noexcept override { return evaluator_.simulated_ops(); }
  SuccessiveEvaluator* successive() noexcept override { return evaluator_.successive(); }

  /// The quickest evaluation of one placement; infinity before there was one.
  [[nodiscard]] double least_s() const noexcept { return least_s_; }

 private:
  struct Seen {
    Placement placement;
    Evaluation evaluation;
  };
  static constexpr std::size_t kMost = 4;

  Evaluator& evaluator_;
  const Seconds& now_;
  std::vector<Seen> seen_;  // the best, then the last ones
  double least_s_ = std::numeric_limits<double>::infinity();
};

/// A problem on some of its devices.
struct Part {
  std::shared_ptr<const Problem> problem;
  std::vector<DeviceId> devices;  ///< by device of the part

  [[nodiscard]] Placement to_whole(Placement placement) const {
    for (DeviceId& device : placement) device = devices[at(device)];
    return placement;
  }
  /// Shrinks a placement that uses no other devices.
  [[nodiscard]] Placement from_whole(Placement placement) const {
    for (DeviceId& device : placement) {
      device = static_cast<DeviceId>(std::lower_bound(devices.begin(), devices.end(), device) -
                                     devices.begin());
    }
    return placement;
  }
};

/// The problem on the hosts and on one of `divisor` of the devices of every other kind, rounded up,
/// the first ones.
Part part_of_machine(const Problem& problem, DeviceId divisor) {
  const Cluster& cluster = problem.cluster();
  std::vector<DeviceId> wanted(at(cluster.kind_count()), 0);
  for (DeviceId d = 0; d < cluster.device_count(); ++d) ++wanted[at(cluster.kind_of(d))];
  for (DeviceId& count : wanted) count = (count + divisor - 1) / divisor;
  Part part;
  std::vector<Device> devices;
  std::set<std::string> names{"*"};
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    const Device& device = cluster.device(d);
    if (!device.host && wanted[at(cluster.kind_of(d))]-- <= 0) continue;
    part.devices.push_back(d);
    devices.push_back(device);
    names.insert(device.name);
  }
  std::vector<LinkSpec> links;
  for (const LinkSpec& link : cluster.links()) {
    if (names.contains(link.src) && names.contains(link.dst)) links.push_back(link);
  }
  // The first device of every kind is kept, so kinds have the numbers that the costs know.
  part.problem = std::make_shared<const Problem>(
      problem.shared_graph(),
      std::make_shared<const Cluster>(cluster.name(), std::move(devices), links),
      problem.shared_costs(), problem.shared_groups(), problem.options());
  return part;
}

class Collector {
 public:
  /// With `may_haste` a budget that is too short for a search goes to the policies that need none.
  Collector(const Problem& problem, Evaluator& evaluator, const PlaceContext& context,
            bool may_haste, const Seconds& now)
      : problem_(problem),
        evaluator_(evaluator, now),
        context_(context),
        may_haste_(may_haste),
        now_(now) {}

  void add(std::string from, Placement placement) {
    const Evaluation evaluation = evaluator_.evaluate(placement);
    const bool refused = !evaluation.feasible && evaluation.excess_bytes == 0;
    Solution solution{std::move(placement), evaluation.objective_us, evaluation.excess_bytes,
                      refused};
    if (evaluation.feasible && solution.objective_us < best_us_) {
      best_us_ = solution.objective_us;
      best_ = starts_.found.size();
      best_part_ = nullptr;
      if (context_.progress) context_.progress(best_us_, "from " + from);
    }
    starts_.found.push_back({std::move(from), std::move(solution)});
  }

  void run(const Contained& contained, Policy& policy) {
    try {
      PolicyAnswer answer = policy.place(evaluator_, context_of(contained.name));
      problem_.validate(answer.placement);
      if (contained.name == kInstant && in_haste()) starts_.end = answer.end;
      add(contained.text, std::move(answer.placement));
      if (!evaluator_.measures() && answer.proven.us > starts_.proven.us) {
        starts_.proven = std::move(answer.proven);
      }
    } catch (const Error& error) {
      fail(contained.text, error);
    }
  }

  /// Runs some of `policies` on half of the machine, on a quarter, and so on, each as long as that
  /// helps: what they spread over all of it can be slower. Not under constraints, which name devices
  /// of all of it.
  void run_on_parts(const PolicyMaker& make, const std::vector<Contained>& policies) {
    if (problem_.constraints() != nullptr) return;
    for (const Contained& each : policies) {
      if (!known(each.text).on_parts) continue;
      try {
        run_on_parts(each, *make(each.name, each.options));
      } catch (const Error&) {
        continue;  // not installed
      }
    }
  }

  /// On parts of the machine too, if its answer for all of it is the best so far.
  void run_best_on_parts(const Contained& contained, Policy& policy) {
    if (problem_.constraints() != nullptr) return;
    if (best_from(contained.text)) run_on_parts(contained, policy);
  }

  /// On the part of the machine that the best start is of, or on all of it. Where it gives up at once,
  /// since so many devices take too long, on ever smaller parts, if the best start uses no others.
  void run_within_best(const Contained& contained, Policy& policy) {
    std::size_t next = 0;  // part
    if (best_part_ != nullptr) {
      next = at(std::find(parts_.begin(), parts_.end(), best_part_) - parts_.begin()) + 1;
    }
    const double given_s = context_.budget_s * share_of(contained.name);
    for (std::shared_ptr<const Part> within = best_part_;; within = part(next++)) {
      const double begin = now_();
      const double least_us = best_us_;
      try {
        if (within != nullptr) {
          run_on_part(contained, policy, within);
        } else {
          run(contained, policy);
        }
      } catch (const Error& error) {
        return fail(contained.text, error);
      }
      const double seconds = now_() - begin;
      const bool gave_up = std::isfinite(given_s) && seconds < kAtOnce * given_s;
      if (best_us_ < least_us || !gave_up || enough(kShareOfQuick)) return;
      if (problem_.constraints() != nullptr || part(next) == nullptr) return;
      if (!holds_best(*part(next))) return;
    }
  }

  [[nodiscard]] double share_of(std::string_view name) const {
    if (is_promising(name)) return kShareOfSecond;
    if (name == kInstant) return kShareOfInstant * passes_worth();
    const Known& policy = known(name);
    if (problem_.options().objective == Objective::throughput) return policy.throughput_share;
    if (policy.least_s == 0) return policy.share;
    return std::clamp(policy.least_s / context_.budget_s, policy.share, kShareOfOne);
  }

  void fail(const std::string& name, const Error& error) {
    starts_.failures.push_back(name + ": " + error.what());
  }

  /// The fastest device for every group, whatever it holds.
  void add_careless() {
    GroupPlacement placement;
    for (GroupId group = 0; group < problem_.groups().count(); ++group) {
      DeviceId fastest = 0;
      for (DeviceId device = 1; device < problem_.cluster().device_count(); ++device) {
        if (problem_.group_cost_us(group, device) < problem_.group_cost_us(group, fastest)) {
          fastest = device;
        }
      }
      placement.push_back(fastest);
    }
    keep_to_kinds(problem_, placement);
    add("the fastest devices", problem_.groups().expand(placement));
  }

  /// Whether the best start so far is the policy's.
  [[nodiscard]] bool best_from(std::string_view text) const {
    return best_ < starts_.found.size() && starts_.found[best_].from == text;
  }
  /// Whether it is the second list scheduler, and the first has the best start so far.
  [[nodiscard]] bool is_promising(std::string_view name) const {
    return name == kSecondListScheduler && best_from(kListScheduler);
  }
  [[nodiscard]] bool anything_fits() const { return std::isfinite(best_us_); }
  /// Whether the starts have had so much of the budget, or there is nothing left to find.
  [[nodiscard]] bool enough(double share) const {
    const double seconds = now_() - begin_;
    return anything_fits() &&
           (is_optimal() || context_.stopped() || seconds >= share * context_.budget_s);
  }
  /// Whether to run it unless a user asks for it.
  [[nodiscard]] bool is_useful(std::string_view name) const {
    if (name == kInstant) {  // it estimates steps, and evaluates each of many passes
      return problem_.options().objective == Objective::latency && !evaluator_.measures();
    }
    return name != kExact ||
           (!evaluator_.measures() && problem_.groups().count() <= kMostExactGroups &&
            problem_.finest_groups()->count() <= kMostExactGroups);
  }
  /// The worth of passes beside a search, 1 for small graphs.
  [[nodiscard]] double passes_worth() const {
    return std::min(1.0, kFewOps / problem_.graph().op_count());
  }
  /// Whether the budget is too short for a search of steps. Known once a placement was evaluated.
  [[nodiscard]] bool in_haste() const {
    return may_haste_ && is_useful(kInstant) && !starts_.found.empty() &&
           context_.budget_s < kHastySteps * std::sqrt(passes_worth()) * evaluator_.least_s();
  }
  /// Whether it is to be run, however short the budget is. Where there are passes, one that would be cut off is worth
  /// less than the time that it takes from them.
  [[nodiscard]] bool is_quick_enough(std::string_view text) const {
    if (!may_haste_ || !is_useful(kInstant) || starts_.found.empty()) return true;
    const Known& policy = known(text);
    const double seconds = takes_s(policy);
    if (in_haste()) return policy.quickest && kTimesWhatOthersTake * seconds <= context_.budget_s;
    return !anything_fits() || !std::isfinite(seconds) ||
           seconds <= kShareOfOne * context_.budget_s;
  }
  [[nodiscard]] bool is_optimal() const {
    constexpr double kRounding = 1e-9;
    return anything_fits() && best_us_ <= starts_.proven.us * (1 + kRounding);
  }
  [[nodiscard]] Starts take() {
    starts_.step_s = std::isfinite(evaluator_.least_s()) ? evaluator_.least_s() : 0;
    starts_.optimal = is_optimal();
    starts_.hasty = in_haste();
    return std::move(starts_);
  }

 private:
  /// For a policy that begins now.
  [[nodiscard]] PlaceContext context_of(std::string_view name) const {
    PlaceContext inner;
    inner.seed = context_.seed;
    inner.budget_s = context_.budget_s * share_of(name);
    if (name == kInstant && std::isfinite(inner.budget_s))
      inner.budget_s = passes_s(inner.budget_s);
    // The answer of a policy that is stopped while it repairs its own.
    if (best_ < starts_.found.size()) {
      inner.initial.push_back(starts_.found[best_].solution.placement);
    }
    inner.should_stop = [this, begin = now_(), limit_s = inner.budget_s] {
      if (context_.stopped()) return true;
      return std::isfinite(limit_s) && now_() - begin >= limit_s;
    };
    return inner;
  }

  /// The seconds that passes get beside a search whose share for them is `share_s`, or of a budget in haste.
  [[nodiscard]] double passes_s(double share_s) const {
    const double left_s = std::max(0.0, context_.budget_s - (now_() - begin_));
    if (in_haste()) return left_s;
    const double step_s = evaluator_.least_s();
    if (!std::isfinite(step_s)) return share_s;
    const double steps =
        kStepsOfPasses + kStepsOfPassesPerDevice * problem_.cluster().device_count();
    const double many = std::max(1.0, problem_.graph().op_count() / kManyOps);
    const double least_s = std::min(many * steps * step_s, kMostOfPasses * context_.budget_s);
    return std::min(std::clamp(share_s, least_s, std::max(least_s, kMostStepsOfPasses * step_s)),
                    left_s);
  }

  /// Infinity where nothing is known of it.
  [[nodiscard]] double takes_s(const Known& policy) const {
    const double steps =
        policy.takes_steps + policy.takes_steps_per_device * problem_.cluster().device_count();
    return steps * evaluator_.least_s() + policy.takes_s;
  }

  [[nodiscard]] bool holds_best(const Part& part) const {
    if (best_ >= starts_.found.size()) return false;
    const Placement& best = starts_.found[best_].solution.placement;
    return std::all_of(best.begin(), best.end(), [&](DeviceId device) {
      return std::binary_search(part.devices.begin(), part.devices.end(), device);
    });
  }

  /// Half of the machine, a quarter, and so on, as long as some kind has several devices; then null.
  std::shared_ptr<const Part> part(std::size_t number) {
    for (; parts_.size() <= number; divisor_ *= 2) {
      auto part = std::make_shared<const Part>(part_of_machine(problem_, divisor_));
      const Cluster& cluster = part->problem->cluster();
      const DeviceId larger = parts_.empty() ? problem_.cluster().device_count()
                                             : parts_.back()->problem->cluster().device_count();
      if (cluster.device_count() == larger) return nullptr;
      if (cluster.device_count() == cluster.kind_count()) return nullptr;
      parts_.push_back(std::move(part));
    }
    return parts_[number];
  }

  void run_on_parts(const Contained& contained, Policy& policy) {
    double least_us = found_us(contained.text);
    for (std::size_t i = 0; !enough(kShareOfParts); ++i) {
      const auto part = this->part(i);
      if (part == nullptr) return;
      try {
        run_on_part(contained, policy, part);
      } catch (const Error&) {
        return;  // too large for the part
      }
      const Solution& found = starts_.found.back().solution;
      if (!found.fits() || found.objective_us >= least_us) return;
      least_us = found.objective_us;
    }
  }

  /// The objective of a policy's start; infinity if there is none that fits.
  [[nodiscard]] double found_us(std::string_view from) const {
    const auto start = std::find_if(starts_.found.begin(), starts_.found.end(),
                                    [&](const Start& each) { return each.from == from; });
    if (start == starts_.found.end() || !start->solution.fits()) return kCannotRun;
    return start->solution.objective_us;
  }

  void run_on_part(const Contained& contained, Policy& policy,
                   const std::shared_ptr<const Part>& part) {
    const auto evaluator = make_simulation_evaluator(part->problem, 1);
    PlaceContext context = context_of(contained.name);
    if (holds_best(*part)) {
      for (Placement& placement : context.initial) placement = part->from_whole(placement);
    } else {
      context.initial.clear();
    }
    Placement placement = part->to_whole(policy.place(*evaluator, context).placement);
    if (SuccessiveEvaluator* const counted = evaluator_.successive()) {
      counted->count({0, evaluator->simulated_ops()});
    }
    problem_.validate(placement);
    const std::size_t best = best_;
    add(cat(contained.text, " on ", part->devices.size(), " devices"), std::move(placement));
    if (best_ != best) best_part_ = part;
  }

  const Problem& problem_;
  Remembering evaluator_;
  const PlaceContext& context_;
  bool may_haste_;
  const Seconds& now_;
  double begin_ = now_();
  double best_us_ = kCannotRun;
  std::size_t best_ = std::numeric_limits<std::size_t>::max();  // of the starts that fit
  std::shared_ptr<const Part> best_part_;  // that it is of; null: of the whole machine
  std::vector<std::shared_ptr<const Part>> parts_;
  DeviceId divisor_ = 2;  // of the next part
  Starts starts_;
};

bool is_installed(const PolicyMaker& make, const Contained& policy) {
  try {
    static_cast<void>(make(policy.name, policy.options));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

double steady_seconds() {
  static const auto begin = std::chrono::steady_clock::now();
  return seconds_since(begin);
}

std::vector<Contained> contained_policies(std::string_view list) {
  std::vector<Contained> all;
  for (const std::string& text : split_names(list)) {
    try {
      NamedPolicy named = parse_named_policy(text);
      all.push_back({text, std::move(named.name), std::move(named.options)});
    } catch (const Error& error) {
      throw Error(error.code(), cat("policy 'auto': option 'from': ", error.what()));
    }
  }
  return all;
}

Starts collect_starts(const PolicyMaker& make, const std::vector<Contained>& policies,
                      bool skip_missing, const Problem& problem, Evaluator& evaluator,
                      const PlaceContext& context, const Seconds& now) {
  const bool has_instant = std::any_of(
      policies.begin(), policies.end(),
      [&](const Contained& each) { return each.name == kInstant && is_installed(make, each); });
  Collector collector(problem, evaluator, context, skip_missing && has_instant, now);
  for (const Placement& placement : context.initial) {
    collector.add("a given placement", placement);
  }
  bool parts_done = false;
  const auto run_on_parts = [&] {
    if (!parts_done) collector.run_on_parts(make, policies);
    parts_done = true;
  };
  std::vector<Contained> order = policies;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Contained& each = order[i];
    if (skip_missing && !collector.is_useful(each.name)) continue;
    if (!collector.is_quick_enough(each.text)) continue;
    if (!known(each.text).quickest && !collector.is_promising(each.name)) run_on_parts();
    const bool quick = !known(each.name).slow;
    const bool is_due = each.name == kInstant;  // whatever the policies before it took
    if (collector.enough(is_due ? 1 : quick ? kShareOfQuick : kShareOfAll)) continue;
    std::unique_ptr<Policy> policy;
    try {
      policy = make(each.name, each.options);
    } catch (const Error& error) {
      if (!skip_missing || error.code() != ErrorCode::not_found) throw;
      continue;
    }
    if (each.name == kLookAhead) {
      collector.run_within_best(each, *policy);
    } else {
      collector.run(each, *policy);
      if (parts_done && quick) collector.run_best_on_parts(each, *policy);
    }
    if (each.text == kPartitioner && collector.best_from(kListScheduler)) {
      bring_next(order, i, kSecondListScheduler);
    }
  }
  if (!collector.in_haste()) run_on_parts();
  if (!collector.anything_fits()) collector.add_careless();
  return collector.take();
}

}  // namespace berth::policies::auto_policy
