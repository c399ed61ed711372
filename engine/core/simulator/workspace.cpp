#include "simulator/workspace.h"

#include <algorithm>

#include "berth/support/index.h"

namespace berth::simulator {

void Workspace::prepare(const Plan& plan, std::span<const DeviceId> placement) {
  const std::uint32_t ops = plan.op_count;
  const std::uint32_t devices = plan.device_count;
  state.resize(ops);
  // Four counts per device, taken in turn: neighbouring ops are often on one device, and adding to
  // one count over and over waits for each addition.
  counts_.assign(4 * at(devices), 0);
  for (Index i = 0; i < ops; ++i) {
    const auto device = static_cast<std::uint32_t>(placement[at(plan.ids[i])]);
    state[i] = plan.waiting[i] | device;
    counts_[(i % 4) * devices + device] += plan.sends[i];
  }
  begin.resize(devices);
  row_total = 0;
  for (std::uint32_t d = 0; d < devices; ++d) {
    begin[d] = row_total;
    row_total +=
        counts_[d] + counts_[devices + d] + counts_[2 * devices + d] + counts_[3 * devices + d] + 1;
  }
}

}  // namespace berth::simulator
