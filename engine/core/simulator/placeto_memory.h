// Memory of a placeto step, looked back on when the step is over; the rules are in memory.h.
#pragma once

#include "simulator/workspace.h"

namespace berth::simulator {

/// After a placeto step that filled workspace.op_start_us: fills workspace.memory.peaks.
void placeto_peaks(const Plan& plan, Workspace& workspace);

/// One stay of an op's outputs in memory (placeto).
struct Stay {
  std::uint32_t device;
  double begin_us;
  double end_us;
  std::int64_t bytes;
};
[[nodiscard]] Stay placeto_stay(const Plan& plan, const Workspace& workspace, Index op);

}  // namespace berth::simulator
