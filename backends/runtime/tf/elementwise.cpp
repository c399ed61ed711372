// One element of the output for each of the inputs, broadcast as NumPy does.
#include <ATen/Functions.h>

#include "runtime/integers.h"
#include "runtime/pointwise.h"
#include "runtime/power.h"
#include "runtime/tensors.h"
#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

Tensor subtract(const Tensor& a, const Tensor& b) {
  return at::sub(a, b);
}
Tensor relu6(const Tensor& x) {
  return at::clamp(x, 0, 6);
}
Tensor elu(const Tensor& x) {
  return at::elu(x);
}
Tensor softplus(const Tensor& x) {
  return at::softplus(x);
}
Tensor softsign(const Tensor& x) {
  return x / (x.abs() + 1);
}

/// No number has none; a complex one has length 1.
Tensor sign(const Tensor& x) {
  return at::where(at::isnan(x), x, at::sgn(x));
}

/// ATen has neither of complex numbers.
Tensor expm1(const Tensor& x) {
  return x.is_complex() ? at::sub(at::exp(x), 1) : at::expm1(x);
}
Tensor log1p(const Tensor& x) {
  return x.is_complex() ? at::log(at::add(x, 1)) : at::log1p(x);
}

/// Complex numbers are multiplied by their conjugates.
Tensor squared_difference(const Tensor& a, const Tensor& b) {
  const Tensor difference = at::sub(a, b);
  return at::conj(difference) * difference;
}

/// Integers are divided towards zero.
Tensor divide(const Tensor& a, const Tensor& b) {
  return at::isIntegralType(a.scalar_type(), false) ? whole_quotient(a, b, "trunc") : at::div(a, b);
}
/// TensorFlow rounds the quotient of real numbers. ATen's own is Python's, which takes 0.1 from 1 nine times.
Tensor floor_divide(const Tensor& a, const Tensor& b) {
  return at::isIntegralType(a.scalar_type(), false) ? whole_quotient(a, b, "floor")
                                                    : at::floor(at::div(a, b));
}
Tensor truncate_divide(const Tensor& a, const Tensor& b) {
  return whole_quotient(a, b, "trunc");
}
Tensor divide_or_zero(const Tensor& a, const Tensor& b) {
  return at::where(b == 0, at::zeros({}, a.options()), at::div(a, b));
}
/// x / y, 0 where x is.
Tensor divide_or_zero_of(const Tensor& x, const Tensor& y) {
  return at::where(x == 0, at::zeros({}, x.options()), at::div(x, y));
}
/// x log(y), 0 where x is, whatever y is.
Tensor times_log(const Tensor& x, const Tensor& y) {
  return at::where(x == 0, at::zeros({}, x.options()), at::mul(x, at::log(y)));
}
Tensor times_log1p(const Tensor& x, const Tensor& y) {
  return at::where(x == 0, at::zeros({}, x.options()), at::mul(x, tf::log1p(y)));
}
Tensor multiply_or_zero(const Tensor& a, const Tensor& b) {
  return at::where(b == 0, at::zeros({}, a.options()), at::mul(a, b));
}

Kernel make_leaky_relu(const KernelRequest& request) {
  const double slope = float_attribute(request.instruction, "alpha", 0.2);
  return [slope](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = at::leaky_relu(tensor_at(in, 0), slope);
  };
}

/// The number of boundaries that are not above each element.
Kernel make_bucketize(const KernelRequest& request) {
  const auto* const stated = request.instruction.attribute<std::vector<double>>("boundaries");
  const std::vector<double> limits = stated == nullptr ? std::vector<double>() : *stated;
  return [limits](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Tensor boundaries = at::tensor(limits, at::kFloat).to(x.device());
    out[0].tensor = at::bucketize(x.to(at::kFloat), boundaries, /*out_int32=*/true, /*right=*/true);
  };
}

Kernel make_cast(const KernelRequest& request) {
  const at::ScalarType wanted = type(request.instruction, "DstT", at::kFloat);
  // The host keeps whole numbers only.
  const bool moves = at::isFloatingType(wanted);
  return [wanted, moves](KernelContext& context, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    out[0].tensor = x.to(moves ? context.device : x.device(), wanted);
  };
}

Tensor choose(const KernelContext& context, const Tensor& condition, const Tensor& a,
              const Tensor& b) {
  if (condition.is_cpu() && a.is_cpu() && b.is_cpu()) return at::where(condition, a, b);
  return at::where(on_device(context, condition), on_device(context, a), on_device(context, b));
}

Kernel make_select_broadcast(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    out[0].tensor = choose(context, tensor_at(in, 0), tensor_at(in, 1), tensor_at(in, 2));
  };
}

