// Quantized tensors of 8 bits on a CPU, in one pass over their numbers where ATen takes one for each step. They give what
// those steps give, to the bit.
#pragma once

#include "runtime/onnx/support.h"

namespace berth::runtime::onnx {

/// (x - zero) * scale in f32; both line up with x, and `zero` may be undefined. Undefined unless x has 8 bits, and a scale
/// and a zero point for all or for each index of an axis.
[[nodiscard]] Tensor dequantized_bytes(const Tensor& x, const Tensor& scale, const Tensor& zero);

/// x / scale, rounded to even, + zero, saturated: of `type`. Undefined unless that has 8 bits, x is f32, and there is one
/// scale and one zero point for all.
[[nodiscard]] Tensor quantized_bytes(const Tensor& x, const Tensor& scale, const Tensor& zero,
                                     at::ScalarType type);

/// Real numbers of sums of products: (sum + summand) * factor, in f64.
struct Rescaling {
  Tensor factor;
  Tensor summand;     ///< or undefined
  std::int64_t axis;  ///< of the sums; along others neither differs, in most models
};
/// quantized_bytes of the real numbers of sums in i32, rounded to f32. Undefined, too, where those differ along other axes.
[[nodiscard]] Tensor requantized_bytes(const Tensor& sums, const Rescaling& real,
                                       const Tensor& scale, const Tensor& zero,
                                       at::ScalarType type);

}  // namespace berth::runtime::onnx
