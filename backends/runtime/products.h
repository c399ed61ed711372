// Products of matrices for the kernels of all dialects.
#pragma once

#include <ATen/core/Tensor.h>

namespace berth::runtime {

/// at::matmul. A single row by a matrix on a CPU is computed as a vector's product: BLAS copies the whole matrix into
/// blocks before it multiplies matrices, which takes two to four times as long as the product itself.
[[nodiscard]] at::Tensor product(const at::Tensor& a, const at::Tensor& b);

/// at::linear, of rows as `product`. `weight` [out, in]; `bias` [out] or undefined.
[[nodiscard]] at::Tensor linear(const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& bias);

}  // namespace berth::runtime