/// A vector chooses among rows.
Kernel make_select(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    Tensor condition = tensor_at(in, 0);
    const Tensor& value = tensor_at(in, 1);
    if (condition.dim() == 1 && value.dim() > 1) {
      Ints shape(static_cast<std::size_t>(value.dim()), 1);
      shape[0] = condition.size(0);
      condition = condition.reshape(shape);
    }
    out[0].tensor = choose(context, condition, value, tensor_at(in, 2));
  };
}

Kernel make_clip(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    out[0].tensor =
        at::clamp(x, on_device(context, tensor_at(in, 1)), on_device(context, tensor_at(in, 2)));
  };
}

constexpr KernelRow kRows[] = {
    {"Abs", unary<at::abs>},
    {"Acos", unary<at::acos>},
    {"Acosh", unary<at::acosh>},
    {"Asin", unary<at::asin>},
    {"Asinh", unary<at::asinh>},
    {"Atan", unary<at::atan>},
    {"Atan2", binary<at::atan2>},
    {"Atanh", unary<at::atanh>},
    {"BitwiseAnd", binary<at::bitwise_and>},
    {"BitwiseOr", binary<at::bitwise_or>},
    {"BitwiseXor", binary<at::bitwise_xor>},
    {"Bucketize", make_bucketize},
    {"Cast", make_cast},
    {"Ceil", unary<at::ceil>},
    {"ClipByValue", make_clip},
    {"Cos", unary<at::cos>},
    {"Cosh", unary<at::cosh>},
    {"Digamma", unary<at::digamma>},
    {"Div", binary<divide>},
    {"DivNoNan", binary<divide_or_zero>},
    {"Elu", unary<elu>},
    {"Equal", binary<at::eq>},
    {"Erf", unary<pointwise<Pointwise::Kind::erf>>},
    {"Erfc", unary<at::erfc>},
    {"Erfinv", unary<at::erfinv>},
    {"Exp", unary<at::exp>},
    {"Expm1", unary<expm1>},
    {"Floor", unary<at::floor>},
    {"FloorDiv", binary<floor_divide>},
    {"FloorMod", binary<floor_remainder>},
    {"Greater", binary<at::gt>},
    {"GreaterEqual", binary<at::ge>},
    {"Igamma", binary<at::special_gammainc>},
    {"Igammac", binary<at::special_gammaincc>},
    {"Inv", unary<at::reciprocal>},
    {"Invert", unary<at::bitwise_not>},
    {"IsFinite", unary<at::isfinite>},
    {"IsInf", unary<at::isinf>},
    {"IsNan", unary<at::isnan>},
    {"LeakyRelu", make_leaky_relu},
    {"LeftShift", binary<at::bitwise_left_shift>},
    {"Less", binary<at::lt>},
    {"LessEqual", binary<at::le>},
    {"Lgamma", unary<at::lgamma>},
    {"Log", unary<at::log>},
    {"Log1p", unary<log1p>},
    {"LogicalAnd", binary<at::logical_and>},
    {"LogicalNot", unary<at::logical_not>},
    {"LogicalOr", binary<at::logical_or>},
    {"Maximum", binary<at::maximum>},
    {"Minimum", binary<at::minimum>},
    {"Mod", binary<truncated_remainder>},
    {"Mul", binary<at::mul>},
    {"MulNoNan", binary<multiply_or_zero>},
    {"Ndtri", unary<at::special_ndtri>},
    {"Neg", unary<at::neg>},
    {"NotEqual", binary<at::ne>},
    {"Pow", binary<power>},
    {"RealDiv", binary<at::div>},
    {"Reciprocal", unary<at::reciprocal>},
    {"Relu", unary<at::relu>},
    {"Relu6", unary<relu6>},
    {"RightShift", binary<at::bitwise_right_shift>},
    {"Rint", unary<at::round>},
    {"Round", unary<at::round>},
    {"Rsqrt", unary<at::rsqrt>},
    {"Select", make_select},
    {"SelectV2", make_select_broadcast},
    {"Selu", unary<at::selu>},
    {"Sigmoid", unary<pointwise<Pointwise::Kind::sigmoid>>},
    {"Sign", unary<sign>},
    {"Sin", unary<at::sin>},
    {"Sinh", unary<at::sinh>},
    {"Softplus", unary<softplus>},
    {"Softsign", unary<softsign>},
    {"Sqrt", unary<at::sqrt>},
    {"Square", unary<at::square>},
    {"SquaredDifference", binary<squared_difference>},
    {"Sub", binary<subtract>},
    {"Tan", unary<at::tan>},
    {"Tanh", unary<at::tanh>},
    {"TruncateDiv", binary<truncate_divide>},
    {"TruncateMod", binary<truncated_remainder>},
    {"Xdivy", binary<divide_or_zero_of>},
    {"Xlog1py", binary<times_log1p>},
    {"Xlogy", binary<times_log>},
};

}  // namespace

std::span<const KernelRow> elementwise_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
