#include "reports/drawable.h"

#include <algorithm>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth {

void check_drawable(const Problem& problem, const Placement& placement, const StepTrace& trace) {
  const auto ops = at(problem.graph().op_count());
  const DeviceId devices = problem.cluster().device_count();
  if (placement.size() != ops) {
    throw Error(ErrorCode::invalid_argument,
                cat("a placement of ", placement.size(), " ops, and the graph has ", ops,
                    "; draw a placement of this graph"));
  }
  const bool on_devices = std::all_of(placement.begin(), placement.end(), [&](DeviceId device) {
    return device >= 0 && device < devices;
  });
  if (!on_devices) {
    throw Error(ErrorCode::invalid_argument,
                cat("a placement on devices that the cluster of ", devices,
                    " lacks; draw a placement on this cluster"));
  }
  if (trace.op_start_us.size() != ops || trace.op_end_us.size() != ops ||
      trace.devices.size() != at(devices)) {
    throw Error(ErrorCode::invalid_argument,
                "a trace of another graph or cluster; draw what Simulator::trace gave for this "
                "problem and placement");
  }
}

CriticalFlags::CriticalFlags(const StepTrace& trace)
    : op(trace.op_start_us.size(), false), transfer(trace.transfers.size(), false) {
  for (const CriticalStep& step : trace.critical_path) {
    if (step.op == kNoOp) {
      transfer[at(step.transfer)] = true;
    } else {
      op[at(step.op)] = true;
    }
  }
}

}  // namespace berth
