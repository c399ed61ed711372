// The strongest placement Berth finds without learning: the answers of the quick policies,
// improved by chains of simulated annealing that move anything from single ops to whole regions,
// until the budget ends or the lower bound is met.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "auto/contained.h"
#include "auto/search.h"
#include "berth/error.h"
#include "berth/plugin.h"
#include "berth/sdk/figures.h"
#include "berth/simplicity.h"
#include "berth/support/process_limits.h"
#include "berth/support/text.h"

namespace berth::policies::auto_policy {
namespace {

/// The quickest come first, in milliseconds for thousands of ops: a short budget may end among them.
constexpr const char* kContained =
    "single,heft,metis,instant,topo,m-topo,expert,fill,even,metis:phases=2,metis:phases=4,metis:"
    "phases=16,"
    "exact,"
    "mincut,scotch,m-etf,m-sct,lookahead:neighbourhood=0,stages,round_robin,dp";

class AutoPolicy final : public Policy {
 public:
  AutoPolicy(const Options& options, const PolicyMaker& policies)
      : contained_(contained_policies(options.text("from"))),
        given_(options.text("from") != kContained),
        policies_(policies) {
    settings_.moves = options.integer("moves");
    settings_.chains = static_cast<int>(options.integer("chains"));
    settings_.threads = static_cast<int>(options.integer("threads"));
    const auto is_auto = [](const Contained& each) { return each.name == "auto"; };
    if (std::any_of(contained_.begin(), contained_.end(), is_auto)) {
      throw Error(ErrorCode::invalid_argument,
                  "policy 'auto': option 'from' names auto itself; leave it out");
    }
    if (contained_.empty()) {
      throw Error(
          ErrorCode::invalid_argument,
          "policy 'auto': option 'from' names no policy; name at least one, such as single");
    }
  }

  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    const auto began = std::chrono::steady_clock::now();
    Starts starts = collect_starts(policies_, contained_, /*skip_missing=*/!given_, problem,
                                   evaluator, context);
    const std::optional<Solution> single = single_of(starts);
    std::vector<Solution> solutions;
    for (Start& start : starts.found) solutions.push_back(std::move(start.solution));
    const auto best_start =
        std::min_element(solutions.begin(), solutions.end(),
                         [](const Solution& a, const Solution& b) { return a.better_than(b); });
    // Preparing the search takes a while for a large graph: not where it has no time left.
    if (best_start->fits() && (starts.optimal || starts.hasty || context.stopped())) {
      return simpler(problem, *best_start, single, std::move(starts));
    }
    std::vector<Placement> candidates{best_start->placement};
    SearchSettings settings = settings_;
    settings.threads = threads(context);
    Search search(std::make_shared<const Problem>(problem), settings, context, began);
    const bool has_time_for_bound = starts.step_s * kStepsForBound < context.budget_s;
    std::vector<Solution> found =
        search.run(std::move(solutions),
                   std::max(starts.proven.us, has_time_for_bound ? lower_bound(problem).us : 0));
    if (SuccessiveEvaluator* const counted = evaluator.successive()) counted->count(search.work());
    if (found.front().excess_bytes > 0) throw nothing_fits(found.front(), starts);
    for (std::size_t i = 0; i < std::min(found.size(), kChecked); ++i) {
      candidates.push_back(std::move(found[i].placement));
    }
    std::optional<Solution> best = best_of(std::move(candidates), evaluator);
    if (!best) throw all_refused(starts);
    if (evaluator.measures()) return answer(std::move(best->placement), std::move(starts));
    return simpler(problem, *best, single, std::move(starts));
  }

 private:
  /// The answer of `single`, if it is among the starts and fits.
  static std::optional<Solution> single_of(const Starts& starts) {
    const auto found = std::find_if(
        starts.found.begin(), starts.found.end(),
        [](const Start& start) { return start.from == "single" && start.solution.fits(); });
    return found != starts.found.end() ? std::optional(found->solution) : std::nullopt;
  }

  /// The best, or the single device where nothing that can be told is lost with it: nobody sets up several devices for
  /// that.
  [[nodiscard]] PolicyAnswer simpler(const Problem& problem, const Solution& best,
                                     const std::optional<Solution>& single, Starts starts) const {
    const bool alike = single && single->objective_us <= best.objective_us * (1 + kNoGain) &&
                       simplicity_of(problem.graph(), single->placement) <
                           simplicity_of(problem.graph(), best.placement);
    if (!alike) return answer(best.placement, std::move(starts));
    PolicyAnswer simple = answer(single->placement, std::move(starts));
    simple.notes.push_back(
        cat("one device is answered: the best found over several is faster by less than ",
            kNoGain * 100, " %"));
    return simple;
  }

