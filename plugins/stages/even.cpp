// Whole layers by the memory of the devices: llama.cpp's default, and what accelerate calls balanced.
#include <algorithm>
#include <numeric>

#include "berth/plugin.h"
#include "berth/sdk/repair.h"
#include "common/spread.h"
#include "stages/chain.h"

namespace berth::policies::stages {
namespace {

class EvenPolicy final : public Policy {
 public:
  explicit EvenPolicy(const Options& options)
      : equal_(options.text("by") == "layers"), repair_(options.boolean("repair")) {}

  [[nodiscard]] bool takes_starts() const override { return false; }
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    const Chain chain(problem);
    const std::vector<DeviceId> devices = spread_devices(problem, /*hosts=*/false);
    Plan plan = by_share(problem, chain, devices);
    if (!evaluator.evaluate(chain.placement(plan)).feasible)
      plan = within_memory(problem, chain, plan, evaluator, context);
    return answer_of(chain, plan, evaluator, repair_, context);
  }

 private:
  /// The device of a unit is that of the middle of its bytes among all.
  [[nodiscard]] Plan by_share(const Problem& problem, const Chain& chain,
                              const std::vector<DeviceId>& devices) const {
    std::int64_t most = 1;
    for (const DeviceId device : devices) most = std::max(most, problem.memory_bytes(device));
    std::vector<double> share;
    for (const DeviceId device : devices) {
      const std::int64_t memory = problem.memory_bytes(device);
      share.push_back(equal_ ? 1 : static_cast<double>(memory == kNoLimit ? most : memory));
    }
    const double all = std::max(1.0, std::accumulate(share.begin(), share.end(), 0.0));
    // A unit without parameters still counts as one among many.
    double total = 0;
    const auto weight = [&](int unit) {
      return equal_ ? 1 : static_cast<double>(chain[unit].param_bytes) + 1;
    };
    for (int unit = 0; unit < chain.count(); ++unit) total += weight(unit);
    Plan plan{devices, {}, std::vector<int>(devices.size(), 0)};
    int unit = 0;
    double before = 0, up_to = 0;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      up_to += share[i] / all;
      const bool last = i + 1 == devices.size();
      for (; unit < chain.count(); ++unit) {
        const double middle = (before + weight(unit) / 2) / total;
        if (!last && middle > up_to) break;
        before += weight(unit);
      }
      plan.ends.push_back(unit);
    }
    return plan;
  }

  /// No device takes more than its share, nor than it has room for; what is left goes to the next, and
  /// at last to hosts.
  static Plan within_memory(const Problem& problem, const Chain& chain, const Plan& plan,
                            Evaluator& evaluator, const PlaceContext& context) {
    std::vector<DeviceId> devices = plan.devices;
    std::vector<std::int64_t> room;
    int unit = 0;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      std::int64_t bytes = 0;
      for (; unit < plan.ends[i]; ++unit) bytes += chain[unit].param_bytes;
      // The last one takes what the others could not hold.
      room.push_back(i + 1 == devices.size() ? problem.memory_bytes(devices[i]) : bytes);
    }
    for (const DeviceId device : chain.by_speed()) {
      if (std::find(devices.begin(), devices.end(), device) != devices.end()) continue;
      devices.push_back(device);
      room.push_back(problem.memory_bytes(device));
    }
    return filled_to_fit(chain, devices, std::move(room), evaluator, context);
  }

  bool equal_;
  bool repair_;
};

constexpr OptionSpec kOptions[] = {{"by",
                                    OptionType::text,
                                    "memory",
                                    "what is shared out: bytes by the devices' memory, or layers, "
                                    "as many to each device, which is "
                                    "what vLLM and DeepSpeed do",
                                    {},
                                    "memory,layers"},
                                   kRepairOption};

}  // namespace

BERTH_PLUGIN(EvenPolicy, "even", "1.0", "whole layers, shared out by the devices' memory",
             kOptions);

}  // namespace berth::policies::stages
