// What a placement would be worth with some ops on another device.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "berth/explanation.h"

namespace berth::reports {

/// Why none of `ops` but for its own sake may be on the device; empty: they may.
[[nodiscard]] std::string refusal(const Problem& problem, const std::vector<OpId>& ops,
                                  DeviceId device);

/// The costs of a step.
struct Worth {
  double objective_us = 0;
  std::int64_t lacking_bytes = 0;  ///< by all devices together; above 0: it does not fit
};
[[nodiscard]] Worth worth_of(const Problem& problem, const Evaluation& evaluation);

/// The step with some ops on `device`.
struct Elsewhere {
  DeviceId device = kNoDevice;
  std::string refused;  ///< why they may not be there; empty = they may
  Worth worth;
  std::int64_t excess_bytes = 0;  ///< Evaluation::excess_bytes

  [[nodiscard]] bool possible() const { return refused.empty(); }
};

/// The reason that keeps `ops` on their device, by what every other device would cost. `now`: the step as it
/// is. Empty where only simulations of the step with them elsewhere can tell; `where` is then
/// the device to ask about: the best of those that compute them no more slowly, else the best.
[[nodiscard]] std::optional<Bound> bound_by(const Problem& problem, const std::vector<OpId>& ops,
                                            DeviceId device, const Worth& now,
                                            const std::vector<Elsewhere>& others, DeviceId& where);
/// Compute, communication, contention or order, by simulations of the step with `ops` on `where`.
[[nodiscard]] Bound reason_of(const Outcome& outcome, const std::vector<OpId>& ops, double now_us,
                              DeviceId where);

/// Ops that must share a device.
struct Unit {
  std::vector<OpId> ops;
  std::vector<Elsewhere> elsewhere;  ///< every other device, in the cluster's order
  std::optional<Bound> bound;        ///< empty: it was not simulated
};

/// The units on the critical path first, then those that compute longest; as many as a fixed number
/// of simulated ops allows, and `should_stop`: once it says so, no further one is tried. Objectives
/// are simulated, also where the placement was measured.
struct UnitsElsewhere {
  double now_us = 0;  ///< the placement as it is, simulated
  std::vector<Unit> units;
  bool all = true;  ///< false: of the ops that are in no unit nothing is known
};
[[nodiscard]] UnitsElsewhere units_elsewhere(const Outcome& outcome,
                                             const std::function<bool()>& should_stop);

}  // namespace berth::reports
