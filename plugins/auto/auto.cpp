// The strongest placement Berth finds without learning: the answers of the quick policies,
// improved by chains of simulated annealing that move anything from single ops to whole regions,
// until the budget ends or the lower bound is met.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "auto/contained.h"
#include "auto/search.h"
#include "berth/error.h"
#include "berth/plugin.h"
#include "common/repair.h"

namespace berth::policies {
namespace {

/// Quick and useful ones come first: a short budget may end among them.
constexpr const char* kContained =
    "single,heft,topo,m-etf,metis,scotch,mincut,m-topo,dp,m-sct,expert,round_robin";

std::vector<std::string> split_names(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

/// `value` of option `name`, at least `least`.
std::int64_t at_least(const Options& options, const char* name, std::int64_t least) {
  const std::int64_t value = options.integer(name);
  if (value >= least) return value;
  throw Error(ErrorCode::invalid_argument, "policy 'auto': option '" + std::string(name) + "' is " +
                                               std::to_string(value) + "; give at least " +
                                               std::to_string(least));
}

class AutoPolicy final : public Policy {
 public:
  explicit AutoPolicy(const Options& options)
      : names_(split_names(options.text("from"))), given_(options.text("from") != kContained) {
    settings_.moves = at_least(options, "moves", 0);
    settings_.chains =
        static_cast<int>(std::min<std::int64_t>(at_least(options, "chains", 1), 256));
    settings_.threads =
        static_cast<int>(std::min<std::int64_t>(at_least(options, "threads", 0), 256));
    if (settings_.threads == 0) {
      settings_.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    }
    if (std::find(names_.begin(), names_.end(), "auto") != names_.end()) {
      throw Error(ErrorCode::invalid_argument,
                  "policy 'auto': option 'from' names auto itself; leave it out");
    }
    if (names_.empty()) {
      throw Error(
          ErrorCode::invalid_argument,
          "policy 'auto': option 'from' names no policy; name at least one, such as single");
    }
  }

  void use_policies(PolicyMaker make) override { make_ = std::move(make); }

  Placement place(const Problem& problem, Evaluator& evaluator, PlaceContext& context) override {
    if (!make_) {
      throw Error(
          ErrorCode::unsupported,
          "policy 'auto' runs other policies and has not been told how to make them; make it "
          "with Engine::make_policy, or call use_policies");
    }
    const auto began = std::chrono::steady_clock::now();
    Starts starts =
        collect_starts(make_, names_, /*skip_missing=*/!given_, problem, evaluator, context);
    std::vector<Solution> solutions;
    for (Start& start : starts.found) solutions.push_back(std::move(start.solution));
    const auto best_start =
        std::min_element(solutions.begin(), solutions.end(),
                         [](const Solution& a, const Solution& b) { return a.better_than(b); });
    // Preparing the search takes a while for a large graph: not where it has no time left.
    if (stopped(context) && best_start->excess_bytes == 0) return best_start->placement;
    std::vector<Placement> candidates{best_start->placement};
    Search search(std::make_shared<const Problem>(problem), settings_, context, began);
    std::vector<Solution> found = search.run(std::move(solutions), lower_bound(problem).us);
    if (found.front().excess_bytes > 0) throw nothing_fits(found.front(), starts);
    for (std::size_t i = 0; i < std::min(found.size(), kChecked); ++i) {
      candidates.push_back(std::move(found[i].placement));
    }
    return best_of(std::move(candidates), evaluator);
  }

 private:
  /// The search uses its simulator; the evaluator, which may measure, decides among the best
  /// results.
  static constexpr std::size_t kChecked = 3;

  static Placement best_of(std::vector<Placement> candidates, Evaluator& evaluator) {
    std::vector<Evaluation> evaluations(candidates.size());
    evaluator.evaluate(candidates, evaluations);
    std::size_t best = 0;
    for (std::size_t i = 1; i < candidates.size(); ++i) {
      const Evaluation& a = evaluations[i];
      const Evaluation& b = evaluations[best];
      if (a.feasible != b.feasible ? a.feasible : a.objective_us < b.objective_us) best = i;
    }
    return std::move(candidates[best]);
  }

  static std::string reasons(const Starts& starts) {
    std::string text;
    for (const std::string& failure : starts.failures) text += "\n  " + failure;
    return text;
  }

  static Error nothing_fits(const Solution& best, const Starts& starts) {
    return {ErrorCode::infeasible,
            "memory is short: the best placement found exceeds a device's memory by " +
                std::to_string(best.excess_bytes) +
                " bytes; use more devices or larger ones, or search longer" + reasons(starts)};
  }

  std::vector<std::string> names_;
  bool given_;  // by the user, who then wants all of them
  SearchSettings settings_;
  PolicyMaker make_;
};

constexpr OptionSpec kOptions[] = {
    {"moves", OptionType::integer, "0",
     "proposals to try in all, for results that do not depend on the machine; 0: as many as the "
     "time "
     "budget allows, or some hundred per op where there is none"},
    {"threads", OptionType::integer, "0", "threads to search with, at most 256; 0: all cores"},
    {"chains", OptionType::integer, "4",
     "independent chains in a round, 1 to 256; more threads than that are of use only under a time "
     "budget"},
    {"from", OptionType::text, kContained,
     "policies to start from, separated by commas; those of the default that are not installed are "
     "left out"}};

}  // namespace
}  // namespace berth::policies

BERTH_POLICY_PLUGIN(berth::policies::AutoPolicy, "auto", "1.0",
                    "the quick policies' best, annealed at every grain until the budget ends",
                    berth::policies::kOptions)
