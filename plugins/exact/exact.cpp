// Branch and bound for small graphs: the best placement with its proof, or the best found and the
// best bound proven when it is stopped.
//
// model.h         the problem as the search sees it
// load_bound.h    bounds of the largest load (throughput)
// step_bound.h    bounds of a step's runtime (latency), for both semantics
// local_search.h  a good placement to start from
// search.h        the search itself
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "berth/error.h"
#include "berth/plugin.h"
#include "berth/sdk/environment.h"
#include "berth/sdk/repair.h"
#include "berth/support/text.h"
#include "exact/load_bound.h"
#include "exact/local_search.h"
#include "exact/model.h"
#include "exact/search.h"
#include "exact/step_bound.h"

namespace berth::policies::exact {
namespace {

/// Graphs beyond these are not searched: a single bound would take too long.
constexpr GroupId kMaxGroups = 512;
constexpr std::int64_t kMaxArcs = std::int64_t{1} << 22;  // edges x devices^2
/// Placements, partial or whole, looked at where no number and no time budget is given: a fraction
/// of a second.
constexpr std::int64_t kDefaultNodes = 5000;
/// The local search simulates this many ops at most, and each single move this often on average;
/// ten times as much with a time budget.
constexpr std::int64_t kLocalOps = 400000;
constexpr std::int64_t kLocalRounds = 40;

bool small_enough(const Problem& problem) {
  const std::int64_t devices = problem.cluster().device_count();
  return devices <= ExactModel::kMaxDevices && problem.groups().count() <= kMaxGroups &&
         problem.graph().edge_count() * devices * devices <= kMaxArcs;
}

class ExactPolicy final : public Policy {
 public:
  explicit ExactPolicy(const Options& options) : nodes_(options.integer("nodes")) {}

  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    if (!small_enough(problem)) {
      PolicyAnswer answer = any_feasible(problem, evaluator, context);
      answer.end = SearchEnd::gave_up;
      answer.notes.push_back("too large for an exact search, so that nothing was searched: " +
                             limits_text(problem));
      return answer;
    }
    Incumbent best;
    PolicyAnswer answer = search(problem, evaluator, context, best);
    if (!best.placement.empty()) {
      answer.placement = problem.groups().expand(best.placement);
      return answer;
    }
    try {
      answer.placement = any_feasible(problem, evaluator, context);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::infeasible) throw;
      throw Error(error.code(), cat("exact ", answer.notes.back(),
                                    "; none of them fits, and others may: ", error.what()));
    }
    return answer;
  }

 private:
  /// Which limit it is, and what to do.
  static std::string limits_text(const Problem& problem) {
    if (problem.cluster().device_count() > ExactModel::kMaxDevices) {
      return std::to_string(problem.cluster().device_count()) + " devices are more than " +
             std::to_string(ExactModel::kMaxDevices);
    }
    if (problem.groups().count() > kMaxGroups) {
      return std::to_string(problem.groups().count()) + " groups are more than " +
             std::to_string(kMaxGroups) + "; make fewer of them";
    }
    return "edges times pairs of devices are more than " + std::to_string(kMaxArcs) +
           "; make fewer groups or use fewer devices";
  }

