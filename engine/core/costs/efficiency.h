// The share of a device's peaks that an op class reaches.
#pragma once

#include "berth/cluster.h"
#include "berth/dtype.h"
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

/// The shares of a device's peaks that large matrix products reach, by what they are computed in. Other
/// classes of products reach no more.
struct ProductShares {
  double f32;  ///< by vector units
  double f16;
  double others;
  double integers;  ///< of `flops_8`, of weights in blocks with scales; 0 = no kernels of that kind
};
/// Chosen by the device's maker, where machines in words know its kind, and by its figures.
[[nodiscard]] const ProductShares& product_shares(const Device& device) noexcept;
[[nodiscard]] double share_of(const ProductShares& shares, DType dtype) noexcept;

}  // namespace berth::costs
