// Devices in order of speed, each filled with whole layers as its memory allows: what accelerate calls
// sequential, and what llama.cpp's users do by hand.
#include "berth/plugin.h"
#include "berth/sdk/repair.h"
#include "stages/chain.h"

namespace berth::policies::stages {
namespace {

class FillPolicy final : public Policy {
 public:
  explicit FillPolicy(const Options& options) : repair_(options.boolean("repair")) {}

  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    const Chain chain(problem);
    const std::vector<DeviceId> devices = chain.by_speed();
    std::vector<std::int64_t> room;
    for (const DeviceId device : devices) room.push_back(problem.memory_bytes(device));
    const Plan plan = filled_to_fit(chain, devices, std::move(room), evaluator, context);
    return answer_of(chain, plan, evaluator, repair_, context);
  }

 private:
  bool repair_;
};

constexpr OptionSpec kOptions[] = {kRepairOption};

}  // namespace

BERTH_PLUGIN(FillPolicy, "fill", "1.0",
             "whole layers on the fastest device while it has room, then on the next", kOptions);

}  // namespace berth::policies::stages