  /// Policies that were asked for by name and failed are told.
  [[nodiscard]] PolicyAnswer answer(Placement placement, Starts starts) const {
    PolicyAnswer answer(std::move(placement));
    if (given_ && !starts.failures.empty()) {
      answer.notes.push_back("of the policies that were named, some failed: " + reasons(starts));
    }
    answer.proven = std::move(starts.proven);
    answer.end = starts.end;
    return answer;
  }

  /// The share of a runtime that is no reason for more devices.
  static constexpr double kNoGain = 1e-4;

  /// The search uses its simulator; the evaluator, which may measure, decides among the best
  /// results.
  static constexpr std::size_t kChecked = 3;
  /// The bound, which ends a search that meets it, takes as long as some thirty steps: it is not
  /// computed unless the budget has time for ten times as many.
  static constexpr double kStepsForBound = 300;

  /// The option decides, and within it the caller.
  [[nodiscard]] int threads(const PlaceContext& context) const {
    const int wanted = settings_.threads > 0 ? settings_.threads : usable_threads();
    return context.threads > 0 ? std::min(wanted, context.threads) : wanted;
  }

  /// Nothing where the evaluator refuses all.
  static std::optional<Solution> best_of(std::vector<Placement> candidates, Evaluator& evaluator) {
    std::vector<Evaluation> evaluations(candidates.size());
    evaluator.evaluate(candidates, evaluations);
    std::size_t best = 0;
    for (std::size_t i = 1; i < candidates.size(); ++i) {
      if (better(evaluations[i], evaluations[best])) best = i;
    }
    if (!evaluations[best].feasible) return std::nullopt;
    return Solution{std::move(candidates[best]), evaluations[best].objective_us};
  }

  /// Each reason once, behind the names of the policies that have it.
  static std::string reasons(const Starts& starts) {
    std::vector<std::pair<std::string, std::string>> lines;  // reason, names
    for (const std::string& failure : starts.failures) {
      const std::size_t colon = std::min(failure.find(": "), failure.size());
      const std::string name = failure.substr(0, colon);
      const std::string reason = failure.substr(colon);
      const auto same = std::find_if(lines.begin(), lines.end(),
                                     [&](const auto& line) { return line.first == reason; });
      if (same == lines.end()) {
        lines.emplace_back(reason, name);
      } else {
        same->second += ", " + name;
      }
    }
    std::string text;
    for (const auto& [reason, names] : lines) text += (text.empty() ? "" : "; ") + names + reason;
    return text;
  }
  static std::string and_reasons(const Starts& starts) {
    return starts.failures.empty() ? "" : "; " + reasons(starts);
  }

  static Error nothing_fits(const Solution& best, const Starts& starts) {
    return {ErrorCode::infeasible,
            "memory is short: the best placement found exceeds a device's memory by " +
                format_bytes(best.excess_bytes) +
                "; use more devices or larger ones, or search longer" + and_reasons(starts)};
  }

  static Error all_refused(const Starts& starts) {
    return {
        ErrorCode::infeasible,
        "no placement that is feasible was found: no memory lacks, and the evaluator refuses what "
        "was tried; search longer, or place with an evaluator that allows more" +
            and_reasons(starts)};
  }

  std::vector<Contained> contained_;
  bool given_;  // by the user, who then wants all of them
  SearchSettings settings_;
  PolicyMaker policies_;
};

constexpr OptionSpec kOptions[] = {
    {"moves", OptionType::integer, "0",
     "proposals to try in all, for results that do not depend on the machine; 0: as many as the "
     "time budget allows, or some hundred per op where there is none",
     OptionRange::at_least(0)},
    {"threads", OptionType::integer, "0", "threads to search with; 0: all cores",
     OptionRange::at_least(0).up_to(256)},
    {"chains", OptionType::integer, "4",
     "independent chains in a round; more threads than that help only under a time budget",
     OptionRange::at_least(1).up_to(256)},
    {"from", OptionType::text, kContained,
     "policies to start from, separated by commas, each with options behind colons as in "
     "metis:phases=4; those of the default that are not installed are left out"}};

}  // namespace

BERTH_PLUGIN(AutoPolicy, "auto", "1.0",
             "the quick policies' best, annealed at every grain until the budget ends", kOptions);

}  // namespace berth::policies::auto_policy
