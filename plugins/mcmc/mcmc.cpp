// FlexFlow's search as a policy; see metropolis.h for the method and its source. Chains start from
// the best single device, from contiguous parts and from random placements, as FlexFlow's start
// from existing strategies and random ones.
#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/plugin.h"
#include "berth/sdk/environment.h"
#include "berth/sdk/repair.h"
#include "berth/support/index.h"
#include "common/spread.h"
#include "mcmc/metropolis.h"

namespace berth::policies::mcmc {
namespace {

enum class Start { single, contiguous, random };

/// The starts of the chains in turn.
std::vector<Start> starts_from_name(const std::string& name) {
  if (name == "single") return {Start::single};
  if (name == "contiguous") return {Start::contiguous};
  if (name == "random") return {Start::random};
  return {Start::single, Start::contiguous, Start::random};
}

/// Everything on the device of `devices` (one of each kind) where the step is shortest, groups that
/// it cannot run elsewhere; memory is the chain's business.
GroupPlacement single_device(const Problem& problem, Evaluator& evaluator,
                             const std::vector<DeviceId>& devices) {
  std::vector<bool> seen(at(problem.cluster().kind_count()), false);
  std::vector<GroupPlacement> starts;
  std::vector<Placement> placements;
  for (const DeviceId device : devices) {
    if (seen[at(problem.cluster().kind_of(device))]) continue;
    seen[at(problem.cluster().kind_of(device))] = true;
    starts.emplace_back(at(problem.groups().count()), device);
    keep_to_kinds(problem, starts.back());
    placements.push_back(problem.groups().expand(starts.back()));
  }
  std::vector<Evaluation> evaluations(placements.size());
  evaluator.evaluate(placements, evaluations);
  const auto best = std::min_element(
      evaluations.begin(), evaluations.end(),
      [](const Evaluation& a, const Evaluation& b) { return a.objective_us < b.objective_us; });
  return std::move(starts[static_cast<std::size_t>(best - evaluations.begin())]);
}

/// As many groups, in their order, on each device.
GroupPlacement contiguous_parts(const Problem& problem, const std::vector<DeviceId>& devices) {
  const std::size_t count = at(problem.groups().count());
  GroupPlacement placement;
  for (std::size_t g = 0; g < count; ++g) {
    placement.push_back(devices[g * devices.size() / count]);
  }
  return placement;
}

/// `placement` on devices that can run it, and within memory where that is easily done: a chain
/// takes whatever overflows less, but single moves seldom lead there from far off.
GroupPlacement made_valid(const Problem& problem, Evaluator& evaluator, GroupPlacement placement,
                          const PlaceContext& context) {
  keep_to_kinds(problem, placement);
  try {
    return group_placement(
        problem, repair_placement(problem, evaluator, placement, /*fit_memory=*/true, context));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::infeasible) throw;
    return placement;
  }
}

GroupPlacement start_of(const Problem& problem, Evaluator& evaluator,
                        const std::vector<DeviceId>& devices, Start start, Random& random) {
  switch (start) {
    case Start::single:
      break;
    case Start::contiguous:
      return contiguous_parts(problem, devices);
    case Start::random: {
      GroupPlacement placement;
      for (GroupId group = 0; group < problem.groups().count(); ++group) {
        placement.push_back(devices[random.below(devices.size())]);
      }
      return placement;
    }
  }
  return single_device(problem, evaluator, devices);
}

class McmcPolicy final : public Policy {
 public:
  explicit McmcPolicy(const Options& options)
      : starts_(starts_from_name(options.text("start"))),
        chains_(options.integer("chains")),
        rules_{options.real("beta"), options.integer("moves")},
        hosts_(options.boolean("hosts")),
        repair_(options.boolean("repair")) {}

  [[nodiscard]] bool takes_starts() const override { return false; }
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    const std::vector<DeviceId> devices = spread_devices(problem, hosts_);
    // The caller keeps the problem alive as long as this call.
    MoveEvaluator moves(std::make_shared<const Simulator>(
        std::shared_ptr<const Problem>(std::shared_ptr<void>(), &problem)));
    // Only an evaluator that simulates goes from one placement to the next; every other is asked.
    SuccessiveEvaluator* const counted = evaluator.successive();
    const std::unique_ptr<Judge> judge =
        counted != nullptr ? simulating_judge(moves) : asking_judge(evaluator);
    Random random(context.seed);
    std::vector<ChainBest> found;
    double best_us = kCannotRun;
    for (std::int64_t chain = 0; chain < chains_ && (found.empty() || !context.stopped());
         ++chain) {
      Random own = random.split();
      const Start start = starts_[static_cast<std::size_t>(chain) % starts_.size()];
      GroupPlacement placement = made_valid(
          problem, evaluator, start_of(problem, evaluator, devices, start, own), context);
      found.push_back(
          run_chain(*judge, problem, devices, std::move(placement), rules_, own, context));
      const Score score = found.back().score;
      if (score.excess_bytes > 0 || score.objective_us >= best_us) continue;
      best_us = score.objective_us;
      if (context.progress) context.progress(best_us, std::to_string(chain + 1) + " chains");
    }
    if (counted != nullptr) counted->count(moves.work());
    const auto best = std::ranges::min_element(
        found, [](const Score& a, const Score& b) { return better(a, b); }, &ChainBest::score);
    return repair_placement(problem, evaluator, std::move(best->placement), repair_, context);
  }

 private:
  std::vector<Start> starts_;
  std::int64_t chains_;
  ChainRules rules_;
  bool hosts_;
  bool repair_;
};

constexpr OptionSpec kOptions[] = {
    {"start",
     OptionType::text,
     "all",
     "where chains start; all: from each of the others in turn",
     {},
     "single,contiguous,random,all"},
    {"chains", OptionType::integer, "3", "chains, one after the other", OptionRange::at_least(1)},
    {"moves", OptionType::integer, "3000",
     "proposals of a chain at most; it ends after half of them without improvement",
     OptionRange::at_least(0)},
    {"beta", OptionType::real, "10000",
     "acceptance is exp(-beta * relative worsening); larger is greedier", OptionRange::above(0)},
    {"hosts", OptionType::boolean, "true",
     "let groups go to host devices; false keeps them for what nothing else can run"},
    kRepairOption};

}  // namespace

BERTH_PLUGIN(McmcPolicy, "mcmc", "1.0", "Markov chains of single moves (FlexFlow's search)",
             kOptions);

}  // namespace berth::policies::mcmc
