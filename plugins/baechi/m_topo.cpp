// Baechi's m-TOPO (Jeon et al., SoCC 2020, section 3.1): ops in topological order fill one device
// after the other, each up to an equal share of all the bytes (parameters and outputs) plus the
// largest op's. The devices come in the cluster's order: the sources at hand name none, and an order of its own would be
// another method.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "berth/sdk/footprint.h"
#include "berth/support/sums.h"
#include "common/spread.h"

namespace berth::policies::baechi {
namespace {

class FillPolicy final : public SpreadPolicy {
 public:
  using SpreadPolicy::SpreadPolicy;

 private:
  [[nodiscard]] GroupPlacement spread(const Problem& problem,
                                      const std::vector<DeviceId>& devices) const override {
    Footprint footprint(problem, /*output_share=*/1);
    const GroupId count = problem.groups().count();
    std::int64_t total_bytes = 0;
    std::int64_t largest_bytes = 0;
    for (GroupId group = 0; group < count; ++group) {
      const std::int64_t bytes = footprint.alone(group);
      total_bytes = saturating_sum(total_bytes, bytes);
      largest_bytes = std::max(largest_bytes, bytes);
    }
    const std::int64_t share_bytes =
        saturating_sum(total_bytes / static_cast<std::int64_t>(devices.size()), largest_bytes);

    GroupPlacement placement;
    placement.reserve(static_cast<std::size_t>(count));
    std::size_t filling = 0;
    std::int64_t used_bytes = 0;
    for (GroupId group = 0; group < count; ++group) {
      if (saturating_sum(used_bytes, footprint.added(group, devices[filling])) > share_bytes &&
          filling + 1 < devices.size()) {
        ++filling;
        used_bytes = 0;
      }
      used_bytes = saturating_sum(used_bytes, footprint.added(group, devices[filling]));
      footprint.put(group, devices[filling]);
      placement.push_back(devices[filling]);
    }
    return placement;
  }
};

constexpr OptionSpec kOptions[] = {
    {"hosts", OptionType::boolean, "false",
     "fill host devices too; false keeps them for what nothing else can run"},
    kRepairOption};

}  // namespace

BERTH_PLUGIN(FillPolicy, "m-topo", "1.0",
             "fills one device after the other in topological order (Baechi)", kOptions);

}  // namespace berth::policies::baechi
