#include "runtime/overwriting.h"

#include <ATen/ExpandUtils.h>
#include <ATen/Functions.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "runtime/pointwise.h"
#include "runtime/support.h"

namespace berth::runtime {
namespace {

using Kind = Pointwise::Kind;

/// LibTorch computes with less than 32 bits on GPUs alone.
bool can_be_overwritten(const Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() && tensor.use_count() == 1 &&
         tensor.storage().use_count() == 1 && at::isFloatingType(tensor.scalar_type()) &&
         !(tensor.is_cpu() && is_half(tensor)) && tensor.is_non_overlapping_and_dense();
}

/// Whether two operands give a tensor of the type and shape of `y`.
bool give_shape_of(const Tensor& y, Inputs in) {
  if (in.size() != 2 || !has(in, 0) || !has(in, 1)) return false;
  const Tensor &a = in[0].tensor, &b = in[1].tensor;
  if (a.scalar_type() != b.scalar_type() || a.device() != b.device()) return false;
  return a.sizes() == b.sizes() || at::infer_size(a.sizes(), b.sizes()) == y.sizes();
}

/// Writes the output to `y`, which is one of the inputs. False: it cannot, and has written nothing.
using Write = std::function<bool(Inputs in, Tensor y)>;
using WriteMaker = Write (*)(const KernelRequest& request);

/// A function of one tensor that overwrites it.
template <auto function>
Write unary(const KernelRequest& /*request*/) {
  return [](Inputs, Tensor y) {
    function(y);
    return true;
  };
}

template <Kind kind>
Write pointwise_over(const KernelRequest& /*request*/) {
  return [](Inputs, const Tensor& y) {
    Pointwise{kind, 1, 0}.overwrite(y);
    return true;
  };
}

/// A function of two operands, one of which may be broadcast.
template <auto function>
Write binary(const KernelRequest& request) {
  // Old op sets of ONNX line operands up otherwise.
  if (request.instruction.attribute<std::int64_t>("axis") != nullptr) return nullptr;
  return [](Inputs in, Tensor y) {
    const bool fits = give_shape_of(y, in);
    if (fits) function(y, in[0].tensor, in[1].tensor);
    return fits;
  };
}

/// A function of a tensor and the attribute alpha, 1 where it is not stated.
template <auto function>
Write with_alpha(const KernelRequest& request) {
  const double alpha = float_attribute(request.instruction, "alpha", 1);
  return [alpha](Inputs, Tensor y) {
    function(y, alpha);
    return true;
  };
}

Write selu(const KernelRequest& request) {
  const double alpha = float_attribute(request.instruction, "alpha", 1.67326319217681884765625);
  const double gamma = float_attribute(request.instruction, "gamma", 1.05070102214813232421875);
  return [alpha, gamma](Inputs, Tensor y) {
    at::elu_(y, alpha, gamma);
    return true;
  };
}

Write hard_sigmoid(const KernelRequest& request) {
  const double alpha = float_attribute(request.instruction, "alpha", 0.2);
  const double beta = float_attribute(request.instruction, "beta", 0.5);
  return [alpha, beta](Inputs, Tensor y) {
    y.mul_(alpha).add_(beta).clamp_(0, 1);
    return true;
  };
}

Write leaky_relu(const KernelRequest& request) {
  const bool is_onnx = request.program.graph->dialect() == "onnx";
  const double alpha = float_attribute(request.instruction, "alpha", is_onnx ? 0.01 : 0.2);
  return [alpha](Inputs, Tensor y) {
    at::leaky_relu_(y, alpha);
    return true;
  };
}

/// The limits are attributes in old op sets.
Write clip(const KernelRequest& request) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double low = float_attribute(request.instruction, "min", -kInfinity);
  const double high = float_attribute(request.instruction, "max", kInfinity);
  return [low, high](Inputs in, const Tensor& y) {
    if (!y.is_cpu() || y.scalar_type() != at::kFloat) return false;
    const auto limit = [&](std::size_t i, double fallback) {
      return has(in, i) ? in[i].tensor.item<double>() : fallback;
    };
    Pointwise{Kind::clip, limit(1, low), limit(2, high)}.overwrite(y);
    return true;
  };
}

/// Along the last axis of rows that lie in a row, each of which is read before it is written.
template <auto function>
Write softmax(const KernelRequest& request) {
  std::optional<std::int64_t> axis;
  if (request.program.graph->dialect() == "onnx") {
    if (request.instruction.version < 13) return nullptr;
    axis = int_attribute(request.instruction, "axis", -1);
  }
  return [axis](Inputs, Tensor y) {
    const std::int64_t last = y.dim() - 1;
    if (!y.is_cpu() || !y.is_contiguous() || last < 0) return false;
    if (axis && normal_axis(*axis, y.dim()) != last) return false;
    function(y, y, last, /*half_to_float=*/false);
    return true;
  };
}

/// (value, bias [channels]): the channels are the last dimension, or the second.
Write bias_add(const KernelRequest& request) {
  const std::string format = text_attribute(request.instruction, "data_format", "NHWC");
  return [first = format.starts_with("NC")](Inputs in, Tensor y) {
    if (!has(in, 1) || in[1].tensor.dim() != 1) return false;
    const Tensor& bias = in[1].tensor;
    const std::int64_t axis = first && y.dim() > 1 ? 1 : y.dim() - 1;
    if (y.dim() == 0 || bias.size(0) != y.size(axis) || bias.device() != y.device()) return false;
    Ints shape(static_cast<std::size_t>(y.dim()), 1);
    shape[static_cast<std::size_t>(axis)] = bias.size(0);
    y.add_(bias.view(shape));
    return true;
  };
}

#define BERTH_UNARY(function) unary<[](Tensor& y) { at::function(y); }>
#define BERTH_BINARY(function) \
  binary<[](Tensor& y, const Tensor& a, const Tensor& b) { at::function(y, a, b); }>

constexpr auto kSoftmax = [](Tensor& y, const Tensor& x, std::int64_t axis, bool wide) {
  at::_softmax_out(y, x, axis, wide);
};
constexpr auto kLogSoftmax = [](Tensor& y, const Tensor& x, std::int64_t axis, bool wide) {
  at::_log_softmax_out(y, x, axis, wide);
};

struct Row {
  std::string_view type;
  WriteMaker make;
};

/// The types of ops::overwritten_inputs.
constexpr Row kRows[] = {
    {"Abs", BERTH_UNARY(abs_)},
    {"Add", BERTH_BINARY(add_out)},
    {"AddN", BERTH_BINARY(add_out)},
    {"AddV2", BERTH_BINARY(add_out)},
    {"BiasAdd", bias_add},
    {"Ceil", BERTH_UNARY(ceil_)},
    {"Celu", with_alpha<[](Tensor& y, double alpha) { at::celu_(y, alpha); }>},
    {"Clip", clip},
    {"Cos", BERTH_UNARY(cos_)},
    {"Div", BERTH_BINARY(div_out)},
    {"Elu", with_alpha<[](Tensor& y, double alpha) { at::elu_(y, alpha); }>},
    {"Erf", pointwise_over<Kind::erf>},
    {"Exp", BERTH_UNARY(exp_)},
    {"Expm1", BERTH_UNARY(expm1_)},
    {"Floor", BERTH_UNARY(floor_)},
    {"HardSigmoid", hard_sigmoid},
    {"LeakyRelu", leaky_relu},
    {"Log", BERTH_UNARY(log_)},
    {"Log1p", BERTH_UNARY(log1p_)},
    {"LogSoftmax", softmax<kLogSoftmax>},
    {"Maximum", BERTH_BINARY(maximum_out)},
    {"Minimum", BERTH_BINARY(minimum_out)},
    {"Mul", BERTH_BINARY(mul_out)},
    {"Neg", BERTH_UNARY(neg_)},
    {"RealDiv", BERTH_BINARY(div_out)},
    {"Reciprocal", BERTH_UNARY(reciprocal_)},
    {"Relu", BERTH_UNARY(relu_)},
    {"Relu6", unary<[](Tensor& y) { at::clamp_(y, 0, 6); }>},
    {"Rint", BERTH_UNARY(round_)},
    {"Round", BERTH_UNARY(round_)},
    {"Rsqrt", BERTH_UNARY(rsqrt_)},
    {"Selu", selu},
    {"Sigmoid", pointwise_over<Kind::sigmoid>},
    {"Sin", BERTH_UNARY(sin_)},
    {"Softmax", softmax<kSoftmax>},
    {"Softplus", unary<[](Tensor& y) { at::softplus_out(y, y); }>},
    {"Softsign", unary<[](Tensor& y) { y.div_(at::abs(y).add_(1)); }>},
    {"Sqrt", BERTH_UNARY(sqrt_)},
    {"Square", unary<[](Tensor& y) { at::square_(y); }>},
    {"SquaredDifference", binary<[](Tensor& y, const Tensor& a, const Tensor& b) {
       at::sub_out(y, a, b);
       at::square_(y);
     }>},
    {"Sub", BERTH_BINARY(sub_out)},
    {"Tanh", BERTH_UNARY(tanh_)},
    {"ThresholdedRelu", with_alpha<[](Tensor& y, double alpha) { at::threshold_(y, alpha, 0); }>},
};

#undef BERTH_UNARY
#undef BERTH_BINARY

WriteMaker maker_of(std::string_view type) {
  const auto* const row = std::ranges::find(kRows, type, &Row::type);
  return row == std::end(kRows) ? nullptr : row->make;
}

}  // namespace

Tensor overwritable_operand(const KernelContext& context, Inputs operands) {
  const std::size_t i = context.overwritten;
  const bool fits = i < operands.size() && can_be_overwritten(operands[i].tensor) &&
                    give_shape_of(operands[i].tensor, operands);
  return fits ? operands[i].tensor : Tensor();
}

Kernel overwriting(const KernelRequest& request, Kernel own) {
  const WriteMaker make = maker_of(request.instruction.type);
  Write write = make == nullptr ? nullptr : make(request);
  if (write == nullptr) return own;
  return [own = std::move(own), write = std::move(write)](KernelContext& context, Inputs in,
                                                          Outputs out) {
    const std::size_t i = context.overwritten;
    if (i < in.size() && can_be_overwritten(in[i].tensor) && write(in, in[i].tensor)) {
      out[0].tensor = in[i].tensor;
    } else {
      own(context, in, out);
    }
  };
}

}  // namespace berth::runtime
