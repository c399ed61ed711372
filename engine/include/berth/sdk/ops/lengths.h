/// @file
/// Lengths that ONNX's Resize and Upsample give an axis. Shapes are inferred and kernels compute by the same function.
#pragma once

#include <cmath>
#include <cstdint>

namespace berth::ops::onnx {

/// Multiplies in f32, as ONNX Runtime does: 3 by 7/3 is 7, and 10 by 0.7 is 7. Not a length (below 0, or not finite)
/// where the scale is none.
[[nodiscard]] inline double scaled_length(std::int64_t length, double scale) noexcept {
  return std::floor(static_cast<float>(scale) * static_cast<float>(length));
}

/// The same rounded, for axes that keep their ratio.
[[nodiscard]] inline double nearest_length(std::int64_t length, double scale) noexcept {
  return std::round(static_cast<float>(scale) * static_cast<float>(length));
}

}  // namespace berth::ops::onnx
