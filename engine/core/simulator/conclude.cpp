#include "simulator/conclude.h"

#include <algorithm>

#include "berth/support/index.h"
#include "simulator/load.h"

namespace berth::simulator {

void judge(const Problem& problem, std::span<const DeviceId> placement, Evaluation& out) {
  out.feasible = true;
  out.worst_device = kNoDevice;
  out.excess_bytes = 0;
  for (DeviceId d = 0; d < problem.cluster().device_count(); ++d) {
    const std::int64_t excess_bytes = out.peak_bytes[at(d)] - problem.memory_bytes(d);
    if (excess_bytes <= out.excess_bytes) continue;
    out.feasible = false;
    out.worst_device = d;
    out.excess_bytes = excess_bytes;
  }
  if (!out.feasible || problem.separations().empty()) return;
  out.worst_device = problem.crowded_device(placement);
  out.feasible = out.worst_device == kNoDevice;
}

void conclude(const Plan& plan, std::span<const DeviceId> placement, const MemoryScratch& memory,
              double runtime_us, Evaluation& out) {
  out.objective_us = out.runtime_us = runtime_us;
  out.max_load_us = 0;
  device_compute(plan, placement, out.busy_us);
  out.peak_bytes.resize(plan.device_count);
  std::transform(memory.peaks.begin(), memory.peaks.end(), out.peak_bytes.begin(),
                 [](const Peak& peak) { return peak.bytes; });
  judge(*plan.problem, placement, out);
}

}  // namespace berth::simulator
