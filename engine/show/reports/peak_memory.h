// The content of a device's memory at its peak.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/problem.h"
#include "berth/simulator.h"

namespace berth::reports {

/// Something in a device's memory.
struct Holding {
  enum class What { output, copy, workspace };
  OpId op = kNoOp;  ///< the producer, or the op that works
  What what = What::output;
  std::int64_t bytes = 0;
};

struct PeakHoldings {
  std::int64_t param_bytes = 0;
  std::vector<Holding> holdings;  ///< largest first
};

/// The content by device at its DeviceUsage::peak_us: the rules of `dataflow` semantics, as simulator/memory.h
/// states them. In `placeto` semantics outputs alone, by the same rules, which are not its own: what
/// is large is large in both.
[[nodiscard]] std::vector<PeakHoldings> holdings_at_peaks(const Problem& problem,
                                                          const Placement& placement,
                                                          const StepTrace& trace);

}  // namespace berth::reports
