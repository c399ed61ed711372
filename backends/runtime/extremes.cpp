#include "runtime/extremes.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <limits>

namespace berth::runtime {
namespace {

Tensor of_nothing(const Tensor& x, const Ints& axes, bool keep, bool largest) {
  const at::ScalarType type = x.scalar_type();
  const Tensor shape_of = at::sum(at::zeros(x.sizes()), axes, keep);
  if (type == at::kBool) return at::full(shape_of.sizes(), !largest, x.options());
  if (at::isFloatingType(type)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return at::full(shape_of.sizes(), largest ? -infinity : infinity, x.options());
  }
  return AT_DISPATCH_INTEGRAL_TYPES(type, "extreme of nothing", [&] {
    using Limits = std::numeric_limits<scalar_t>;
    return at::full(shape_of.sizes(), largest ? Limits::lowest() : Limits::max(), x.options());
  });
}

}  // namespace

Tensor largest(const Tensor& x, const Ints& axes, bool keep) {
  return x.numel() == 0 ? of_nothing(x, axes, keep, true) : at::amax(x, axes, keep);
}

Tensor smallest(const Tensor& x, const Ints& axes, bool keep) {
  return x.numel() == 0 ? of_nothing(x, axes, keep, false) : at::amin(x, axes, keep);
}

}  // namespace berth::runtime
