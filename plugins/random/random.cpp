// A uniformly random device for every group: the starting point of learned policies, and the
// baseline "random" in the figures of Addanki et al., NeurIPS 2019.
#include "berth/sdk/random.h"

#include <string>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/plugin.h"
#include "berth/sdk/repair.h"
#include "common/spread.h"

namespace berth::policies::random {
namespace {

/// Samples evaluated together.
constexpr std::int64_t kBatch = 64;

/// The devices among which each group draws: those the graph is spread over that can run it, or
/// where none of them can, any that does.
class Choices {
 public:
  Choices(const Problem& problem, bool hosts)
      : problem_(problem),
        some_(by_class(problem, spread_devices(problem, hosts))),
        all_(by_class(problem, spread_devices(problem, /*hosts=*/true))) {}

  [[nodiscard]] GroupPlacement draw(Random& random) const {
    GroupPlacement placement;
    placement.reserve(static_cast<std::size_t>(problem_.groups().count()));
    for (GroupId group = 0; group < problem_.groups().count(); ++group) {
      const auto& classes = count_able(some_, group) > 0 ? some_ : all_;
      placement.push_back(able_device(classes, group, random.below(count_able(classes, group))));
    }
    return placement;
  }

 private:
  /// Devices by Problem::device_class, so that a draw costs no more than there are classes.
  using DevicesByClass = std::vector<std::vector<DeviceId>>;

  static DevicesByClass by_class(const Problem& problem, const std::vector<DeviceId>& devices) {
    DevicesByClass classes(static_cast<std::size_t>(problem.device_class_count()));
    for (const DeviceId device : devices) {
      classes[static_cast<std::size_t>(problem.device_class(device))].push_back(device);
    }
    std::erase_if(classes, [](const auto& of_class) { return of_class.empty(); });
    return classes;
  }

  [[nodiscard]] std::size_t count_able(const DevicesByClass& classes, GroupId group) const {
    std::size_t count = 0;
    for (const std::vector<DeviceId>& devices : classes) {
      if (problem_.can_run(group, devices.front())) count += devices.size();
    }
    return count;
  }

  /// The `index`-th device that can run the group.
  [[nodiscard]] DeviceId able_device(const DevicesByClass& classes, GroupId group,
                                     std::size_t index) const {
    for (const std::vector<DeviceId>& devices : classes) {
      if (!problem_.can_run(group, devices.front())) continue;
      if (index < devices.size()) return devices[index];
      index -= devices.size();
    }
    return kNoDevice;  // not reached: index is below count_able
  }

  const Problem& problem_;
  DevicesByClass some_;
  DevicesByClass all_;
};

class RandomPolicy final : public Policy {
 public:
  explicit RandomPolicy(const Options& options)
      : samples_(options.integer("samples")),
        hosts_(options.boolean("hosts")),
        repair_(options.boolean("repair")) {}

  [[nodiscard]] bool takes_starts() const override { return false; }
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    const Choices choices(problem, hosts_);
    Random random(context.seed);
    if (samples_ == 1)
      return repair_placement(problem, evaluator, choices.draw(random), repair_, context);

    GroupPlacement best;
    Evaluation best_evaluation;
    for (std::int64_t drawn = 0; drawn < samples_ && (best.empty() || !context.stopped());) {
      std::vector<GroupPlacement> batch;
      std::vector<Placement> placements;
      for (; drawn < samples_ && static_cast<std::int64_t>(batch.size()) < kBatch; ++drawn) {
        batch.push_back(choices.draw(random));
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
      if (best_evaluation.feasible && context.progress) {
        context.progress(best_evaluation.objective_us, std::to_string(drawn) + " samples");
      }
    }
    return repair_placement(problem, evaluator, std::move(best), repair_, context);
  }

 private:
  std::int64_t samples_;
  bool hosts_;
  bool repair_;
};

constexpr OptionSpec kOptions[] = {
    {"samples", OptionType::integer, "1", "placements drawn; the best is returned",
     OptionRange::at_least(1)},
    {"hosts", OptionType::boolean, "true",
     "draw host devices too; false keeps them for what nothing else can run"},
    kRepairOption};

}  // namespace

BERTH_PLUGIN(RandomPolicy, "random", "1.0", "a uniformly random device for every group", kOptions);

}  // namespace berth::policies::random
