// Contiguous parts of the graph in topological order, one per device, with the compute balanced.
// The experts of Mirhoseini et al., ICML 2017, placed Inception-V3 in contiguous parts too.
#include "berth/plugin.h"
#include "berth/sdk/repair.h"
#include "common/spread.h"
#include "topo/contiguous.h"

namespace berth::policies::topo {
namespace {

class TopoPolicy final : public Policy {
 public:
  explicit TopoPolicy(const Options& options)
      : hosts_(options.boolean("hosts")), repair_(options.boolean("repair")) {}

  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    const std::vector<DeviceId> devices = spread_devices(problem, hosts_);
    // Kinds that alternate along the order, or memory that contiguous parts cannot share out, are
    // left to `finish`; without rules there is always a cut.
    for (const ContiguousRules rules :
         {ContiguousRules{.memory = true, .kinds = true}, {.memory = false, .kinds = true}}) {
      if (auto placement = cut_contiguously(problem, devices, rules)) {
        return repair_placement(problem, evaluator, std::move(*placement), repair_, context);
      }
    }
    return repair_placement(
        problem, evaluator,
        cut_contiguously(problem, devices, {.memory = false, .kinds = false}).value(), repair_,
        context);
  }

 private:
  bool hosts_;
  bool repair_;
};

constexpr OptionSpec kOptions[] = {
    {"hosts", OptionType::boolean, "false",
     "give host devices a part too; false keeps them for what nothing else can run"},
    kRepairOption};

}  // namespace

BERTH_PLUGIN(TopoPolicy, "topo", "1.0",
             "contiguous parts in topological order, compute balanced within memory", kOptions);

}  // namespace berth::policies::topo
