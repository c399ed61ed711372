#pragma once

#include <span>

#include "berth/simulator.h"
#include "simulator/plan.h"

namespace berth::simulator {

/// The whole story of one step; see Simulator::trace.
[[nodiscard]] StepTrace trace_step(const Plan& plan, std::span<const DeviceId> placement);

}  // namespace berth::simulator
