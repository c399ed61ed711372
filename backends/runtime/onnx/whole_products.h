// Sums of products of quantized numbers, exact, in i32; sums of more than 2^31 wrap around where all numbers have 8 bits.
#pragma once

#include "runtime/onnx/support.h"
#include "runtime/onnx/windows.h"

namespace berth::runtime::onnx {

/// A quantized tensor and its zero point, which lines up with it; or undefined.
struct Quantized {
  Tensor values;
  Tensor zero;
};

/// at::matmul of what both stand for without their scales.
[[nodiscard]] Tensor whole_product(const Quantized& a, const Quantized& b);

struct WholeConvolution {
  Kernel plain;  ///< a kernel of Conv with the same attributes
  WindowAttributes windows;
  std::int64_t groups;

  /// The result for such images and weights.
  [[nodiscard]] Tensor of(KernelContext& context, const Quantized& images,
                          const Quantized& weight) const;
};

}  // namespace berth::runtime::onnx
