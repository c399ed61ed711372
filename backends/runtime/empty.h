// Functions of tensors without elements that ATen refuses, for the kernels of all dialects.
#pragma once

#include "runtime/support.h"

namespace berth::runtime {

/// at::constant_pad_nd, also of and to no elements: `pads` are before and after each dimension, those of the last
/// dimension first; less than 0 takes away.
[[nodiscard]] Tensor padded(const Tensor& x, at::IntArrayRef pads, const at::Scalar& value = 0);

/// A convolution's weight as ATen wants it for these images: for none, in order.
[[nodiscard]] Tensor weight_for(const Tensor& images, const Tensor& weight);

}  // namespace berth::runtime
