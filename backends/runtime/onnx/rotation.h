// Heads of attention turned by their positions.
#pragma once

#include "runtime/support.h"

namespace berth::runtime::onnx {

/// Turns x [batch, heads, length, size] by cos and sin [batch or 1, 1, length, half of what is turned]; the rest of each
/// head stays. Pairs are neighbours where they are interleaved, else one half from the other.
[[nodiscard]] Tensor rotated(const Tensor& x, const Tensor& cos, const Tensor& sin,
                             bool interleaved);

}  // namespace berth::runtime::onnx
