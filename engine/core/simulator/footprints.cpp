#include "simulator/footprints.h"

#include <algorithm>

namespace berth::simulator {

Footprints::Footprints(const Plan& plan) : op_bytes(plan.output_bytes) {
  if (plan.placeto) return;  // counts outputs alone
  std::int64_t largest_workspace = 0;
  for (Index op = 0; op < plan.op_count; ++op) {
    op_bytes[op] += plan.param_bytes[op];
    largest_workspace = std::max(largest_workspace, plan.workspace_bytes[op]);
  }
  common_bytes = largest_workspace;
  for (const Graph::SharedParameter& shared : plan.graph().shared_parameters()) {
    common_bytes += shared.bytes;
  }
}

}  // namespace berth::simulator
