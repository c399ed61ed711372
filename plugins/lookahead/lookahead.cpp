// Placement by looking ahead, without learning: one group after another goes to the device with which
// the step, simulated for each of them, is shortest. First the problem as a few large groups, which
// finds how to divide a network as a whole; then ever more of them; then as few other groups at a time
// around the best placement (large neighbourhood search; Shaw, CP 1998), drawn by how much longer the
// step would be. It is what `placeto` does with fresh weights, without the network, so it is also the
// control of that.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "berth/constraints.h"
#include "berth/plugin.h"
#include "berth/sdk/environment.h"
#include "berth/sdk/neighbourhoods.h"
#include "berth/sdk/repair.h"
#include "berth/support/index.h"

namespace berth::policies::lookahead {
namespace {

/// The numbers of groups that the first placements have.
constexpr GroupId kCoarse[] = {8, 16, 32};
/// More of them are hardly better where fewer are so much worse than a placement given.
constexpr double kHopeless = 1.05;
/// Budget share: a pass over the fewest groups that might take longer is not begun.
constexpr double kShareOfPass = 0.3;

// How likely a device is, by how much longer the step is with the group there than on the best one, in
// units of a group's mean share of the step: where it is longer by a hundredth of that, it is half as
// likely, by a tenth one in 30, by all of it one in 20,000.
constexpr double kWorse = 4;
constexpr double kSlightlyWorse = 2;
constexpr double kOverflow = 4;
constexpr double kWorst = 4;

/// Thrown out of decisions that are to end.
struct Ended {};

/// The weight of one device, between 0 and 1.
double weight(const Score& to, double least_us, double groups, double memory_bytes) {
  double worse = kWorst;
  if (to.objective_us < kCannotRun && least_us > 0) {
    worse = std::min(kWorst, (to.objective_us / least_us - 1) * groups);
  }
  double cost = kWorse * worse + kSlightlyWorse * std::min(kWorst, std::log2(1 + 64 * worse) / 2);
  if (to.excess_bytes > 0) {
    const double excess = static_cast<double>(to.excess_bytes) / std::max(memory_bytes, 1.0);
    cost += kOverflow * std::min(kWorst, 0.5 + 4 * excess);
  }
  return std::exp(-cost);
}

/// The devices of groups, one after another.
class Decisions {
 public:
  explicit Decisions(const PlaceContext& context) : context_(context) {}

  /// `greedy`: the likeliest device, and no draws.
  Decided decide(Evaluator& within, GroupPlacement start, bool greedy, std::uint64_t seed) {
    const Problem& problem = within.problem();
    Random random(seed);
    Decided decided;
    Environment environment({&within}, {/*starts=*/false, /*alternatives=*/true, [this] {
                                          if (context_.stopped()) throw Ended{};
                                        }});
    const auto note = [&](Judged& into) {
      const Environment::Episode& now = environment.episode(0);
      into.take(problem.groups().expand(now.placement), now.evaluation);
    };
    const EpisodeStart from{0, std::move(start),
                            traversal_order(problem.groups(), Traversal::topological, random)};
    try {
      environment.begin({&from, 1});
      environment.run([&](std::size_t) {
        note(decided.best);
        return choose(environment.episode(0), greedy, random);
      });
    } catch (const Ended&) {
      return decided;
    }
    note(decided.best);
    note(decided.last);
    return decided;
  }

  /// Greedy passes from `start` until one brings nothing.
  Judged pass(Evaluator& within, GroupPlacement start) {
    Judged best;
    for (bool better = true; better && !context_.stopped();) {
      const Decided decided = decide(within, std::move(start), /*greedy=*/true, /*seed=*/0);
      if (decided.best.placement.empty()) break;
      better = best.take(decided.best.placement, decided.best.evaluation);
      start = group_placement(within.problem(), best.placement);
    }
    return best;
  }

 private:
  DeviceId choose(const Environment::Episode& now, bool greedy, Random& random) {
    const Problem& problem = *now.problem;
    const auto groups = static_cast<double>(problem.groups().count());
    double least_us = kCannotRun;
    for (const Score& to : now.alternatives) least_us = std::min(least_us, to.objective_us);
    weights_.assign(now.alternatives.size(), 0);
    double sum = 0;
    for (DeviceId device = 0; at(device) < weights_.size(); ++device) {
      if (!problem.can_run(now.current(), device)) continue;
      sum += weights_[at(device)] = weight(now.alternatives[at(device)], least_us, groups,
                                           static_cast<double>(problem.memory_bytes(device)));
    }
    if (greedy) {
      return static_cast<DeviceId>(std::max_element(weights_.begin(), weights_.end()) -
                                   weights_.begin());
    }
    double left = random.uniform() * sum;
    DeviceId drawn = now.placement[now.current()];
    for (DeviceId device = 0; at(device) < weights_.size() && left >= 0; ++device) {
      if (weights_[at(device)] <= 0) continue;
      drawn = device;
      left -= weights_[at(device)];
    }
    return drawn;
  }

