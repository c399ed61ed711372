#include "runtime/power.h"

#include <ATen/Functions.h>

namespace berth::runtime {

at::Tensor power(const at::Tensor& base, const at::Tensor& exponent) {
  const bool is_one_number =
      exponent.numel() == 1 && exponent.dim() <= base.dim() && exponent.device().is_cpu();
  const bool is_real = base.is_floating_point() && !exponent.is_complex() &&
                       at::result_type(base, exponent) == base.scalar_type();
  if (is_one_number && is_real) {
    // Its loop for 1/2 is that of roots, which of -infinity have none.
    const double number = exponent.item().toDouble();
    if (number == 2 || number == 3) return at::pow(base, number);
  }
  return at::pow(base, exponent);
}

}  // namespace berth::runtime
