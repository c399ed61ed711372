// The best contiguous split by dynamic programming over ideals (Tarnawski et al., "Efficient
// Algorithms for Device Placement of DNN Graph Operators", NeurIPS 2020): the graph is cut into one
// part per device, each the difference of two downward-closed sets, so that the largest load is
// least.
//
// contraction.h  the graph that is cut
// ideals.h       the sets between which it is cut
// split.h        the dynamic program
// here           how many sets are looked at: first the prefixes of one order, then all that lie
//                within a few positions of it, then more, until all are there or there are too many
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/plugin.h"
#include "berth/sdk/repair.h"
#include "berth/support/clock.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "common/spread.h"
#include "dp/contraction.h"
#include "dp/ideals.h"
#include "dp/split.h"

namespace berth::policies::dp {
namespace {

/// Entries of the program's table: ideals times states. Bounds its memory to some 70 MB.
constexpr std::size_t kMaxEntries = std::size_t{1} << 22;
/// Ideals times nodes and tensors: what is summed up before the program starts, some 0.1 s.
constexpr std::size_t kMaxSums = std::size_t{1} << 27;
/// Pairs of ideals looked at where no number and no time budget is given: a fraction of a second.
constexpr std::int64_t kDefaultPairs = 5000000;

class DpPolicy final : public Policy {
 public:
  explicit DpPolicy(const Options& options)
      : ideals_(options.integer("ideals")), pairs_(options.integer("pairs")) {}

  [[nodiscard]] bool takes_starts() const override { return false; }
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    PolicyAnswer answer = best_split(evaluator, context);
    note_idle(evaluator, answer);
    return answer;
  }

 private:
  /// Devices without an op, and the load that more of them would not lower.
  static void note_idle(Evaluator& evaluator, PolicyAnswer& answer) {
    const Problem& problem = evaluator.problem();
    const std::vector<DeviceId> devices = spread_devices(problem, /*hosts=*/false);
    const std::set<DeviceId> used(answer.placement.begin(), answer.placement.end());
    std::size_t idle = 0;
    for (const DeviceId device : devices) idle += used.contains(device) ? 0 : 1;
    if (idle == 0) return;
    std::vector<double> load(at(problem.cluster().device_count()), 0);
    GroupId largest = 0;
    double largest_us = -1;
    for (GroupId group = 0; group < problem.groups().count(); ++group) {
      const DeviceId device = answer.placement[at(problem.groups().members(group).front())];
      const double us = problem.group_cost_us(group, device);
      if (us >= kCannotRun) continue;
      load[at(device)] += us;
      if (us > largest_us) {
        largest_us = us;
        largest = group;
      }
    }
    const double most_us = *std::max_element(load.begin(), load.end());
    std::string why = "no further cut lowers the largest load";
    if (largest_us > kBounds * most_us) {
      why = cat("'", problem.graph().op_name(problem.groups().members(largest).front()),
                "' alone is ", static_cast<int>(100 * largest_us / most_us + 0.5),
                " % of the largest load, which more devices do not lower");
    }
    answer.notes.push_back(cat(idle, " of ", devices.size(), " devices are left idle: ", why));
  }

  /// From this share of the largest load on, a group by itself is the reason for it.
  static constexpr double kBounds = 0.5;

  PolicyAnswer best_split(Evaluator& evaluator, const PlaceContext& context) const {
    const Problem& problem = evaluator.problem();
    const SplitGraph all(problem, SplitGraph::Restricted::left_out);
    if (!all.leaves_out()) return split(all, evaluator, context);
    // Whether what the main devices cannot run is better split with the rest or after it, only the
    // step can tell. Half of the time each, where there are nodes enough for both.
    const SplitGraph kept(problem, SplitGraph::Restricted::kept);
    if (kept.leaves_out()) return split(all, evaluator, context);
    PlaceContext first = context;
    if (std::isfinite(context.budget_s)) {
      first.should_stop = [&context, begin = Clock::now()] {
        return context.stopped() || seconds_since(begin) >= context.budget_s / 2;
      };
    }
    return better_of([&] { return split(all, evaluator, first); },
                     [&] { return split(kept, evaluator, context); }, evaluator);
  }

  using Clock = std::chrono::steady_clock;
  using Report = std::function<void(const Split& split, const std::string& text)>;
  using Stop = std::function<bool()>;
  struct Found {
    Split split;
    SearchEnd end;
    std::string text;  ///< among what it is the best
  };

  PolicyAnswer split(const SplitGraph& graph, Evaluator& evaluator,
                     const PlaceContext& context) const {
    const Problem& problem = evaluator.problem();
    const Report report = [&](const Split& split, const std::string& text) {
      if (!context.progress || split.parts.empty()) return;
      GroupPlacement placement = place_parts(graph, split);
      keep_to_kinds(problem, placement);
      const Evaluation evaluation = evaluator.evaluate(problem.groups().expand(placement));
      if (evaluation.feasible) context.progress(evaluation.objective_us, text);
    };
    const Found found = search(graph, context, report);
    PolicyAnswer answer({});
    answer.end = found.end;
    answer.notes.push_back(found.text);
    // Without parts it was stopped at once, or no split obeys kinds and memory.
    SingleDevice single;
    if (found.split.parts.empty()) single = best_single_device(evaluator);
    answer.placement = single.device != kNoDevice
                           ? std::move(single.placement)
                           : repair_placement(problem, evaluator, place_parts(graph, found.split),
                                              /*fit_memory=*/true, context);
    return answer;
  }

