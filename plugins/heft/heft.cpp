// HEFT as a policy; see earliest_finish.h for the method and its source.
#include "common/spread.h"
#include "heft/earliest_finish.h"

namespace berth::policies::heft {
namespace {

class HeftPolicy final : public ListPolicy {
 public:
  using ListPolicy::ListPolicy;

 private:
  [[nodiscard]] Schedule schedule(const Problem& problem, const std::vector<DeviceId>& devices,
                                  ScheduleRules rules, const PlaceContext& context) const override {
    return schedule_by_earliest_finish(problem, devices, rules, context);
  }
};

constexpr OptionSpec kOptions[] = {
    {"hosts", OptionType::boolean, "true",
     "let host devices compete; false keeps them for what nothing else can run"},
    kScheduleContentionOption,
    kRepairOption};

}  // namespace

BERTH_PLUGIN(HeftPolicy, "heft", "1.0",
             "list scheduling by upward rank and earliest finish time (HEFT)", kOptions);

}  // namespace berth::policies::heft
