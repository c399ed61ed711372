// HEFT as a policy; see earliest_finish.h for the method and its source.
#include "berth/plugin.h"
#include "common/list_scheduling.h"
#include "heft/earliest_finish.h"

namespace berth::policies {
namespace {

class HeftPolicy final : public Policy {
 public:
  explicit HeftPolicy(const Options& options)
      : hosts_(options.boolean("hosts")),
        contention_(options.boolean("contention")),
        repair_(options.boolean("repair")) {}

  Placement place(const Problem& problem, Evaluator& evaluator, PlaceContext& context) override {
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
}  // namespace berth::policies

BERTH_POLICY_PLUGIN(berth::policies::HeftPolicy, "heft", "1.0",
                    "list scheduling by upward rank and earliest finish time (HEFT)",
                    berth::policies::kOptions)