  /// Everything but the placement, which is `best` where it holds one.
  PolicyAnswer search(const Problem& problem, Evaluator& evaluator, const PlaceContext& context,
                      Incumbent& best) const {
    const ExactModel model(problem);
    const bool unbudgeted = std::isinf(context.budget_s);
    std::unique_ptr<Bound> bound;
    if (problem.options().objective == Objective::throughput) {
      bound = std::make_unique<LoadBound>(model);
    } else {
      bound = std::make_unique<StepBound>(model);
    }
    best = local_search(model, evaluator,
                        {local_evaluations(model, unbudgeted), enough_us(model, *bound)}, context);
    if (best.placement.empty() && !context.stopped()) best = repaired(problem, evaluator, context);
    std::int64_t nodes = nodes_;
    if (nodes == 0) nodes = unbudgeted ? kDefaultNodes : std::numeric_limits<std::int64_t>::max();
    const auto report = [&](const Incumbent& incumbent, const std::string& text) {
      if (context.progress) context.progress(incumbent.us, text);
    };
    report(best, "local search");
    Search search(model, evaluator, *bound, {nodes, context.should_stop},
                  [&](const Incumbent& incumbent) { report(incumbent, "branch and bound"); });
    search.run(best);
    const std::string looked = std::to_string(search.nodes()) + " placements, partial or whole";
    if (best.placement.empty() && search.exhausted()) {
      throw Error(ErrorCode::infeasible,
                  "exact: no placement of the groups fits in memory (" + looked +
                      " leave none out); use devices with more memory, or more of them");
    }
    // A coarser grain than co-location asks for leaves placements out.
    const bool finest = problem.groups().count() == problem.finest_groups()->count();
    PolicyAnswer answer({});
    if (finest && !evaluator.measures()) {
      answer.proven = {search.bound_us(),
                       search.exhausted() ? "exact search" : "unfinished exact search"};
    }
    if (!search.exhausted()) answer.end = SearchEnd::budget;
    answer.notes.push_back(
        !search.exhausted() ? "stopped after " + looked
        : evaluator.measures()
            ? "no proof: bounds of simulated costs left out what may be faster measured; " + looked
        : finest ? "proven optimal after " + looked
                 : "the best for these groups after " + looked);
    report(best, answer.notes.back());
    return answer;
  }

  /// No more than there are placements, each of which can be looked at once in the same time, and
  /// no more than the search itself may look at.
  [[nodiscard]] std::int64_t local_evaluations(const ExactModel& model, bool unbudgeted) const {
    const std::int64_t moves = std::int64_t{model.groups()} * model.devices();
    std::int64_t most =
        (unbudgeted ? 1 : 10) *
        std::min(kLocalOps / model.problem().graph().op_count() + 1, kLocalRounds * moves);
    if (nodes_ > 0) most = std::min(most, nodes_);
    std::int64_t placements = 1;
    for (const DeviceSet set : model.all()) {
      placements *= std::max(1, std::popcount(set));
      if (placements >= most) return most;
    }
    return placements;
  }

  /// The objective below which the bound leaves nothing.
  static double enough_us(const ExactModel& model, Bound& bound) {
    Domains all = model.all();
    return bound.tighten(all, std::numeric_limits<double>::infinity()) * (1 + Search::kRounding);
  }

  /// The repaired placement of one device, where that fits.
  static Incumbent repaired(const Problem& problem, Evaluator& evaluator,
                            const PlaceContext& context) {
    try {
      const Placement placement = any_feasible(problem, evaluator, context);
      Incumbent found;
      found.placement = group_placement(problem, placement);
      const Evaluation evaluation = evaluator.evaluate(problem.groups().expand(found.placement));
      if (!evaluation.feasible) return {};
      found.us = evaluation.objective_us;
      return found;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::infeasible) throw;
      return {};
    }
  }

  /// Stopped at once, or too large.
  static Placement any_feasible(const Problem& problem, Evaluator& evaluator,
                                const PlaceContext& context) {
    SingleDevice single = best_single_device(evaluator);
    if (single.device != kNoDevice) return std::move(single.placement);
    GroupPlacement placement(static_cast<std::size_t>(problem.groups().count()), 0);
    return repair_placement(problem, evaluator, std::move(placement), /*fit_memory=*/true, context);
  }

  std::int64_t nodes_;
};

constexpr OptionSpec kOptions[] = {{"nodes", OptionType::integer, "0",
                                    "placements, partial or whole, to look at, after as many in a "
                                    "local search at most; 0: all that the time budget allows, "
                                    "5,000 without one",
                                    OptionRange::at_least(0)}};

}  // namespace

BERTH_PLUGIN(ExactPolicy, "exact", "1.0",
             "branch and bound for small graphs: the best placement with a proof, or the "
             "best found with a bound",
             kOptions);

}  // namespace berth::policies::exact
