#include "simulator/placeto_memory.h"

#include <algorithm>
#include <cmath>

#include "berth/support/index.h"

namespace berth::simulator {

Stay placeto_stay(const Plan& plan, const Workspace& workspace, Index op) {
  Stay stay{workspace.state[op] & kDeviceMask, workspace.op_start_us[op], workspace.op_start_us[op],
            plan.output_bytes[op]};
  const OpRow& row = plan.rows[op];
  for (std::uint32_t e = row.begin; e < row.end; ++e) {
    const Index consumer = plan.consumers[e];
    const std::uint32_t device = workspace.state[consumer] & kDeviceMask;
    const double cost_us = workspace.placeto_devices[device].duration_us[consumer];
    const double end_us = std::trunc(workspace.op_start_us[consumer]) + std::trunc(cost_us) - 1;
    stay.end_us = std::max(stay.end_us, end_us);
  }
  return stay;
}

void placeto_peaks(const Plan& plan, Workspace& workspace) {
  MemoryScratch& scratch = workspace.memory;
  scratch.peaks.assign(plan.device_count, {});
  scratch.row_start_us.resize(workspace.row_total);
  scratch.row_bytes.assign(workspace.row_total, 0);
  for (std::uint32_t d = 0; d < plan.device_count; ++d) {
    // The peak is reached when an op starts, so it is enough to know, for each op of the device,
    // before which later op its outputs are gone. No sorting: ops start in the order of the queue.
    const std::uint32_t begin = workspace.begin[d];
    const std::uint32_t end = workspace.placeto_devices[d].head;
    double* const starts = scratch.row_start_us.data();
    for (std::uint32_t k = begin; k < end; ++k) {
      starts[k] = workspace.op_start_us[workspace.queue[k]];
    }
    for (std::uint32_t k = begin; k < end; ++k) {
      const Index op = workspace.queue[k];
      if (plan.output_bytes[op] == 0) continue;
      const double end_us = placeto_stay(plan, workspace, op).end_us;
      const auto gone = std::upper_bound(starts + k + 1, starts + end, end_us) - starts;
      scratch.row_bytes[k] += plan.output_bytes[op];
      scratch.row_bytes[at(gone)] -= plan.output_bytes[op];
    }
    std::int64_t usage = 0;
    Peak& peak = scratch.peaks[d];
    for (std::uint32_t k = begin; k < end; ++k) {
      usage += scratch.row_bytes[k];
      if (usage > peak.bytes) {
        peak = {usage, starts[k], plan.ids[workspace.queue[k]]};
      }
    }
  }
}

}  // namespace berth::simulator