  const PlaceContext& context_;
  std::vector<double> weights_;  // by device
};

/// How long a simulated step takes.
double step_s(Evaluator& evaluator, const Placement& placement) {
  const auto before = std::chrono::steady_clock::now();
  static_cast<void>(evaluator.evaluate(placement));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
}

/// Whether making groups, which nothing can stop, might take the whole budget.
bool is_too_large(Evaluator& evaluator, const Placement& placement, const PlaceContext& context) {
  // Measured with 200,000 ops on four devices.
  constexpr double kStepsOfCoarsening = 25;
  return std::isfinite(context.budget_s) &&
         kStepsOfCoarsening * step_s(evaluator, placement) > context.budget_s;
}

/// Whether a pass over the fewest groups might take more than its share of the budget.
bool takes_long(Evaluator& within, const Placement& placement, const PlaceContext& context) {
  if (!std::isfinite(context.budget_s)) return false;
  const double steps = static_cast<double>(within.problem().groups().count()) *
                       static_cast<double>(within.problem().cluster().device_count());
  return steps * step_s(within, placement) > kShareOfPass * context.budget_s;
}

class LookAheadPolicy final : public Policy {
 public:
  explicit LookAheadPolicy(const Options& options)
      : neighbourhood_(static_cast<GroupId>(options.integer("neighbourhood"))),
        repair_(options.boolean("repair")) {}

  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    Judged given;
    for (const Placement& each : context.initial) given.take(each, evaluator.evaluate(each));
    Decisions decisions(context);
    Judged best = coarse(evaluator, context, given, decisions);
    if (!given.placement.empty()) best.take(given.placement, given.evaluation);
    Placement placement = repair_placement(
        problem, evaluator, group_placement(problem, best.placement), repair_, context);
    if (neighbourhood_ == 0 || problem.groups().count() <= neighbourhood_) return placement;
    const Evaluation evaluation = evaluator.evaluate(placement);
    best = search_neighbourhoods(evaluator, context, {std::move(placement), evaluation},
                                 neighbourhood_,
                                 [&](Evaluator& within, GroupPlacement from, std::uint64_t seed) {
                                   return decisions.decide(within, std::move(from),
                                                           /*greedy=*/false, seed);
                                 });
    return std::move(best.placement);
  }

 private:
  /// The best of ever more groups, each from one run of groups per device and from list scheduling.
  /// At least one run of groups per device.
  static Judged coarse(Evaluator& evaluator, const PlaceContext& context, const Judged& given,
                       Decisions& decisions) {
    const Problem& problem = evaluator.problem();
    Judged best;
    const Placement plain = problem.groups().expand(contiguous_placement(problem));
    best.take(plain, evaluator.evaluate(plain));
    if (is_too_large(evaluator, plain, context)) return best;
    for (const GroupId count : kCoarse) {
      const auto within = make_regrouped_evaluator(
          evaluator, coarsen(problem.graph(), problem.costs(), count, problem.constraints().get()));
      if (count == kCoarse[0] && takes_long(*within, plain, context)) break;
      for (const GroupPlacement& start :
           {contiguous_placement(within->problem()), earliest_placement(within->problem())}) {
        if (context.stopped()) return best;
        const Judged found = decisions.pass(*within, start);
        if (!found.placement.empty()) best.take(found.placement, found.evaluation);
      }
      const bool hopeless =
          given.evaluation.feasible && !given.placement.empty() &&
          best.evaluation.objective_us > kHopeless * given.evaluation.objective_us;
      if (hopeless || within->problem().groups().count() >= problem.groups().count()) break;
    }
    return best;
  }

  GroupId neighbourhood_;
  bool repair_;
};

constexpr OptionSpec kOptions[] = {
    {"neighbourhood", OptionType::integer, "16",
     "number of groups to merge into again and again, around the best placement, while the "
     "budget lasts; 0 = end with the coarse placement",
     OptionRange::at_least(0).up_to(1 << 15)},
    kRepairOption};

}  // namespace

BERTH_PLUGIN(LookAheadPolicy, "lookahead", "1.0",
             "few groups where the simulated step is shortest, then other ones around the best",
             kOptions);

}  // namespace berth::policies::lookahead
