#include "runtime/products.h"

#include <ATen/Functions.h>

#include <vector>

namespace berth::runtime {
namespace {

bool has_blas(const at::Tensor& a, const at::Tensor& b) {
  return a.is_cpu() && (a.scalar_type() == at::kFloat || a.scalar_type() == at::kDouble) &&
         b.is_cpu() && b.scalar_type() == a.scalar_type();
}

bool is_row(const at::Tensor& a, const at::Tensor& b) {
  return has_blas(a, b) && b.dim() == 2 && a.dim() > 0 && a.numel() > 0 &&
         a.numel() == a.size(-1) && b.size(0) == a.numel();
}

/// Whether a few rows are multiplied by a matrix of their own, which is worth a call for each row.
bool are_few_rows(const at::Tensor& a, const at::Tensor& b) {
  constexpr std::int64_t kFew = 4, kWorthACall = 4096;
  return has_blas(a, b) && a.dim() > 2 && a.dim() == b.dim() && a.numel() > 0 &&
         a.size(-2) <= kFew && a.size(-1) == b.size(-2) && b.size(-2) * b.size(-1) >= kWorthACall &&
         a.sizes().slice(0, a.sizes().size() - 2) == b.sizes().slice(0, b.sizes().size() - 2);
}

void multiply_rows(const at::Tensor& a, const at::Tensor& b, const at::Tensor& y) {
  for (std::int64_t i = 0; i < a.size(0); ++i) {
    at::Tensor to = y.select(0, i);
    if (a.dim() > 2) {
      multiply_rows(a.select(0, i), b.select(0, i), to);
    } else {
      at::mv_out(to, b.t(), a.select(0, i));
    }
  }
}

at::Tensor by_rows(const at::Tensor& a, const at::Tensor& b) {
  std::vector<std::int64_t> shape = a.sizes().vec();
  shape.back() = b.size(-1);
  const at::Tensor y = at::empty(shape, a.options());
  multiply_rows(a, b, y);
  return y;
}

}  // namespace

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  if (is_row(a, b)) {
    std::vector<std::int64_t> shape = a.sizes().vec();
    shape.back() = b.size(1);
    return at::mv(b.t(), a.reshape({-1})).reshape(shape);
  }
  if (are_few_rows(a, b)) return by_rows(a, b);
  if (a.dim() > 2 && b.dim() > 2 && b.size(-1) == 1 && are_few_rows(b.mT(), a.mT())) {
    return by_rows(b.mT(), a.mT()).mT().contiguous();
  }
  return at::matmul(a, b);
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (weight.dim() != 2 || !is_row(x, weight.t())) return at::linear(x, weight, bias);
  const at::Tensor y = product(x, weight.t());
  return bias.defined() ? at::add(y, bias) : y;
}

}  // namespace berth::runtime
