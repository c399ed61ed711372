// An answer at once: passes of a list scheduler by learned rules, the first from nothing, the others around the best
// placement so far, until the budget ends. A pass decides all groups anew and takes about as long as two or three simulated
// steps, in which a search tries as many single moves.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "berth/plugin.h"
#include "berth/support/clock.h"
#include "common/spread.h"
#include "instant/decoder.h"
#include "instant/rules.h"

namespace berth::policies::instant {
namespace {

/// Passes where nothing limits them.
constexpr std::int64_t kDefaultPasses = 64;
/// Placements to start from: the best of so many.
constexpr std::size_t kKept = 4;
/// Shares of passes that start from the best, and whose priorities are changed.
constexpr double kFromBest = 0.7;
constexpr double kNoisy = 0.5;
constexpr double kNoise = 0.05;
/// How much the weights of a rule vary; see varied().
constexpr double kSpread = 1.5;
/// The shares of outputs that count against memory, one after the other where placements do not fit.
constexpr double kOutputShares[] = {0, 0.25, 0.5, 1};

struct Found {
  GroupPlacement placement;
  Evaluation evaluation;
};

class InstantPolicy final : public Policy {
 public:
  explicit InstantPolicy(const Options& options)
      : passes_(options.integer("passes")),
        hosts_(options.boolean("hosts")),
        repair_(options.boolean("repair")),
        learned_(options.text("weights") != "none") {
    if (!learned_) return;
    rules_ =
        options.text("weights").empty() ? shipped_rules() : read_rules(options.text("weights"));
  }

  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const auto began = std::chrono::steady_clock::now();
    const Problem& problem = evaluator.problem();
    Random random(context.seed);
    std::vector<Found> kept;
    std::size_t share = 0;
    const auto add = [&](GroupPlacement placement) {
      Evaluation evaluation = evaluator.evaluate(problem.groups().expand(placement));
      const bool fits = evaluation.feasible;
      const auto place = std::find_if(kept.begin(), kept.end(), [&](const Found& other) {
        return better(evaluation, other.evaluation);
      });
      if (place == kept.begin() && fits && context.progress) {
        context.progress(evaluation.objective_us, "a pass");
      }
      kept.insert(place, {std::move(placement), std::move(evaluation)});
      if (kept.size() > kKept) kept.pop_back();
      return fits;
    };
    for (const Placement& initial : context.initial) {
      if (auto placement = by_group(problem, initial)) add(std::move(*placement));
    }
    Decoder decoder(problem, spread_devices(problem, hosts_));
    const bool limited = passes_ > 0 || std::isfinite(context.budget_s);
    const std::int64_t most = passes_ > 0 ? passes_ : limited ? kNoLimit : kDefaultPasses;
    double longest_s = 0;
    for (std::int64_t i = 0; i < most; ++i) {
      const auto pass_began = std::chrono::steady_clock::now();
      const bool late = seconds_since(began) + longest_s > context.budget_s || context.stopped();
      if (!kept.empty() && late) break;
      const auto stop = [&] { return !kept.empty() && context.stopped(); };
      auto placement = decoder.run(draw(i, kept, kOutputShares[share], random), random, stop);
      if (!placement) break;
      const bool fits = add(std::move(*placement));
      if (!fits && share + 1 < std::size(kOutputShares)) ++share;
      longest_s = std::max(longest_s, seconds_since(pass_began));
    }
    if (kept.front().evaluation.feasible) {
      return problem.groups().expand(kept.front().placement);
    }
    return repair_placement(problem, evaluator, std::move(kept.front().placement), repair_,
                            context);
  }

 private:
  /// The pass number i. The learned rules come first, from nothing where nothing is given.
  [[nodiscard]] Decoder::Pass draw(std::int64_t i, const std::vector<Found>& kept,
                                   double output_share, Random& random) const {
    Decoder::Pass pass;
    pass.output_share = output_share;
    const bool fresh = learned_ && i < static_cast<std::int64_t>(rules_.size()) / 2;
    if (!learned_) {
      pass.rule = random_rule(random);
    } else if (fresh) {
      pass.rule = rules_[static_cast<std::size_t>(i)];
    } else {
      pass.rule = varied(rules_[random.below(rules_.size())], kSpread, random);
    }
    if (kept.empty() || fresh) return pass;
    if (random.uniform() < kNoisy) pass.noise = kNoise;
    const bool from_best = random.uniform() < kFromBest;
    pass.before = &kept[from_best ? 0 : random.below(kept.size())].placement;
    return pass;
  }

  /// Nothing where the ops of a group are on several devices.
  static std::optional<GroupPlacement> by_group(const Problem& problem,
                                                const Placement& placement) {
    GroupPlacement devices;
    for (GroupId group = 0; group < problem.groups().count(); ++group) {
      const auto members = problem.groups().members(group);
      devices.push_back(placement[at(members.front())]);
      for (const OpId op : members) {
        if (placement[at(op)] != devices[group]) return std::nullopt;
      }
    }
    return devices;
  }

  std::int64_t passes_;
  bool hosts_;
  bool repair_;
  bool learned_;
  std::vector<Rule> rules_;
};

constexpr OptionSpec kOptions[] = {
    {"passes", OptionType::integer, "0",
     "passes, for results that do not depend on the machine; 0: as many as the time budget allows, "
     "or 64 "
     "where there is none",
     OptionRange::at_least(0)},
    {"weights", OptionType::text, "",
     "a file of `berth learn`; empty = the rules that come with Berth, none = rules at random"},
    {"hosts", OptionType::boolean, "true",
     "let host devices compete; false keeps them for what nothing else can run"},
    kRepairOption};

}  // namespace

BERTH_PLUGIN(InstantPolicy, "instant", "1.0",
             "learned: passes of a list scheduler that knows what will have to be sent", kOptions);

}  // namespace berth::policies::instant
