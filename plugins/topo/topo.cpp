// Contiguous parts of the graph in topological order, one per device, with the compute balanced.
// The experts of Mirhoseini et al., ICML 2017, placed Inception-V3 in contiguous parts too.
#include "common/spread.h"
#include "topo/contiguous.h"

namespace berth::policies::topo {
namespace {

class TopoPolicy final : public SpreadPolicy {
 public:
  using SpreadPolicy::SpreadPolicy;

 private:
  [[nodiscard]] GroupPlacement spread(const Problem& problem,
                                      const std::vector<DeviceId>& devices) const override {
    // Kinds that alternate along the order, or memory that contiguous parts cannot share out, are
    // left to repair_placement; without rules there is always a cut.
    for (const ContiguousRules rules :
         {ContiguousRules{.memory = true, .kinds = true}, {.memory = false, .kinds = true}}) {
      if (auto placement = cut_contiguously(problem, devices, rules)) return *placement;
    }
    return cut_contiguously(problem, devices, {.memory = false, .kinds = false}).value();
  }
};

constexpr OptionSpec kOptions[] = {
    {"hosts", OptionType::boolean, "false",
     "give host devices a part too; false keeps them for what nothing else can run"},
    kRepairOption};

}  // namespace

BERTH_PLUGIN(TopoPolicy, "topo", "1.0",
             "contiguous parts in topological order, compute balanced within memory", kOptions);

}  // namespace berth::policies::topo
