// The first half of the groups on one device, the second on the next: an example of a policy.
#include "berth/plugin.h"
#include "common/repair.h"

namespace berth::policies::halves {
namespace {

class HalvesPolicy final : public Policy {
 public:
  explicit HalvesPolicy(const Options& options) : repair_(options.boolean("repair")) {}

  PolicyAnswer place(Evaluator& evaluator, const PlaceContext&) override {
    const Problem& problem = evaluator.problem();
    const std::vector<DeviceId> devices = spread_devices(problem, /*hosts=*/false);
    const GroupId count = problem.groups().count();
    GroupPlacement placement;
    for (GroupId group = 0; group < count; ++group) {
      placement.push_back(group < count / 2 ? devices.front() : devices[1 % devices.size()]);
    }
    return finish(problem, evaluator, std::move(placement), repair_);
  }

 private:
  bool repair_;
};

constexpr OptionSpec kOptions[] = {kRepairOption};

}  // namespace

BERTH_PLUGIN(HalvesPolicy, "halves", "1.0", "the first half on one device, the second on the next",
             kOptions);

}  // namespace berth::policies::halves
