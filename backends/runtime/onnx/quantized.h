// Quantized tensors: real = (quantized - zero point) * scale.
#pragma once

#include "runtime/onnx/support.h"

namespace berth::runtime::onnx {

/// A value per element of one axis, lined up with x; a block of `block` elements shares one.
[[nodiscard]] Tensor along(const Tensor& values, const Tensor& x, std::int64_t axis,
                           std::int64_t block);

/// The type that an op quantizes to: that of its input `zero_point`, or `output_dtype`; u8 without either.
[[nodiscard]] DType quantized_type(const KernelRequest& request, std::size_t zero_point);
/// Throws Error(unsupported) for a type that no kernel quantizes to.
void check_quantized(DType dtype);

/// Rounds to even, and saturates. `zero` may be undefined.
[[nodiscard]] Tensor quantize(const Tensor& x, const Tensor& scale, const Tensor& zero,
                              DType dtype);
/// In the type of `scale`. `zero` may be undefined.
[[nodiscard]] Tensor dequantize(const Tensor& x, const Tensor& scale, const Tensor& zero);

struct Dynamic {
  Tensor values;  ///< u8
  Tensor scale;
  Tensor zero;  ///< u8
};
/// Quantizes by the range of x, made to hold 0.
[[nodiscard]] Dynamic dynamically_quantized(const Tensor& x);

/// The only output of another op's kernel.
[[nodiscard]] Tensor computed(const Kernel& kernel, KernelContext& context,
                              const std::vector<Value>& inputs);

}  // namespace berth::runtime::onnx
