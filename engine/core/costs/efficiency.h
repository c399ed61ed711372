// The share of a device's peaks that an op class reaches.
#pragma once

#include "berth/graph.h"

namespace berth::costs {

struct Efficiency {
  double compute;    ///< share of the peak FLOP/s, in (0, 1]
  double bandwidth;  ///< share of the memory bandwidth, in (0, 1]
  bool matrix;       ///< matrix products: the peak of narrow types and tensor cores applies
};

/// `host`: the table of a CPU. One number per class and side, whatever the size of the work: what
/// makes small and thin work inefficient is told by thread_blocks.h and by the device's per-op
/// overhead.
[[nodiscard]] const Efficiency& efficiency(OpClass op_class, bool host) noexcept;

}  // namespace berth::costs
