// Proposals from the idle time of a step. Latency only.
#pragma once

#include <span>
#include <vector>

#include "auto/units.h"
#include "berth/simulator.h"

namespace berth::policies::auto_policy {

/// A time in which a device has nothing to do, not counting the pauses of placeto semantics.
struct Gap {
  DeviceId device;
  double begin_us;
  double us;
};

/// All gaps of the step of `placement`, each device's last one up to the end of the step included;
/// by begin.
[[nodiscard]] std::vector<Gap> gaps_of(const Problem& problem, std::span<const DeviceId> placement,
                                       const StepTrace& trace);

/// A unit one of whose ops waits for its busy device when `to` runs out of work.
struct Fill {
  UnitId unit;
  DeviceId to;
};

/// Ops that could have run in the gaps: every waiting op that has its inputs when a gap of
/// another device begins, if its unit has a choice of devices. `gaps` are those of the step.
[[nodiscard]] std::vector<Fill> fills_of(const Problem& problem, const Units& units,
                                         std::span<const DeviceId> placement,
                                         const StepTrace& trace, std::span<const Gap> gaps);

/// Whether one of each unit's ops starts before `share` of all idle time has passed, or some time
/// earlier: the cure of a gap lies before it.
[[nodiscard]] std::vector<bool> settled_units(const Units& units, const StepTrace& trace,
                                              std::span<const Gap> gaps, double share);
/// The same of the step of `placement`, which is simulated for it.
[[nodiscard]] std::vector<bool> settled_units(const Simulator& simulator, const Units& units,
                                              std::span<const DeviceId> placement, double share);

}  // namespace berth::policies::auto_policy
