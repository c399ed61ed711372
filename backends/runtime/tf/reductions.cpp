// Sums and the like over dimensions, and along one.
#include <ATen/Functions.h>

#include <limits>

#include "berth/error.h"
#include "runtime/extremes.h"
#include "runtime/running.h"
#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

/// `axes` distinct, ascending and not empty.
using Reduction = Tensor (*)(const Tensor& x, const Ints& axes, bool keep);

Tensor sum(const Tensor& x, const Ints& axes, bool keep) {
  return at::sum(x, axes, keep, x.scalar_type());
}

Tensor mean(const Tensor& x, const Ints& axes, bool keep) {
  if (x.is_floating_point() || x.is_complex()) return x.mean(axes, keep);
  std::int64_t count = 1;
  for (const std::int64_t axis : axes) count *= x.size(axis);
  // Sums of few bits are TensorFlow's in more.
  const at::ScalarType wide = x.element_size() < 4 ? at::kLong : x.scalar_type();
  return at::sum(x, axes, keep, wide).div(count, "trunc").to(x.scalar_type());
}

template <class Step>
Tensor one_by_one(Tensor x, const Ints& axes, const Step& step) {
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) x = step(x, *axis);
  return x;
}

Tensor product(const Tensor& x, const Ints& axes, bool keep) {
  return one_by_one(x, axes, [&](const Tensor& y, std::int64_t axis) {
    return at::prod(y, axis, keep, x.scalar_type());
  });
}
Tensor all(const Tensor& x, const Ints& axes, bool keep) {
  return one_by_one(x, axes,
                    [&](const Tensor& y, std::int64_t axis) { return at::all(y, axis, keep); });
}
Tensor any(const Tensor& x, const Ints& axes, bool keep) {
  return one_by_one(x, axes,
                    [&](const Tensor& y, std::int64_t axis) { return at::any(y, axis, keep); });
}

/// (x, axes)
template <Reduction reduction>
Kernel make_reduction(const KernelRequest& request) {
  const bool keep = int_attribute(request.instruction, "keep_dims", 0) != 0;
  return [keep, axes = IntsInput(request, 1)](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Ints over = normal_axes(axes.get(in), x.dim());
    out[0].tensor = over.empty() ? x : reduction(x, over, keep);
  };
}

Kernel make_half_square(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    const Tensor flat = tensor_at(in, 0).reshape({-1});
    out[0].tensor = at::dot(flat, flat) * 0.5;
  };
}

/// Leaves out what is no number, which ATen has as the largest and as the smallest. It compares no truths.
Tensor numbers(const Tensor& x, double in_place_of_nan) {
  if (x.scalar_type() == at::kBool) return x.to(at::kByte);
  return at::isFloatingType(x.scalar_type()) ? at::masked_fill(x, at::isnan(x), in_place_of_nan)
                                             : x;
}
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor position_of_largest(const Tensor& x, std::int64_t axis) {
  return at::argmax(numbers(x, -kInfinity), axis);
}
Tensor position_of_smallest(const Tensor& x, std::int64_t axis) {
  return at::argmin(numbers(x, kInfinity), axis);
}

/// (x, axis)
template <Tensor (*function)(const Tensor&, std::int64_t)>
Kernel make_position(const KernelRequest& request) {
  const at::ScalarType wanted = type(request.instruction, "output_type", at::kLong);
  return [wanted, axis = IntsInput(request, 1)](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    out[0].tensor = function(x, normal_axis(axis.one(in), x.dim())).to(wanted);
  };
}

/// (x, axis)
template <Running::Kind kind>
Kernel make_running(const KernelRequest& request) {
  const Running running{kind, int_attribute(request.instruction, "exclusive", 0) != 0,
                        int_attribute(request.instruction, "reverse", 0) != 0};
  return [running, axis = IntsInput(request, 1)](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    out[0].tensor = running(x, normal_axis(axis.one(in), x.dim()));
  };
}

constexpr KernelRow kRows[] = {
    {"All", make_reduction<all>},
    {"Any", make_reduction<any>},
    {"ArgMax", make_position<position_of_largest>},
    {"ArgMin", make_position<position_of_smallest>},
    {"Cumprod", make_running<Running::Kind::product>},
    {"Cumsum", make_running<Running::Kind::sum>},
    {"CumulativeLogsumexp", make_running<Running::Kind::log_sum>},
    {"L2Loss", make_half_square},
    {"Max", make_reduction<largest>},
    {"Mean", make_reduction<mean>},
    {"Min", make_reduction<smallest>},
    {"Prod", make_reduction<product>},
    {"Sum", make_reduction<sum>},
};

}  // namespace

std::span<const KernelRow> reduction_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
