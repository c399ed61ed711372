// Devices in order of speed, each filled with whole layers as its memory allows: what accelerate calls
// sequential, and what llama.cpp's users do by hand.
#include <algorithm>
#include <utility>
#include <vector>

#include "berth/plugin.h"
#include "berth/sdk/repair.h"
#include "stages/chain.h"

namespace berth::policies::stages {
namespace {

class FillPolicy final : public Policy {
 public:
  explicit FillPolicy(const Options& options)
      : by_speed_(options.text("order") == "speed"),
        host_first_(options.text("hosts") == "first"),
        answering_(options) {}

  [[nodiscard]] bool takes_starts() const override { return false; }
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    const Chain chain(problem);
    const auto is_host = [&](DeviceId device) { return problem.cluster().device(device).host; };
    std::vector<DeviceId> devices = chain.by_speed();  // hosts last
    const auto hosts = std::find_if(devices.begin(), devices.end(), is_host);
    if (!by_speed_) std::sort(devices.begin(), hosts);
    const bool moves = host_first_ && hosts != devices.begin() && hosts != devices.end();
    const auto host_count = static_cast<std::size_t>(devices.end() - hosts);
    if (moves) std::rotate(devices.begin(), hosts, devices.end());
    std::vector<std::int64_t> room;
    for (const DeviceId device : devices) room.push_back(problem.memory_bytes(device));
    Plan plan;
    if (!moves) {
      plan = filled_to_fit(chain, devices, std::move(room), evaluator, context);
    } else {
      plan = behind_hosts(chain, devices, host_count, room, evaluator, context, answering_.alone);
    }
    return answer_of(chain, plan, evaluator, answering_, context);
  }

 private:
  /// The hosts, which are the first of the devices, have as few units as the others leave; with `alone`, as the
  /// others may have too.
  static Plan behind_hosts(const Chain& chain, const std::vector<DeviceId>& devices,
                           std::size_t host_count, const std::vector<std::int64_t>& room,
                           Evaluator& evaluator, const PlaceContext& context, bool alone) {
    Plan plan;
    std::int64_t bytes = 0;
    for (int held = 0; held <= chain.count(); ++held) {
      if (held > 0) bytes += chain[held - 1].param_bytes;
      if (held < chain.hosts_end()) continue;
      std::vector<std::int64_t> some = room;
      std::int64_t left = bytes;
      for (std::size_t i = 0; i < host_count; ++i) {
        some[i] = room[i] == kNoLimit ? left : std::min(room[i], left);
        left -= some[i];
      }
      plan = filled_to_fit(chain, devices, std::move(some), evaluator, context);
      if (context.stopped()) break;
      if (alone && !chain.displaced(plan).empty()) continue;
      if (evaluator.evaluate(chain.placement(plan)).feasible) break;
    }
    return plan;
  }

  bool by_speed_;
  bool host_first_;
  Answering answering_;
};

constexpr OptionSpec kOptions[] = {
    {"order",
     OptionType::text,
     "speed",
     "the order of the devices: speed, the fastest first, or the machine's",
     {},
     "speed,machine"},
    {"hosts",
     OptionType::text,
     "last",
     "where a host takes what is left: the last layers, or the first",
     {},
     "last,first"},
    kAloneOption,
    kRepairOption};

}  // namespace

BERTH_PLUGIN(FillPolicy, "fill", "1.0",
             "whole layers on the fastest device while it has room, then on the next", kOptions);

}  // namespace berth::policies::stages
