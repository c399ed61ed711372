// Products of matrices for the kernels of all dialects.
#pragma once

#include <ATen/core/Tensor.h>

namespace berth::runtime {

/// at::matmul. On a CPU a single row by a matrix is computed as a vector's product, and so are the few rows, or the one
/// column, that each of several matrices is multiplied by: BLAS copies the whole matrix into blocks before it multiplies
/// matrices, which takes two to four times as long as the product itself.
[[nodiscard]] at::Tensor product(const at::Tensor& a, const at::Tensor& b);

/// at::linear, of rows as `product`. `weight` [out, in]; `bias` [out] or undefined.
[[nodiscard]] at::Tensor linear(const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& bias);

}  // namespace berth::runtime
