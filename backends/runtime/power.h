// Powers.
#pragma once

#include <ATen/core/Tensor.h>

namespace berth::runtime {

/// at::pow. Squares and cubes of real numbers, by one exponent in host memory, take a sixth of the time: ATen has loops
/// for them, which it takes for exponents that are no tensors.
[[nodiscard]] at::Tensor power(const at::Tensor& base, const at::Tensor& exponent);

}  // namespace berth::runtime
