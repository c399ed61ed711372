#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <limits>

#include "step.h"

namespace berth::runtime {

double difference(const at::Tensor& a, const at::Tensor& b) {
  constexpr double kAll = std::numeric_limits<double>::infinity();
  if (!a.defined() || !b.defined() || a.scalar_type() != b.scalar_type() ||
      a.sizes() != b.sizes()) {
    return kAll;
  }
  if (a.numel() == 0) return 0;
  const auto numbers = [](const at::Tensor& tensor) {
    const at::Tensor parts = tensor.is_complex() ? at::view_as_real(tensor.resolve_conj()) : tensor;
    return parts.cpu().to(at::kDouble);
  };
  const at::Tensor x = numbers(a), y = numbers(b);
  const at::Tensor finite = at::isfinite(y);
  if (!at::equal(at::isfinite(x), finite)) return kAll;
  const at::Tensor zeros = at::zeros_like(x);
  // Infinities are equal to themselves, what is no number to nothing.
  const at::Tensor odd_x = at::where(finite, zeros, x), odd_y = at::where(finite, zeros, y);
  if (!at::equal(odd_x.isnan(), odd_y.isnan()) ||
      !at::equal(at::where(odd_x.isnan(), zeros, odd_x), at::where(odd_y.isnan(), zeros, odd_y))) {
    return kAll;
  }
  const at::Tensor apart = at::where(finite, x - y, zeros).abs();
  return (apart / at::where(finite, y, zeros).abs().clamp_min(1)).max().item().toDouble();
}

}  // namespace berth::runtime
