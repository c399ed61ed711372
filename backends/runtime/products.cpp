#include "runtime/products.h"

#include <ATen/Functions.h>

#include <vector>

namespace berth::runtime {
namespace {

bool is_row(const at::Tensor& a, const at::Tensor& b) {
  const bool is_blas = a.scalar_type() == at::kFloat || a.scalar_type() == at::kDouble;
  return a.is_cpu() && is_blas && b.scalar_type() == a.scalar_type() && b.dim() == 2 &&
         a.dim() > 0 && a.numel() > 0 && a.numel() == a.size(-1) && b.size(0) == a.numel();
}

}  // namespace

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  if (!is_row(a, b)) return at::matmul(a, b);
  std::vector<std::int64_t> shape = a.sizes().vec();
  shape.back() = b.size(1);
  return at::mv(b.t(), a.reshape({-1})).reshape(shape);
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (weight.dim() != 2 || !is_row(x, weight.t())) return at::linear(x, weight, bias);
  const at::Tensor y = product(x, weight.t());
  return bias.defined() ? at::add(y, bias) : y;
}

}  // namespace berth::runtime
