// How much memory the ops of a plan may ever take, whatever happens when.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/plan.h"

namespace berth::simulator {

/// A device's peak is no more than the sum over its ops and what is common.
struct Footprints {
  explicit Footprints(const Plan& plan);

  std::vector<std::int64_t> op_bytes;  ///< by Index
  std::int64_t common_bytes = 0;
};

}  // namespace berth::simulator
