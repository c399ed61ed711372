// The most memory that the ops of a plan can take, in whatever order things happen.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/plan.h"

namespace berth::simulator {

/// The peak of a device is at most the sum over its ops, plus the tensors that it receives, plus the common
/// part. It has no tensor twice, so that it is no more than the sum over all ops plus the common part.
struct Footprints {
  explicit Footprints(const Plan& plan);

  std::vector<std::int64_t> op_bytes;  ///< by Index
  std::int64_t common_bytes = 0;
};

}  // namespace berth::simulator
