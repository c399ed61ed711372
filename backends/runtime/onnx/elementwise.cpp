// Ops that compute each element of their output from the elements at its place.
#include <ATen/Functions.h>

#include <limits>

#include "berth/error.h"
#include "runtime/integers.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"
#include "runtime/pointwise.h"
#include "runtime/power.h"

namespace berth::runtime::onnx {
namespace {

using at::Scalar;

// --- one operand ---------------------------------------------------------------------------------

template <auto function>
Kernel make_of_alpha(const KernelRequest& request, double fallback) {
  const double alpha = float_attribute(request.instruction, "alpha", fallback);
  return widened([alpha](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = function(tensor_at(in, 0), alpha);
  });
}

Kernel make_elu(const KernelRequest& request) {
  return make_of_alpha<[](const Tensor& x, double alpha) { return at::elu(x, alpha); }>(request, 1);
}

Kernel make_celu(const KernelRequest& request) {
  return make_of_alpha<[](const Tensor& x, double alpha) { return at::celu(x, alpha); }>(request,
                                                                                         1);
}

Kernel make_leaky_relu(const KernelRequest& request) {
  return make_of_alpha<[](const Tensor& x, double alpha) { return at::leaky_relu(x, alpha); }>(
      request, 0.01);
}

Kernel make_thresholded_relu(const KernelRequest& request) {
  return make_of_alpha<[](const Tensor& x, double alpha) { return at::threshold(x, alpha, 0); }>(
      request, 1);
}

Kernel make_selu(const KernelRequest& request) {
  const double alpha = float_attribute(request.instruction, "alpha", 1.67326319217681884765625);
  const double gamma = float_attribute(request.instruction, "gamma", 1.05070102214813232421875);
  return widened([alpha, gamma](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = at::elu(tensor_at(in, 0), alpha, gamma);
  });
}

Kernel make_hard_sigmoid(const KernelRequest& request) {
  const double alpha = float_attribute(request.instruction, "alpha", 0.2);
  const double beta = float_attribute(request.instruction, "beta", 0.5);
  return widened([alpha, beta](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = at::clamp(at::add(at::mul(tensor_at(in, 0), alpha), beta), 0, 1);
  });
}

Kernel make_shrink(const KernelRequest& request) {
  const double bias = float_attribute(request.instruction, "bias", 0);
  const double lambd = float_attribute(request.instruction, "lambd", 0.5);
  return widened([bias, lambd](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Tensor zero = at::zeros_like(x);
    out[0].tensor = at::where(at::lt(x, -lambd), at::add(x, bias),
                              at::where(at::gt(x, lambd), at::sub(x, bias), zero))
                        .to(x.scalar_type());
  });
}

Kernel make_affine(const KernelRequest& request) {
  const double alpha = float_attribute(request.instruction, "alpha", 1);
  const double beta = float_attribute(request.instruction, "beta", 0);
  return widened([alpha, beta](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = at::add(at::mul(tensor_at(in, 0), alpha), beta);
  });
}

// No number has none.
Tensor sign(const Tensor& x) {
  return at::where(at::isnan(x), x, at::sign(x));
}

// "Gelu" of opset 20 and of com.microsoft.
Kernel make_gelu(const KernelRequest& request) {
  const std::string approximate = text_attribute(request.instruction, "approximate", "none");
  if (approximate == "none") return make_unary<pointwise<Pointwise::Kind::gelu>>(request);
  return widened([approximate](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = at::gelu(tensor_at(in, 0), approximate);
  });
}

// x, bias: com.microsoft's BiasGelu (exact) and FastGelu (tanh, the bias optional).
template <bool fast>
Kernel make_bias_gelu(const KernelRequest& /*request*/) {
  return widened([](KernelContext&, Inputs in, Outputs out) {
    const Tensor bias = optional_at(in, 1);
    const Tensor& x = tensor_at(in, 0);
    const Tensor sum = bias.defined() ? at::add(x, bias) : x;
    out[0].tensor = fast ? at::gelu(sum, "tanh") : pointwise<Pointwise::Kind::gelu>(sum);
  });
}

Tensor swish(const Tensor& x, double alpha) {
  return Pointwise{Pointwise::Kind::swish, alpha, 0}(x);
}

Kernel make_swish(const KernelRequest& request) {
  return make_of_alpha<swish>(request, 1);
}

Kernel make_quick_gelu(const KernelRequest& request) {
  return make_of_alpha<swish>(request, 1.702);
}

Kernel make_is_inf(const KernelRequest& request) {
  const bool positive = int_attribute(request.instruction, "detect_positive", 1) != 0;
  const bool negative = int_attribute(request.instruction, "detect_negative", 1) != 0;
  return [positive, negative](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    if (positive && negative) {
      out[0].tensor = at::isinf(x);
    } else if (positive || negative) {
      out[0].tensor = positive ? at::isposinf(x) : at::isneginf(x);
    } else {
      out[0].tensor = at::zeros_like(x, x.options().dtype(at::kBool));
    }
  };
}

// Its limits are attributes before opset 11.
Kernel make_clip(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  c10::optional<Scalar> low, high;
  if (const auto* const min = op.attribute<double>("min")) low = *min;
  if (const auto* const max = op.attribute<double>("max")) high = *max;
  const NumbersOperand low_input(request, "", 1), high_input(request, "", 2);
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    if (x.is_cpu() && x.scalar_type() == at::kFloat) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      const auto limit = [&](const NumbersOperand& input, const c10::optional<Scalar>& stated,
                             double fallback) {
        if (stated) return stated->toDouble();
        const auto given = input.get(in);
        return given ? given->at(0) : fallback;
      };
      out[0].tensor = Pointwise{Pointwise::Kind::clip, limit(low_input, low, -kInfinity),
                                limit(high_input, high, kInfinity)}(x);
      return;
    }
    c10::optional<Tensor> min, max;
    if (has(in, 1)) min = tensor_at(in, 1);
    if (has(in, 2)) max = tensor_at(in, 2);
    Tensor y = x;
    if (min || max) y = at::clamp(x, min, max);
    if (low || high) y = at::clamp(y, low, high);
    out[0].tensor = y;
  });
}

