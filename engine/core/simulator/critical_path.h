// Finds what a recorded step actually waited for.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "simulator/observer.h"
#include "simulator/plan.h"

namespace berth::simulator {

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// The events of one step, their times, and their reasons.
struct TracedStep {
  struct Op {
    double ready_us = 0;
    double start_us = 0;
    double end_us = 0;
    std::uint32_t device = 0;
    Cause previous;  ///< what kept its device busy before it: an op, or a transfer it received
    Cause cause;     ///< what released it
  };
  struct Sent {
    std::uint32_t message = kNone;
    std::uint32_t sender = 0;
    DeviceId receiver = kNoDevice;
    double queued_us = 0;
    double start_us = 0;
    double end_us = 0;
    /// The last to end of the transfers that held one of its engines or channels before it.
    std::uint32_t blocked_by = kNone;
    /// Where the receiver copies: when it could have begun, and what it did before; else never and
    /// nothing.
    double arrival_us = -1;
    Cause previous;
  };
  std::vector<Op> ops;          ///< by Index
  std::vector<Sent> transfers;  ///< by number; the unused ones have no message
};

/// Walks back from the event that ended the step: from each op or transfer to what it waited for
/// last. `place` maps transfer numbers to StepTrace::transfers.
[[nodiscard]] std::vector<CriticalStep> critical_path(const Plan& plan, const TracedStep& record,
                                                      const std::vector<std::int32_t>& place,
                                                      double runtime_us);

}  // namespace berth::simulator
