#include "auto/contained.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>

#include "auto/chains.h"
#include "auto/known.h"
#include "auto/links.h"
#include "auto/parts.h"
#include "auto/remembering.h"
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
/// On so many devices parts are tried, and passes get more, up to kMostOfPasses, while the latest part of their time still
/// shortened the step by so much. On few devices moves find more in that time: a translation step on 4 was up to 18 %
/// longer after 1 s, NASNet on 8 9 %.
constexpr DeviceId kManyDevices = 17;
constexpr double kRecent = 0.3;
constexpr double kWorth = 0.005;
/// Trials take some twenty steps: passes of `instant` by its best rules on parts of the machine, until so many parts in
/// a row did not help. Of 64 devices in nodes of 8 a graph of 1,860 ops is best on 16.
constexpr const char* kPassesOfTrial = "2";
constexpr double kStepsForTrials = 150;
constexpr int kMostInVain = 2;
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

  /// On many devices, or where links are unlike, tries `trial`, which makes few passes, on ever smaller parts of the
  /// machine and as if links were alike, and `partitioner` on chains; either may be null. Then runs `instant` as long as that pays, on the part that the
  /// best start is of. It goes on from the best of before, not from what was tried: around so good a placement
  /// passes find less than around one that they soon leave behind.
  void run_passes(const Contained& contained, Policy& policy, Policy* trial, Policy* partitioner) {
    from_ = best_;
    if (has_many_devices() || has_unlike_links_) {
      if (partitioner != nullptr && is_quick_enough(kPartitioner)) try_chains(*partitioner);
      if (trial != nullptr && context_.budget_s >= kStepsForTrials * evaluator_.least_s()) {
        try_passes(contained, *trial);
      }
    }
    if (best_part_ != nullptr) {
      try_on_part(contained, policy, best_part_);
    } else {
      run(contained, policy);
    }
    from_ = kNoStart;
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
  static constexpr std::size_t kNoStart = std::numeric_limits<std::size_t>::max();
  /// The last gain of passes that was worth it.
  struct Gain {
    double at_s;
    double us;
  };

  [[nodiscard]] bool has_many_devices() const {
    return problem_.cluster().device_count() >= kManyDevices;
  }

  /// For a policy that begins now.
  [[nodiscard]] PlaceContext context_of(std::string_view name) const {
    PlaceContext inner;
    inner.seed = context_.seed;
    inner.budget_s = context_.budget_s * share_of(name);
    if (name == kInstant && std::isfinite(inner.budget_s))
      inner.budget_s = passes_s(inner.budget_s);
    // The answer of a policy that is stopped while it repairs its own.
    const std::size_t from = std::min(best_, from_);
    if (from < starts_.found.size()) {
      inner.initial.push_back(starts_.found[from].solution.placement);
    }
    const bool limited = std::isfinite(inner.budget_s) && !in_haste();
    if (name == kInstant && limited && has_many_devices()) {
      return while_it_pays(inner);
    }
    inner.should_stop = [this, begin = now_(), limit_s = inner.budget_s] {
      if (context_.stopped()) return true;
      return std::isfinite(limit_s) && now_() - begin >= limit_s;
    };
    return inner;
  }

  /// The context of passes that get up to kMostOfPasses of the budget while they gain.
  [[nodiscard]] PlaceContext while_it_pays(PlaceContext inner) const {
    const double begin = now_();
    const double enough_s = inner.budget_s;
    const auto gain = std::make_shared<Gain>(Gain{begin, kCannotRun});
    inner.budget_s = std::max(inner.budget_s, kMostOfPasses * context_.budget_s);
    inner.progress = [this, gain](double us, const std::string&) {
      if (us < (1 - kWorth) * gain->us) *gain = {now_(), us};
    };
    inner.should_stop = [this, gain, begin, enough_s, most_s = inner.budget_s] {
      const double seconds = now_() - begin;
      if (context_.stopped() || seconds >= most_s) return true;
      return seconds >= enough_s && gain->at_s < begin + (1 - kRecent) * seconds;
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
    return part.holds(starts_.found[best_].solution.placement);
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

  /// Chains of ops, shared out by the partitioner to devices that exchange their parts where links are unlike.
  void try_chains(Policy& partitioner) {
    if (problem_.constraints() != nullptr) return;
    if (const auto chains = chains_of(problem_)) {
      const auto grouped =
          std::make_shared<const Problem>(problem_.shared_graph(), problem_.shared_cluster(),
                                          problem_.shared_costs(), chains, problem_.options());
      try_mapped(cat(kPartitioner, " on chains"), kPartitioner, partitioner, grouped);
    }
  }

  void try_passes(const Contained& contained, Policy& trial) {
    const bool has_parts =
        has_many_devices() && problem_.constraints() == nullptr && part(0) != nullptr;
    if (!has_parts && !has_unlike_links_) return;
    run({cat(contained.text, " at first"), contained.name}, trial);
    int in_vain = 0;
    for (std::size_t i = 0; has_parts && in_vain < kMostInVain && part(i) != nullptr; ++i) {
      const double before_us = best_us_;
      try_on_part(contained, trial, part(i));
      in_vain = best_us_ < before_us ? 0 : in_vain + 1;
    }
    if (has_unlike_links_) {
      try_mapped(cat(contained.text, " as if links were alike"), contained.name, trial,
                 with_links_alike(problem_));
    }
  }

  void try_on_part(const Contained& contained, Policy& policy,
                   const std::shared_ptr<const Part>& part) {
    try {
      run_on_part(contained, policy, part);
    } catch (const Error&) {
      return;  // too large for the part
    }
  }

  /// The policy's answer for another problem of the same ops and devices.
  void try_mapped(std::string from, std::string_view name, Policy& policy,
                  const std::shared_ptr<const Problem>& other) {
    try {
      const auto evaluator = make_simulation_evaluator(other, 1);
      PlaceContext context = context_of(name);
      context.initial.clear();
      Placement placement = policy.place(*evaluator, context).placement;
      if (SuccessiveEvaluator* const counted = evaluator_.successive()) {
        counted->count({0, evaluator->simulated_ops()});
      }
      if (has_unlike_links_) placement = mapped(problem_, placement, context_.seed);
      problem_.validate(placement);
      const std::size_t best = best_;
      add(std::move(from), std::move(placement));
      if (best_ != best) best_part_ = nullptr;
    } catch (const Error&) {
      return;  // too large where groups or links are others
    }
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
    std::erase_if(context.initial,
                  [&](const Placement& placement) { return !part->holds(placement); });
    for (Placement& placement : context.initial) placement = part->from_whole(placement);
    PolicyAnswer answer = policy.place(*evaluator, context);
    if (contained.name == kInstant && in_haste()) starts_.end = answer.end;
    Placement placement = part->to_whole(std::move(answer.placement));
    if (SuccessiveEvaluator* const counted = evaluator_.successive()) {
      counted->count({0, evaluator->simulated_ops()});
    }
    problem_.validate(placement);
    const std::size_t best = best_;
    add(cat(contained.text, " on ", part->devices.size(), " devices"), std::move(placement));
    if (best_ != best) best_part_ = part;
  }

  const Problem& problem_;
  bool has_unlike_links_ = has_unlike_links(problem_);
  Remembering evaluator_;
  const PlaceContext& context_;
  bool may_haste_;
  const Seconds& now_;
  double begin_ = now_();
  double best_us_ = kCannotRun;
  std::size_t best_ = kNoStart;            // of the starts that fit
  std::shared_ptr<const Part> best_part_;  // that it is of; null: of the whole machine
  std::vector<std::shared_ptr<const Part>> parts_;
  DeviceId divisor_ = 2;         // of the next part
  std::size_t from_ = kNoStart;  // the start that passes go on from, if not the best
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
    } else if (each.name == kInstant) {
      OptionTexts few = each.options;
      few.insert_or_assign("passes", kPassesOfTrial);
      const bool tries = skip_missing && is_installed(make, {"", each.name, few});
      const bool parts = tries && is_installed(make, {"", std::string(kPartitioner)});
      collector.run_passes(each, *policy, tries ? make(each.name, few).get() : nullptr,
                           parts ? make(kPartitioner, {}).get() : nullptr);
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
