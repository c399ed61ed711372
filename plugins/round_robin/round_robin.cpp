// Group i on device i mod n, groups in topological order: how the code of public translation models
// (GNMT) places its layers.
#include "common/spread.h"

namespace berth::policies::round_robin {
namespace {

class RoundRobinPolicy final : public SpreadPolicy {
 public:
  using SpreadPolicy::SpreadPolicy;

 private:
  [[nodiscard]] GroupPlacement spread(const Problem& problem,
                                      const std::vector<DeviceId>& devices) const override {
    GroupPlacement placement;
    for (GroupId group = 0; group < problem.groups().count(); ++group) {
      placement.push_back(device_of(problem, group, devices));
    }
    return placement;
  }

  /// Its turn's device, or the next one in turn that can run the group; if none can, its turn's
  /// all the same, which repair_placement puts right.
  static DeviceId device_of(const Problem& problem, GroupId group,
                            const std::vector<DeviceId>& devices) {
    const auto turn = static_cast<std::size_t>(group);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const DeviceId device = devices[(turn + i) % devices.size()];
      if (problem.can_run(group, device)) return device;
    }
    return devices[turn % devices.size()];
  }
};

constexpr OptionSpec kOptions[] = {
    {"hosts", OptionType::boolean, "false",
     "give host devices a turn too; false keeps them for what nothing else can run"},
    kRepairOption};

}  // namespace

BERTH_PLUGIN(RoundRobinPolicy, "round_robin", "1.0",
             "group i on device i mod n, in topological order", kOptions);

}  // namespace berth::policies::round_robin
