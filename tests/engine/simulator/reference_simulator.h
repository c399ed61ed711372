// The rules of both semantics, written down slowly: an event list that is searched for the next
// event, sets of names for what is held. For comparison with the engine's simulator, which must
// agree to the last bit.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/problem.h"

namespace berth::test {

struct ReferenceStep {
  double runtime_us = 0;
  std::vector<double> start_us;          ///< by op
  std::vector<std::int64_t> peak_bytes;  ///< by device
};

/// By the problem's semantics.
[[nodiscard]] ReferenceStep reference_step(const Problem& problem, const Placement& placement);

/// The throughput objective: memory per device, with the steps in flight.
[[nodiscard]] std::vector<std::int64_t> reference_stages(const Problem& problem,
                                                         const Placement& placement);

/// The throughput objective: load per device.
[[nodiscard]] std::vector<double> reference_loads(const Problem& problem,
                                                  const Placement& placement);

/// The throughput objective of dataflow semantics: the largest load of a channel.
[[nodiscard]] double reference_channel_load(const Problem& problem, const Placement& placement);

}  // namespace berth::test
