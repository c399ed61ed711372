// A uniformly random device for every group: the starting point of learned policies, and the
// baseline "random" of Placeto's figures (PAPERS A9).
#include "berth/random.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "berth/error.h"
#include "berth/plugin.h"
#include "common/repair.h"

namespace berth::policies {
namespace {

/// Samples evaluated together.
constexpr std::int64_t kBatch = 64;

class RandomPolicy final : public Policy {
 public:
  explicit RandomPolicy(const Options& options)
      : samples_(options.integer("samples")),
        hosts_(options.boolean("hosts")),
        repair_(options.boolean("repair")) {
    if (samples_ < 1) {
      throw Error(ErrorCode::invalid_argument,
                  "policy random: samples is " + std::to_string(samples_) + "; draw at least 1");
    }
  }

  Placement place(const Problem& problem, Evaluator& evaluator, PlaceContext& context) override {
    const std::vector<std::vector<DeviceId>> choices = choices_of_groups(problem);
    Random random(context.seed);
    if (samples_ == 1) return finish(problem, evaluator, draw(choices, random), repair_);

    GroupPlacement best;
    Evaluation best_evaluation;
    for (std::int64_t drawn = 0; drawn < samples_ && (best.empty() || !stopped(context));) {
      std::vector<GroupPlacement> batch;
      std::vector<Placement> placements;
      for (; drawn < samples_ && static_cast<std::int64_t>(batch.size()) < kBatch; ++drawn) {
        batch.push_back(draw(choices, random));
        if (repair_) keep_to_parameters(problem, batch.back());
        placements.push_back(problem.groups().expand(batch.back()));
      }
      std::vector<Evaluation> evaluations(placements.size());
      evaluator.evaluate(placements, evaluations);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        if (!best.empty() && !better(evaluations[i], best_evaluation)) continue;
        best = std::move(batch[i]);
        best_evaluation = std::move(evaluations[i]);
      }
      if (context.progress) {
        context.progress(best_evaluation.objective_us, std::to_string(drawn) + " samples");
      }
    }
    return finish(problem, evaluator, std::move(best), repair_);
  }

 private:
  /// The devices among which each group draws: those it is spread over that can run it, or where
  /// none can, any that does.
  [[nodiscard]] std::vector<std::vector<DeviceId>> choices_of_groups(const Problem& problem) const {
    const std::vector<DeviceId> some = spread_devices(problem, hosts_);
    const std::vector<DeviceId> all = spread_devices(problem, /*hosts=*/true);
    std::vector<std::vector<DeviceId>> choices(static_cast<std::size_t>(problem.groups().count()));
    for (GroupId group = 0; group < problem.groups().count(); ++group) {
      std::vector<DeviceId>& able = choices[static_cast<std::size_t>(group)];
      for (const auto* devices : {&some, &all}) {
        if (!able.empty()) break;
        std::copy_if(devices->begin(), devices->end(), std::back_inserter(able),
                     [&](DeviceId device) { return problem.can_run(group, device); });
      }
    }
    return choices;
  }

  static GroupPlacement draw(const std::vector<std::vector<DeviceId>>& choices, Random& random) {
    GroupPlacement placement;
    placement.reserve(choices.size());
    for (const std::vector<DeviceId>& devices : choices) {
      placement.push_back(devices[random.below(devices.size())]);
    }
    return placement;
  }

  static bool better(const Evaluation& a, const Evaluation& b) {
    return std::tuple(!a.feasible, a.excess_bytes, a.objective_us) <
           std::tuple(!b.feasible, b.excess_bytes, b.objective_us);
  }

  std::int64_t samples_;
  bool hosts_;
  bool repair_;
};

constexpr OptionSpec kOptions[] = {
    {"samples", OptionType::integer, "1", "placements drawn, >= 1; the best is returned"},
    {"hosts", OptionType::boolean, "true",
     "draw host devices too; false keeps them for what nothing else can run"},
    kRepairOption};

}  // namespace
}  // namespace berth::policies

BERTH_POLICY_PLUGIN(berth::policies::RandomPolicy, "random", "1.0",
                    "a uniformly random device for every group", berth::policies::kOptions)
