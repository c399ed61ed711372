// HEFT as a policy; see earliest_finish.h for the method and its source.
#include "berth/plugin.h"
#include "berth/sdk/repair.h"
#include "common/list_scheduling.h"
#include "common/spread.h"
#include "heft/earliest_finish.h"

namespace berth::policies::heft {
namespace {

class HeftPolicy final : public Policy {
 public:
  explicit HeftPolicy(const Options& options)
      : hosts_(options.boolean("hosts")),
        contention_(options.boolean("contention")),
        repair_(options.boolean("repair")) {}

  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    const std::vector<DeviceId> devices = spread_devices(problem, hosts_);
    return place_within_memory(problem, evaluator, context, repair_, [&](double output_share) {
      return schedule_by_earliest_finish(problem, devices, {contention_, output_share}, context)
          .placement();
    });
  }

 private:
  bool hosts_;
  bool contention_;
  bool repair_;
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
