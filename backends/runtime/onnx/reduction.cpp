// Ops that fold dimensions into one value, a running value, or an order.
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "runtime/best.h"
#include "runtime/extremes.h"
#include "runtime/onnx/planes.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"
#include "runtime/running.h"

namespace berth::runtime::onnx {
namespace {

// Axes are an attribute, or since opset 18 (ReduceSum: 13) an input; none = all, unless the op
// says that none means none. Over none each element is reduced by itself, and so is a scalar: its
// square, its logarithm.
template <auto reduce>
Kernel make_reduction(const KernelRequest& request) {
  const IntsOperand axes(request, "axes", 1);
  const bool keep = int_attribute(request.instruction, "keepdims", 1) != 0;
  const bool none_is_none = int_attribute(request.instruction, "noop_with_empty_axes", 0) != 0;
  return widened([axes, keep, none_is_none](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    Ints over = axes.get(in).value_or(Ints{});
    if (over.empty() && !none_is_none) {
      over.resize(static_cast<std::size_t>(x.dim()));
      std::iota(over.begin(), over.end(), 0);
    }
    for (std::int64_t& axis : over) axis = normal_axis(axis, x.dim());
    out[0].tensor = over.empty() ? reduce(x.unsqueeze(0), {0}, false) : reduce(x, over, keep);
  });
}

Tensor sum(const Tensor& x, const Ints& axes, bool keep) {
  return at::sum(x, axes, keep, x.scalar_type());
}

// ATen's mean of integers is refused; ONNX's is the truncated quotient. The mean of nothing is ONNX Runtime's: ONNX leaves
// it open, and empty bags of embeddings have it.
Tensor mean(const Tensor& x, const Ints& axes, bool keep) {
  if (x.numel() == 0) return sum(x, axes, keep);
  if (at::isFloatingType(x.scalar_type())) return at::mean(x, axes, keep);
  return at::mean(x.to(at::kDouble), axes, keep).to(x.scalar_type());
}

// ATen reduces one axis at a time.
Tensor product(const Tensor& x, const Ints& axes, bool keep) {
  Ints descending = axes;
  std::sort(descending.rbegin(), descending.rend());
  Tensor y = x;
  for (const std::int64_t axis : descending) y = at::prod(y, axis, keep, x.scalar_type());
  return y;
}

Tensor l1(const Tensor& x, const Ints& axes, bool keep) {
  return sum(at::abs(x), axes, keep);
}

Tensor sum_of_squares(const Tensor& x, const Ints& axes, bool keep) {
  return sum(at::square(x), axes, keep);
}

Tensor l2(const Tensor& x, const Ints& axes, bool keep) {
  return at::sqrt(sum_of_squares(x, axes, keep)).to(x.scalar_type());
}

Tensor log_sum(const Tensor& x, const Ints& axes, bool keep) {
  return at::log(sum(x, axes, keep)).to(x.scalar_type());
}

Tensor log_sum_exp(const Tensor& x, const Ints& axes, bool keep) {
  return at::logsumexp(x, axes, keep);
}

template <bool max>
Kernel make_arg(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const std::int64_t axis = int_attribute(op, "axis", 0);
  const bool keep = int_attribute(op, "keepdims", 1) != 0;
  const bool last = int_attribute(op, "select_last_index", 0) != 0;
  return widened([axis, keep, last](KernelContext&, Inputs in, Outputs out) {
    const Tensor& given = tensor_at(in, 0);
    const std::int64_t at_axis = normal_axis(axis, given.dim());
    out[0].tensor = index_of_extreme(given, at_axis, keep, max, last);
  });
}

template <Running::Kind kind>
Kernel make_running(const KernelRequest& request) {
  const IntsOperand axis(request, "", 1);
  const Running running{kind, int_attribute(request.instruction, "exclusive", 0) != 0,
                        int_attribute(request.instruction, "reverse", 0) != 0};
  return widened([axis, running](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    out[0].tensor = running(x, normal_axis(axis.need_one(in), x.dim()));
  });
}

// The number of values is an attribute before opset 10.
Kernel make_top_k(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const auto stated = int_attribute(op, "k", -1);
  const IntsOperand k_operand(request, "", 1);
  const std::int64_t axis = int_attribute(op, "axis", -1);
  const bool max = int_attribute(op, "largest", 1) != 0;
  // Whether the result must be sorted does not matter: sorted is one of the orders allowed.
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const std::int64_t k = stated >= 0 ? stated : k_operand.need_one(in);
    const Best found = best(x, k, normal_axis(axis, x.dim()), max);
    out[0].tensor = found.values;
    if (out.size() > 1) out[1].tensor = found.indices;
  });
}

constexpr KernelRow kRows[] = {
    {"ArgMax", make_arg<true>},
    {"ArgMin", make_arg<false>},
    {"CumProd", make_running<Running::Kind::product>},
    {"CumSum", make_running<Running::Kind::sum>},
    {"ReduceL1", make_reduction<l1>},
    {"ReduceL2", make_reduction<l2>},
    {"ReduceLogSum", make_reduction<log_sum>},
    {"ReduceLogSumExp", make_reduction<log_sum_exp>},
    {"ReduceMax", make_reduction<largest>},
    {"ReduceMean", make_reduction<mean>},
    {"ReduceMin", make_reduction<smallest>},
    {"ReduceProd", make_reduction<product>},
    {"ReduceSum", make_reduction<sum>},
    {"ReduceSumSquare", make_reduction<sum_of_squares>},
    {"TopK", make_top_k},
};

}  // namespace

std::span<const KernelRow> reduction_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
