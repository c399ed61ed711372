// Baechi's m-ETF as a policy; see earliest_task.h for the method and its sources.
#include "baechi/earliest_task.h"
#include "berth/plugin.h"
#include "berth/sdk/repair.h"
#include "common/list_scheduling.h"
#include "common/spread.h"

namespace berth::policies::baechi {
namespace {

class EarliestTaskPolicy final : public Policy {
 public:
  explicit EarliestTaskPolicy(const Options& options)
      : hosts_(options.boolean("hosts")),
        contention_(options.boolean("contention")),
        repair_(options.boolean("repair")) {}

  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    const std::vector<DeviceId> devices = spread_devices(problem, hosts_);
    return place_within_memory(problem, evaluator, context, repair_, [&](double output_share) {
      return schedule_earliest_task_first(problem, devices, {contention_, output_share},
                                          /*favourite_child=*/{}, context)
          .placement();
    });
  }

 private:
  bool hosts_;
  bool contention_;
  bool repair_;
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
