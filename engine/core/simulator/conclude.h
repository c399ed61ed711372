// Turns a finished step, or loads, into an Evaluation.
#pragma once

#include <span>

#include "berth/simulator.h"
#include "simulator/memory.h"
#include "simulator/plan.h"

namespace berth::simulator {

/// Feasibility: compares out.peak_bytes with the devices' memory, and checks separations.
void judge(const Problem& problem, std::span<const DeviceId> placement, Evaluation& out);

/// All of `out` for a step that took `runtime_us` and left `memory.peaks`.
void conclude(const Plan& plan, std::span<const DeviceId> placement, const MemoryScratch& memory,
              double runtime_us, Evaluation& out);

}  // namespace berth::simulator
