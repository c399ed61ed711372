// An answer at once: passes of a list scheduler by learned rules, the first from nothing, the others around the best
// placement so far, until the budget ends or the lower bound is met. A pass decides all groups anew and takes about as
// long as two or three simulated steps, in which a search tries as many single moves.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "berth/plugin.h"
#include "berth/support/clock.h"
#include "common/spread.h"
#include "instant/clusters.h"
#include "instant/decoder.h"
#include "instant/rules.h"

namespace berth::policies::instant {
namespace {

/// Passes where nothing limits them.
constexpr std::int64_t kDefaultPasses = 64;
/// Placements to start from: the best of so many.
constexpr std::size_t kKept = 4;
/// The learned rules that make a pass from nothing each before others go on from the best.
constexpr std::int64_t kFresh = 2;
/// Shares of passes that start from the best, and whose priorities are changed.
constexpr double kFromBest = 0.7;
constexpr double kNoisy = 0.2;
constexpr double kNoise = 0.05;
/// The share of passes that keep more groups where they were, and the most that the weight of that grows.
constexpr double kFirm = 0.5;
constexpr double kFirmest = 100;
/// How much the weights of a rule vary; see varied().
constexpr double kSpread = 1.5;
/// The shares of outputs that count against memory, one after the other where placements do not fit.
constexpr double kOutputShares[] = {0, 0.25, 0.5, 1};

struct Found {
  GroupPlacement placement;
  Evaluation evaluation;
};

/// Decoders of a problem and of its clusters, made when they are first needed. [thread-compatible]
class Decoders {
 public:
  Decoders(const Problem& problem, std::vector<DeviceId> devices)
      : problem_(problem), devices_(std::move(devices)), means_(problem, devices_) {}

  /// The time that prepare() would take at the most, as far as is known.
  [[nodiscard]] double preparation_s(const Rule& rule) const {
    return find(rule) != nullptr ? 0 : longest_s_;
  }

  /// Makes the decoder that passes by the rule need, if there is none yet.
  void prepare(const Rule& rule) {
    if (find(rule) != nullptr) return;
    const auto began = std::chrono::steady_clock::now();
    if (fields_.size() >= kMostFields) fields_.erase(fields_.begin());
    auto clusters =
        clustered(problem_, means_, devices_.size(), rule[Rule::kShare], rule[Rule::kBind]);
    const Problem& of = clusters ? *clusters->problem : problem_;
    auto decoder = std::make_unique<Decoder>(of, devices_);
    fields_.emplace_back(rule[Rule::kShare], rule[Rule::kBind], std::move(clusters),
                         std::move(decoder));
    longest_s_ = std::max(longest_s_, seconds_since(began));
  }

  /// See Decoder::run; `pass.before` and the answer are by the problem's groups, whatever the rule's clusters. Requires
  /// that it is prepared.
  std::optional<GroupPlacement> run(Decoder::Pass pass, Random& random,
                                    const std::function<bool()>& stop) const {
    const Field& field = *find(pass.rule);
    if (!field.clusters) return field.decoder->run(pass, random, stop);
    GroupPlacement before;
    if (pass.before != nullptr) {
      before = field.clusters->gather(*pass.before);
      pass.before = &before;
    }
    auto placement = field.decoder->run(pass, random, stop);
    if (placement) placement = field.clusters->spread(*placement);
    return placement;
  }

 private:
  struct Field {
    double share;
    double bind;
    std::unique_ptr<const Clustered> clusters;  ///< null: the problem's own groups
    std::unique_ptr<Decoder> decoder;
  };
  [[nodiscard]] const Field* find(const Rule& rule) const {
    const double share = rule[Rule::kShare];
    const auto found = std::find_if(fields_.begin(), fields_.end(), [&](const Field& field) {
      return field.share == share && (share == 0 || field.bind == rule[Rule::kBind]);
    });
    return found != fields_.end() ? &*found : nullptr;
  }

  /// Rules at random all have clusters of their own.
  static constexpr std::size_t kMostFields = 16;

  const Problem& problem_;
  std::vector<DeviceId> devices_;
  MeanTimes means_;
  std::vector<Field> fields_;
  double longest_s_ = 0;  // that a preparation took
};

/// The most that a placement proven best takes, rounding included; 0 = nothing is known.
double proven_us(const Evaluator& evaluator) {
  constexpr double kRounding = 1e-9;
  return evaluator.measures() ? 0 : lower_bound(evaluator.problem()).us * (1 + kRounding);
}

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
    Decoders decoders(problem, spread_devices(problem, hosts_));
    const bool limited = passes_ > 0 || std::isfinite(context.budget_s);
    const std::int64_t most = passes_ > 0 ? passes_ : limited ? kNoLimit : kDefaultPasses;
    double longest_s = 0, enough_us = 0;
    SearchEnd end = SearchEnd::done;
    for (std::int64_t i = 0; i < most; ++i) {
      // The bound takes as long as some ten passes: none for a budget that is about to end.
      if (i == kDefaultPasses && 2 * seconds_since(began) < context.budget_s) {
        enough_us = proven_us(evaluator);
      }
      if (!kept.empty() && kept.front().evaluation.feasible &&
          kept.front().evaluation.objective_us <= enough_us) {
        break;
      }
      const Decoder::Pass pass = draw(i, kept, kOutputShares[share], random);
      const double needed_s = longest_s + decoders.preparation_s(pass.rule);
      const bool late = seconds_since(began) + needed_s > context.budget_s || context.stopped();
      if (!kept.empty() && late) {
        end = SearchEnd::budget;  // which may have some of its time left
        break;
      }
      decoders.prepare(pass.rule);
      const auto pass_began = std::chrono::steady_clock::now();
      const auto stop = [&] { return !kept.empty() && context.stopped(); };
      auto placement = decoders.run(pass, random, stop);
      if (!placement) {
        end = SearchEnd::budget;
        break;
      }
      const bool fits = add(std::move(*placement));
      if (!fits && share + 1 < std::size(kOutputShares)) ++share;
      longest_s = std::max(longest_s, seconds_since(pass_began));
    }
    PolicyAnswer answer(kept.front().evaluation.feasible
                            ? problem.groups().expand(kept.front().placement)
                            : repair_placement(problem, evaluator,
                                               std::move(kept.front().placement), repair_,
                                               context));
    answer.end = end;
    return answer;
  }

 private:
  /// The pass number i. The learned rules come first, from nothing where nothing is given.
  [[nodiscard]] Decoder::Pass draw(std::int64_t i, const std::vector<Found>& kept,
                                   double output_share, Random& random) const {
    Decoder::Pass pass;
    pass.output_share = output_share;
    const bool fresh = learned_ && i < std::min<std::int64_t>(kFresh, std::ssize(rules_));
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
    if (random.uniform() < kFirm) {
      pass.rule.weights[Rule::kStay] *= std::pow(kFirmest, random.uniform());
    }
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
     "or 64 where there is none; "
     "a placement that meets the lower bound ends them too",
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
