// Whole layers by the memory of the devices: what accelerate calls balanced, and llama.cpp's default.
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
      : by_(options.text("by") == "layers"   ? By::layers
            : options.text("by") == "number" ? By::number
                                             : By::memory),
        answering_(options) {}

  [[nodiscard]] bool takes_starts() const override { return false; }
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    const Chain chain(problem);
    const std::vector<DeviceId> devices = spread_devices(problem, /*hosts=*/false);
    Plan plan = by_share(problem, chain, devices);
    const bool outside = answering_.alone && !chain.displaced(plan).empty();
    if (outside || !evaluator.evaluate(chain.placement(plan)).feasible)
      plan = within_memory(problem, chain, plan, evaluator, context);
    return answer_of(chain, plan, evaluator, answering_, context);
  }

 private:
  enum class By { memory, layers, number };

  /// The device of a unit is that of the middle of its bytes among all; by number, that of where it begins.
  [[nodiscard]] Plan by_share(const Problem& problem, const Chain& chain,
                              const std::vector<DeviceId>& devices) const {
    const std::vector<double> share = shares(problem, devices);
    const double all = std::max(1.0, std::accumulate(share.begin(), share.end(), 0.0));
    // A unit without parameters still counts as one among many; one on hosts alone has no number.
    const auto weight = [&](int unit) -> double {
      if (by_ == By::number) return chain.on_hosts_alone(unit) ? 0 : 1;
      return by_ == By::layers ? 1 : static_cast<double>(chain[unit].param_bytes) + 1;
    };
    double total = 0;
    for (int unit = 0; unit < chain.count(); ++unit) total += weight(unit);
    Plan plan{devices, {}, std::vector<int>(devices.size(), 0)};
    int unit = 0;
    double before = 0, up_to = 0;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      up_to += share[i] / all;
      const bool last = i + 1 == devices.size();
      for (; unit < chain.count(); ++unit) {
        const bool beyond = by_ == By::number ? before / total >= up_to
                                              : (before + weight(unit) / 2) / total > up_to;
        if (!last && beyond) break;
        before += weight(unit);
      }
      plan.ends.push_back(unit);
    }
    return plan;
  }

  /// The share of each device: its memory as the machine has it, or what constraints leave of it.
  [[nodiscard]] std::vector<double> shares(const Problem& problem,
                                           const std::vector<DeviceId>& devices) const {
    std::vector<std::int64_t> memory;
    for (const DeviceId device : devices) {
      memory.push_back(by_ == By::number ? problem.cluster().device(device).memory_bytes
                                         : problem.memory_bytes(device));
    }
    std::int64_t most = 1;
    for (const std::int64_t bytes : memory) most = bytes == kNoLimit ? most : std::max(most, bytes);
    std::vector<double> share;
    for (const std::int64_t bytes : memory) {
      share.push_back(by_ == By::layers ? 1
                                        : static_cast<double>(bytes == kNoLimit ? most : bytes));
    }
    return share;
  }

  /// No device takes more than its share, nor than it has room for; what is left goes to the next, and
  /// at last to hosts, unless runs are alone: tools have no hosts behind their GPUs.
  [[nodiscard]] Plan within_memory(const Problem& problem, const Chain& chain, const Plan& plan,
                                   Evaluator& evaluator, const PlaceContext& context) const {
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
      if (answering_.alone && problem.cluster().device(device).host) continue;
      devices.push_back(device);
      room.push_back(problem.memory_bytes(device));
    }
    return filled_to_fit(chain, devices, std::move(room), evaluator, context);
  }

  By by_;
  Answering answering_;
};

constexpr OptionSpec kOptions[] = {{"by",
                                    OptionType::text,
                                    "memory",
                                    "what is shared out: bytes by the devices' memory; layers, as "
                                    "many to each device, which is what vLLM and DeepSpeed do; or "
                                    "their number by the memory, as llama.cpp does",
                                    {},
                                    "memory,layers,number"},
                                   kAloneOption,
                                   kRepairOption};

}  // namespace

BERTH_PLUGIN(EvenPolicy, "even", "1.0", "whole layers, shared out by the devices' memory",
             kOptions);

}  // namespace berth::policies::stages
