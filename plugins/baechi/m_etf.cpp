// Baechi's m-ETF as a policy; see earliest_task.h for the method and its sources.
#include "baechi/earliest_task.h"
#include "common/spread.h"

namespace berth::policies::baechi {
namespace {

class EarliestTaskPolicy final : public ListPolicy {
 public:
  using ListPolicy::ListPolicy;

 private:
  [[nodiscard]] Schedule schedule(const Problem& problem, const std::vector<DeviceId>& devices,
                                  ScheduleRules rules, const PlaceContext& context) const override {
    return schedule_earliest_task_first(problem, devices, rules, /*favourite_child=*/{}, context);
  }
};

constexpr OptionSpec kOptions[] = {
    {"hosts", OptionType::boolean, "false",
     "give host devices ops too, however slow; false keeps them for what nothing else can run"},
    kScheduleContentionOption,
    kRepairOption};

}  // namespace

BERTH_PLUGIN(EarliestTaskPolicy, "m-etf", "1.0",
             "the op that can start first goes first, within memory (Baechi)", kOptions);

}  // namespace berth::policies::baechi
