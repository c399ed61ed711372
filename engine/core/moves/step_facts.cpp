#include "moves/step_facts.h"

#include <algorithm>
#include <numeric>

namespace berth::moves {

using simulator::Index;
using simulator::Plan;

namespace {

bool fits_anyhow(const Plan& plan, const simulator::Footprints& footprints) {
  if (plan.cluster().has_keepers()) return false;  // their worker may hold a tensor and its copy
  const std::int64_t bytes = std::accumulate(footprints.op_bytes.begin(), footprints.op_bytes.end(),
                                             footprints.common_bytes);
  for (DeviceId device = 0; device < plan.cluster().device_count(); ++device) {
    if (plan.problem->memory_bytes(device) < bytes) return false;
  }
  return true;
}

}  // namespace

StepFacts::StepFacts(const Plan& plan)
    : busy_us(plan.duration_us),
      end_of_readers(plan.op_count, 0),
      footprints(plan),
      always_fits(fits_anyhow(plan, footprints)) {
  if (plan.placeto) {
    for (double& us : busy_us) us += us == 0 ? 0 : plan.problem->options().device_gap_us;
  }
  for (DeviceId d = 0; d < plan.cluster().device_count(); ++d) {
    busy_rows.push_back(busy_us.data() + (plan.durations_on(d) - plan.duration_us.data()));
  }
  for (std::uint32_t m = 0; m < plan.messages.size(); ++m) {
    Index& end = end_of_readers[plan.message_producer[m]];
    for (std::uint32_t e = plan.messages[m].begin; e < plan.messages[m].end; ++e) {
      end = std::max(end, plan.consumers[e] + 1);
    }
  }
}

}  // namespace berth::moves
