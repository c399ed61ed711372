// Baechi's m-SCT as a policy; see earliest_task.h and favourite_children.h for the method.
#include "baechi/earliest_task.h"
#include "baechi/favourite_children.h"
#include "common/spread.h"

namespace berth::policies::baechi {
namespace {

class SmallTransfersPolicy final : public ListPolicy {
 public:
  explicit SmallTransfersPolicy(const Options& options)
      : ListPolicy(options), max_nodes_(static_cast<GroupId>(options.integer("lp_nodes"))) {}

 private:
  void prepare(const Problem& problem, const std::vector<DeviceId>& devices,
               const PlaceContext& context) override {
    favourites_ = favourite_children(problem, MeanTimes(problem, devices), max_nodes_, context);
  }
  [[nodiscard]] Schedule schedule(const Problem& problem, const std::vector<DeviceId>& devices,
                                  ScheduleRules rules, const PlaceContext& context) const override {
    return schedule_earliest_task_first(problem, devices, rules, favourites_, context);
  }

  GroupId max_nodes_;
  std::vector<OpId> favourites_;  // of the problem in hand
};

constexpr OptionSpec kOptions[] = {
    {"lp_nodes", OptionType::integer, "1000",
     "nodes of the linear program; a graph of more groups is coarsened to that number",
     OptionRange::at_least(1).up_to(1000000)},
    {"hosts", OptionType::boolean, "false",
     "give host devices ops too, however slow; false keeps them for what nothing else can run"},
    kScheduleContentionOption,
    kRepairOption};

}  // namespace

BERTH_PLUGIN(SmallTransfersPolicy, "m-sct", "1.0",
             "earliest task first, favourite children kept together by an LP (Baechi)", kOptions);

}  // namespace berth::policies::baechi