  /// The one that fits and is better; throws what the second throws where neither fits.
  template <typename First, typename Second>
  static PolicyAnswer better_of(const First& first, const Second& second, Evaluator& evaluator) {
    std::vector<PolicyAnswer> found;
    try {
      found.push_back(first());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::infeasible) throw;
    }
    try {
      found.push_back(second());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::infeasible || found.empty()) throw;
    }
    if (found.size() == 1) return std::move(found.front());
    const Evaluation a = evaluator.evaluate(found[0].placement);
    const Evaluation b = evaluator.evaluate(found[1].placement);
    return std::move(found[better(b.score(), a.score()) ? 1 : 0]);
  }

  /// Devices of each class in the cluster's order; without parts, all on one.
  static GroupPlacement place_parts(const SplitGraph& graph, const Split& split) {
    std::vector<DeviceId> device_of_node(static_cast<std::size_t>(graph.count()),
                                         graph.classes().front().devices.front());
    std::vector<std::size_t> used(graph.classes().size(), 0);
    for (const SplitPart& part : split.parts) {
      const DeviceId device = graph.classes()[part.of_class].devices[used[part.of_class]++];
      for (const Node node : part.nodes) device_of_node[static_cast<std::size_t>(node)] = device;
    }
    return graph.expand(device_of_node);
  }

  /// Widens the window until it leaves nothing out or the work allowed is done.
  Found search(const SplitGraph& graph, const PlaceContext& context, const Report& report) const {
    Split best;
    const auto end = [&](SearchEnd why, const std::string& text) {
      report(best, text);
      return Found{best, why, text};
    };
    std::size_t states = 1;
    for (const SplitClass& c : graph.classes()) states *= c.devices.size() + 1;
    const std::size_t most =
        std::min({static_cast<std::size_t>(ideals_), kMaxEntries / states,
                  kMaxSums / (static_cast<std::size_t>(graph.count()) + graph.tensors().size())});
    const Stop& should_stop = context.should_stop;
    std::int64_t pairs_left = pairs_;
    if (pairs_left == 0) {
      pairs_left =
          std::isinf(context.budget_s) ? kDefaultPairs : std::numeric_limits<std::int64_t>::max();
    }
    for (Node window = 0;; window = std::max<Node>(1, 2 * window)) {
      const std::size_t count =
          window == 0 ? std::numeric_limits<std::size_t>::max() : most;  // prefixes are few
      const auto ideals = Ideals::enumerate(graph, {window, count, should_stop});
      if (!ideals) {
        return end(SearchEnd::budget, "too many ideals for a wider window");
      }
      SplitSearch splits(graph, *ideals);
      const bool complete = improve(splits, should_stop, pairs_left, best);
      pairs_left -= splits.pairs();
      const std::string among = std::to_string(ideals->size()) + " ideals";
      if (!complete) {
        return end(SearchEnd::budget, "stopped among " + among);
      }
      if (ideals->all()) {
        const char* const by = graph.links_alike() ? "" : " by the mean of unlike links";
        return end(SearchEnd::done,
                   "the best contiguous split" + std::string(by) + ": all " + among);
      }
      report(best, among + " within " + std::to_string(window) + " positions of one order");
    }
  }

  /// Tries limits on the load from the bound up to the best known: low ones are quickly refuted,
  /// and the first that is met ends the search. False where the work allowed did not suffice.
  static bool improve(SplitSearch& splits, const Stop& should_stop, std::int64_t pairs_left,
                      Split& best) {
    const double bound_us = splits.bound_us();
    for (const double share : {1.0 / 64, 1.0 / 16, 1.0 / 4, 1.0}) {
      const bool known = best.load_us < kCannotRun;
      if (!known && share < 1) continue;
      const double limit_us =
          known ? bound_us + share * (best.load_us - bound_us) : std::numeric_limits<double>::max();
      Split split;
      const auto outcome = splits.below({limit_us, pairs_left, should_stop}, split);
      if (split.load_us < best.load_us) best = split;
      if (outcome == SplitSearch::Outcome::gave_up) return false;
      if (outcome == SplitSearch::Outcome::found) return true;
    }
    return true;
  }

  std::int64_t ideals_;
  std::int64_t pairs_;
};

constexpr OptionSpec kOptions[] = {
    {"ideals", OptionType::integer, "100000",
     "downward-closed sets to cut between; where there are more, only those near one order",
     OptionRange::at_least(1)},
    {"pairs", OptionType::integer, "0",
     "pairs of such sets to look at; 0: all that the time budget allows, 5,000,000 without",
     OptionRange::at_least(0)}};

}  // namespace

BERTH_PLUGIN(DpPolicy, "dp", "1.0",
             "contiguous split with the smallest largest load, transfers included, by "
             "dynamic programming over ideals",
             kOptions);

}  // namespace berth::policies::dp