// --- two operands --------------------------------------------------------------------------------

Tensor divide(const Tensor& a, const Tensor& b) {
  return at::isIntegralType(a.scalar_type(), false) ? whole_quotient(a, b, "trunc") : at::div(a, b);
}

// The result has the type of the base whatever that of the exponent.
Tensor power_of_base(const Tensor& a, const Tensor& b) {
  return power(a, b).to(a.scalar_type());
}

Kernel make_mod(const KernelRequest& request) {
  if (int_attribute(request.instruction, "fmod", 0) != 0) {
    return make_binary<truncated_remainder>(request);
  }
  return make_binary<floor_remainder>(request);
}

Kernel make_bitwise_not(const KernelRequest& request) {
  return wrapped(request, [](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = at::bitwise_not(tensor_at(in, 0));
  });
}

Kernel make_bit_shift(const KernelRequest& request) {
  const std::string direction = text_attribute(request.instruction, "direction", "");
  if (direction == "LEFT") {
    return make_binary<[](const Tensor& a, const Tensor& b) {
      return at::bitwise_left_shift(a, b);
    }>(request);
  }
  if (direction == "RIGHT") {
    return make_binary<[](const Tensor& a, const Tensor& b) {
      return at::bitwise_right_shift(a, b);
    }>(request);
  }
  refuse_attribute("direction", direction);
}

// Before opset 7 a slope of one dimension is one per channel.
Kernel make_parametric_relu(const KernelRequest& request) {
  const bool is_old = request.instruction.version < 7;
  return widened([is_old](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    Tensor slope = tensor_at(in, 1);
    if (is_old && slope.dim() == 1 && x.dim() > 1) {
      Ints shape(static_cast<std::size_t>(x.dim() - 1), 1);
      shape[0] = -1;
      slope = slope.reshape(shape);
    }
    out[0].tensor = at::where(at::lt(x, 0), at::mul(x, slope), x);
  });
}

// Before opset 7 the second operand was lined up at `axis`, where `broadcast` was given.
template <KernelMaker make>
Kernel make_aligned(const KernelRequest& request) {
  Kernel kernel = make(request);
  const auto axis = int_attribute(request.instruction, "axis", 0);
  if (request.instruction.version >= 7 ||
      request.instruction.attribute<std::int64_t>("axis") == nullptr) {
    return kernel;
  }
  return [kernel, axis](KernelContext& context, Inputs in, Outputs out) {
    std::vector<Value> aligned(in.begin(), in.end());
    const std::int64_t rank = tensor_at(in, 0).dim();
    Tensor& b = aligned.at(1).tensor;
    const std::int64_t from = normal_axis(axis, rank);
    while (b.defined() && b.dim() + from < rank) b = b.unsqueeze(-1);
    kernel(context, aligned, out);
  };
}

// --- any number of operands ----------------------------------------------------------------------

template <auto function>
Kernel make_variadic(const KernelRequest& request) {
  return wrapped(request, widened([](KernelContext&, Inputs in, Outputs out) {
                   Tensor result = tensor_at(in, 0);
                   for (std::size_t i = 1; i < in.size(); ++i)
                     result = function(result, tensor_at(in, i));
                   out[0].tensor = result;
                 }));
}

Kernel make_mean(const KernelRequest& /*request*/) {
  return widened([](KernelContext&, Inputs in, Outputs out) {
    Tensor result = tensor_at(in, 0);
    for (std::size_t i = 1; i < in.size(); ++i) result = at::add(result, tensor_at(in, i));
    out[0].tensor = at::div(result, static_cast<double>(in.size()));
  });
}

Kernel make_where(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = at::where(tensor_at(in, 0), tensor_at(in, 1), tensor_at(in, 2));
  };
}

