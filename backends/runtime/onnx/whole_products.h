// Sums of products of quantized numbers, exact, in i32, f32 or f64.
#pragma once

#include "runtime/onnx/support.h"

namespace berth::runtime::onnx {

/// A quantized tensor and its zero point, which lines up with it; or undefined.
struct Quantized {
  Tensor values;
  Tensor zero;
};

/// at::matmul of what both stand for without their scales.
[[nodiscard]] Tensor whole_product(const Quantized& a, const Quantized& b);

/// The result of `convolution`, a kernel of Conv with this many groups, for such images and weights.
[[nodiscard]] Tensor whole_convolution(const Kernel& convolution, KernelContext& context,
                                       const Quantized& images, const Quantized& weight,
                                       std::int64_t groups);

}  // namespace berth::runtime::onnx
