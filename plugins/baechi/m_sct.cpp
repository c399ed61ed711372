// Baechi's m-SCT as a policy; see earliest_task.h and favourite_children.h for the method.
#include <string>

#include "baechi/earliest_task.h"
#include "baechi/favourite_children.h"
#include "berth/error.h"
#include "berth/plugin.h"
#include "berth/sdk/repair.h"
#include "common/spread.h"

namespace berth::policies::baechi {
namespace {

class SmallTransfersPolicy final : public Policy {
 public:
  explicit SmallTransfersPolicy(const Options& options)
      : max_nodes_(options.integer("lp_nodes")),
        hosts_(options.boolean("hosts")),
        contention_(options.boolean("contention")),
        repair_(options.boolean("repair")) {}

  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    const std::vector<DeviceId> devices = spread_devices(problem, hosts_);
    const std::vector<OpId> favourites = favourite_children(
        problem, MeanTimes(problem, devices), static_cast<GroupId>(max_nodes_), context);
    return place_within_memory(problem, evaluator, context, repair_, [&](double output_share) {
      return schedule_earliest_task_first(problem, devices, {contention_, output_share}, favourites,
                                          context)
          .placement();
    });
  }

 private:
  std::int64_t max_nodes_;
  bool hosts_;
  bool contention_;
  bool repair_;
};

constexpr OptionSpec kOptions[] = {
    {"lp_nodes", OptionType::integer, "1000",
     "nodes of the linear program; a graph of more groups is coarsened to so many",
     OptionRange::at_least(1).up_to(1000000)},
    {"hosts", OptionType::boolean, "false",
     "give host devices ops too, however slow; false keeps them for what nothing else can run"},
    kScheduleContentionOption,
    kRepairOption};

}  // namespace

BERTH_PLUGIN(SmallTransfersPolicy, "m-sct", "1.0",
             "earliest task first, favourite children kept together by an LP (Baechi)", kOptions);

}  // namespace berth::policies::baechi