constexpr auto kAdd = [](const Tensor& a, const Tensor& b) { return at::add(a, b); };
constexpr auto kSub = [](const Tensor& a, const Tensor& b) { return at::sub(a, b); };
constexpr auto kMul = [](const Tensor& a, const Tensor& b) { return at::mul(a, b); };
constexpr auto kMax = [](const Tensor& a, const Tensor& b) { return at::maximum(a, b); };
constexpr auto kMin = [](const Tensor& a, const Tensor& b) { return at::minimum(a, b); };

#define BERTH_UNARY(function) make_unary<[](const Tensor& x) { return function(x); }>
#define BERTH_BINARY(function) \
  make_aligned<make_binary<[](const Tensor& a, const Tensor& b) { return function(a, b); }>>

constexpr KernelRow kRows[] = {
    {"Abs", BERTH_UNARY(at::abs)},
    {"Acos", BERTH_UNARY(at::acos)},
    {"Acosh", BERTH_UNARY(at::acosh)},
    {"Add", make_aligned<make_binary<kAdd>>},
    {"Affine", make_affine},
    {"And", BERTH_BINARY(at::logical_and)},
    {"Asin", BERTH_UNARY(at::asin)},
    {"Asinh", BERTH_UNARY(at::asinh)},
    {"Atan", BERTH_UNARY(at::atan)},
    {"Atanh", BERTH_UNARY(at::atanh)},
    {"BitShift", make_bit_shift},
    {"BitwiseAnd", BERTH_BINARY(at::bitwise_and)},
    {"BitwiseNot", make_bitwise_not},
    {"BitwiseOr", BERTH_BINARY(at::bitwise_or)},
    {"BitwiseXor", BERTH_BINARY(at::bitwise_xor)},
    {"Ceil", BERTH_UNARY(at::ceil)},
    {"Celu", make_celu},
    {"Clip", make_clip},
    {"Cos", BERTH_UNARY(at::cos)},
    {"Cosh", BERTH_UNARY(at::cosh)},
    {"Div", make_aligned<make_binary<divide>>},
    {"Elu", make_elu},
    {"Equal", BERTH_BINARY(at::eq)},
    {"Erf", make_unary<pointwise<Pointwise::Kind::erf>>},
    {"Exp", BERTH_UNARY(at::exp)},
    {"Floor", BERTH_UNARY(at::floor)},
    {"Gelu", make_gelu},
    {"Greater", BERTH_BINARY(at::gt)},
    {"GreaterOrEqual", BERTH_BINARY(at::ge)},
    {"HardSigmoid", make_hard_sigmoid},
    {"HardSwish", make_unary<pointwise<Pointwise::Kind::hard_swish>>},
    {"IsInf", make_is_inf},
    {"IsNaN", BERTH_UNARY(at::isnan)},
    {"LeakyRelu", make_leaky_relu},
    {"Less", BERTH_BINARY(at::lt)},
    {"LessOrEqual", BERTH_BINARY(at::le)},
    {"Log", BERTH_UNARY(at::log)},
    {"Max", make_variadic<kMax>},
    {"Mean", make_mean},
    {"Min", make_variadic<kMin>},
    {"Mish", BERTH_UNARY(at::mish)},
    {"Mod", make_mod},
    {"Mul", make_aligned<make_binary<kMul>>},
    {"Neg", BERTH_UNARY(at::neg)},
    {"Not", BERTH_UNARY(at::logical_not)},
    {"Or", BERTH_BINARY(at::logical_or)},
    {"PRelu", make_parametric_relu},
    {"Pow", make_aligned<make_binary<power_of_base>>},
    {"Reciprocal", BERTH_UNARY(at::reciprocal)},
    {"Relu", BERTH_UNARY(at::relu)},
    {"Round", BERTH_UNARY(at::round)},
    {"Selu", make_selu},
    {"Shrink", make_shrink},
    {"Sigmoid", make_unary<pointwise<Pointwise::Kind::sigmoid>>},
    {"Sign", make_unary<sign>},
    {"Sin", BERTH_UNARY(at::sin)},
    {"Sinh", BERTH_UNARY(at::sinh)},
    {"Softplus", make_unary<[](const Tensor& x) { return at::softplus(x); }>},
    {"Softsign", make_unary<[](const Tensor& x) { return at::div(x, at::add(at::abs(x), 1)); }>},
    {"Sqrt", BERTH_UNARY(at::sqrt)},
    {"Sub", make_aligned<make_binary<kSub>>},
    {"Sum", make_variadic<kAdd>},
    {"Swish", make_swish},
    {"Tan", BERTH_UNARY(at::tan)},
    {"Tanh", BERTH_UNARY(at::tanh)},
    {"ThresholdedRelu", make_thresholded_relu},
    {"Where", make_where},
    {"Xor", BERTH_BINARY(at::logical_xor)},
    {"com.microsoft.BiasGelu", make_bias_gelu<false>},
    {"com.microsoft.FastGelu", make_bias_gelu<true>},
    {"com.microsoft.Gelu", make_gelu},
    {"com.microsoft.QuickGelu", make_quick_gelu},
};

#undef BERTH_UNARY
#undef BERTH_BINARY

}  // namespace

std::span<const KernelRow> elementwise_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
