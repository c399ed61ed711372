// Rates that a device's units reach, by element type and by how the program that runs a step computes products.
#pragma once

#include <optional>

#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/graph.h"

namespace berth::costs {

/// Peak FLOP/s in `dtype`. Only matrix products get the peaks of narrow types. In practice, vector
/// units compute narrow types no faster than f32, because most kernels convert.
[[nodiscard]] double peak_flops(const Device& device, DType dtype, bool matrix) noexcept;

/// The least setting under which the work takes a device's TF32. Empty: none does.
[[nodiscard]] std::optional<Tf32> least_tf32(const Work& work) noexcept;

/// The rate that matrix products of a class reach per second while the whole device is busy.
struct ProductRate {
  double flops;
  double element_bytes;  ///< of an operand
};
/// Requires work of a class with `matrix` (efficiency.h).
[[nodiscard]] ProductRate product_rate(const Work& work, const Device& device,
                                       const Arithmetic& arithmetic) noexcept;

}  // namespace berth::costs
