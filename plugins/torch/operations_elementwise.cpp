// Operations value by value, comparisons, and what makes one value of many.
#include <ATen/ATen.h>

#include <utility>

#include "operation.h"

namespace berth::torch_module {
namespace {

using In = const Tensor&;

/// Both in the type that their sum has.
std::pair<Tensor, Tensor> alike(In x, In y) {
  const Type type = at::result_type(x, y);
  return {x.to(type), y.to(type)};
}

/// Two numbers are of the type that torch.tensor gives them.
Tensor chosen(In condition, const Operand& x, const Operand& y) {
  const bool numbers = x.is_number && y.is_number;
  const auto [a, b] =
      numbers ? std::pair(x.value.to(at::kFloat), y.value.to(at::kFloat)) : alike(x.value, y.value);
  return at::where(condition.to(at::kBool), a, b);
}

/// A tensor that is compared: beside a number integers are wide, for 256 in uint8 is 0.
Tensor wide(In x, const Operand& y) {
  return y.is_number && at::isIntegralType(x.scalar_type(), /*includeBool=*/true) ? x.to(at::kLong)
                                                                                  : x;
}

}  // namespace

std::vector<Operation> elementwise_operations() {
  return {
      row(
          "add", "self, other", [](In x, Operand y) { return x + y.value; },
          "self + other; shapes are broadcast"),
      row(
          "sub", "self, other", [](In x, Operand y) { return x - y.value; },
          "self - other; shapes are broadcast"),
      row(
          "rsub", "self, other", [](In x, Operand y) { return y.value - x; },
          "other - self; shapes are broadcast"),
      row(
          "mul", "self, other", [](In x, Operand y) { return x * y.value; },
          "self * other; shapes are broadcast"),
      row(
          "div", "self, other", [](In x, Operand y) { return x / y.value; },
          "self / other; shapes are broadcast"),
      row(
          "rdiv", "self, other", [](In x, Operand y) { return y.value / x; },
          "other / self; shapes are broadcast"),
      row(
          "rpow", "self, base", [](In x, double base) { return at::pow(at::Scalar(base), x); },
          "base, a number, to the power of self"),
      row(
          "pow", "self, exponent", [](In x, Operand y) { return at::pow(x, y.value); },
          "self to the power of exponent; shapes are broadcast"),
      row(
          "maximum", "self, other",
          [](In x, Operand y) {
            const auto [a, b] = alike(x, y.value);
            return at::maximum(a, b);
          },
          "the larger of both, value by value; shapes are broadcast"),
      row(
          "minimum", "self, other",
          [](In x, Operand y) {
            const auto [a, b] = alike(x, y.value);
            return at::minimum(a, b);
          },
          "the smaller of both, value by value; shapes are broadcast"),
      row(
          "where", "condition, self, other",
          [](In c, Operand x, Operand y) { return chosen(c, x, y); },
          "self where condition holds, else other; shapes are broadcast"),
      row(
          "clamp", "self, min, max",
          [](In x, at::Scalar least, at::Scalar most) { return at::clamp(x, least, most); },
          "values below min become min, above max become max"),
      row(
          "neg", "self", [](In x) { return -x; }, "-self"),
      row(
          "abs", "self", [](In x) { return x.abs(); }, "without sign"),
      row(
          "sign", "self", [](In x) { return x.sign(); }, "-1, 0 or 1"),
      row(
          "exp", "self", [](In x) { return x.exp(); }, "e to the power of self"),
      row(
          "expm1", "self", [](In x) { return x.expm1(); }, "exp(self) - 1"),
      row(
          "log", "self", [](In x) { return x.log(); }, "natural logarithm"),
      row(
          "log1p", "self", [](In x) { return x.log1p(); }, "log(1 + self)"),
      row(
          "log2", "self", [](In x) { return x.log2(); }, "logarithm to the base 2"),
      row(
          "sqrt", "self", [](In x) { return x.sqrt(); }, "square root"),
      row(
          "rsqrt", "self", [](In x) { return x.rsqrt(); }, "1 / sqrt(self)"),
      row(
          "square", "self", [](In x) { return x.square(); }, "self * self"),
      row(
          "reciprocal", "self", [](In x) { return x.reciprocal(); }, "1 / self"),
      row(
          "sin", "self", [](In x) { return x.sin(); }, "sine"),
      row(
          "cos", "self", [](In x) { return x.cos(); }, "cosine"),
      row(
          "floor", "self", [](In x) { return x.floor(); }, "rounded down"),
      row(
          "round", "self", [](In x) { return x.round(); }, "rounded; halves to even"),
      row(
          "sigmoid", "self", [](In x) { return x.sigmoid(); }, "1 / (1 + exp(-self))"),
      row(
          "tanh", "self", [](In x) { return x.tanh(); }, "hyperbolic tangent"),
      row(
          "relu", "self", [](In x) { return x.relu(); }, "negative values become 0"),
      row(
          "leaky_relu", "self, negative_slope = 0.01",
          [](In x, double slope) { return at::leaky_relu(x, slope); },
          "negative values times negative_slope"),
      row(
          "elu", "self", [](In x) { return at::elu(x); }, "exp(self) - 1 for negative values"),
      row(
          "gelu", "self", [](In x) { return at::gelu(x); }, "self times the normal distribution"),
      row(
          "silu", "self", [](In x) { return at::silu(x); }, "self * sigmoid(self)"),
      row(
          "softplus", "self", [](In x) { return at::softplus(x); }, "log(1 + exp(self))"),
      row(
          "eq", "self, other", [](In x, Operand y) { return wide(x, y) == y.value; },
          "where both are equal"),
      row(
          "ne", "self, other", [](In x, Operand y) { return wide(x, y) != y.value; },
          "where they differ"),
      row(
          "lt", "self, other", [](In x, Operand y) { return wide(x, y) < y.value; },
          "where self < other"),
      row(
          "le", "self, other", [](In x, Operand y) { return wide(x, y) <= y.value; },
          "where self <= other"),
      row(
          "gt", "self, other", [](In x, Operand y) { return wide(x, y) > y.value; },
          "where self > other"),
      row(
          "ge", "self, other", [](In x, Operand y) { return wide(x, y) >= y.value; },
          "where self >= other"),
      row(
          "logical_not", "self", [](In x) { return x.logical_not(); }, "where self is 0"),
      row(
          "logical_and", "self, other", [](In x, In y) { return at::logical_and(x, y); },
          "where neither is 0"),
      row(
          "logical_or", "self, other", [](In x, In y) { return at::logical_or(x, y); },
          "where one is not 0"),
      row(
          "isfinite", "self", [](In x) { return at::isfinite(x); },
          "where values are finite numbers"),
      row(
          "sum", "self, dim = nil, keepdim = false",
          [](In x, std::optional<Dim> d, bool keep) {
            return d ? x.sum({d->value}, keep) : x.sum();
          },
          "the sum of all values, or along dim"),
      row(
          "mean", "self, dim = nil, keepdim = false",
          [](In x, std::optional<Dim> d, bool keep) {
            return d ? x.mean(at::IntArrayRef{d->value}, keep) : x.mean();
          },
          "the mean of all values, or along dim"),
      row(
          "std", "self, dim = nil, keepdim = false",
          [](In x, std::optional<Dim> d, bool keep) {
            return d ? x.std(at::IntArrayRef{d->value}, true, keep) : x.std(true);
          },
          "the sample's standard deviation, of all values or along dim"),
      row(
          "var", "self, dim = nil, keepdim = false",
          [](In x, std::optional<Dim> d, bool keep) {
            return d ? x.var(at::IntArrayRef{d->value}, true, keep) : x.var(true);
          },
          "the sample's variance, of all values or along dim"),
      row(
          "prod", "self, dim = nil, keepdim = false",
          [](In x, std::optional<Dim> d, bool keep) {
            return d ? x.prod(d->value, keep) : x.prod();
          },
          "the product of all values, or along dim"),
      row(
          "norm", "self, p = 2, dim = nil, keepdim = false",
          [](In x, double p, std::optional<Dim> d, bool keep) {
            return d ? x.norm(p, at::IntArrayRef{d->value}, keep) : x.norm(p);
          },
          "the p-th root of the sum of the p-th powers of abs(self), of all values or along dim; p "
          "= "
          "math.huge: the largest"),
      row(
          "amax", "self, dim = nil, keepdim = false",
          [](In x, std::optional<Dim> d, bool keep) {
            return d ? x.amax({d->value}, keep) : x.amax();
          },
          "the largest value, of all or along dim"),
      row(
          "amin", "self, dim = nil, keepdim = false",
          [](In x, std::optional<Dim> d, bool keep) {
            return d ? x.amin({d->value}, keep) : x.amin();
          },
          "the smallest value, of all or along dim"),
      row(
          "argmax", "self, dim = -1, keepdim = false",
          [](In x, Dim d, bool keep) { return x.argmax(d.value, keep) + 1; },
          "where along dim the largest value is, from 1"),
      row(
          "argmin", "self, dim = -1, keepdim = false",
          [](In x, Dim d, bool keep) { return x.argmin(d.value, keep) + 1; },
          "where along dim the smallest value is, from 1"),
      row(
          "all", "self, dim = nil, keepdim = false",
          [](In x, std::optional<Dim> d, bool keep) {
            const Tensor values = x.to(at::kBool);
            return d ? values.all(d->value, keep) : values.all();
          },
          "whether no value is 0, of all or along dim"),
      row(
          "any", "self, dim = nil, keepdim = false",
          [](In x, std::optional<Dim> d, bool keep) {
            const Tensor values = x.to(at::kBool);
            return d ? values.any(d->value, keep) : values.any();
          },
          "whether a value is not 0, of all or along dim"),
      row(
          "cumsum", "self, dim = -1", [](In x, Dim d) { return x.cumsum(d.value); },
          "sums from the first value on, along dim"),
      row(
          "logsumexp", "self, dim = -1, keepdim = false",
          [](In x, Dim d, bool keep) { return x.logsumexp({d.value}, keep); },
          "log(sum(exp(self))) along dim, without overflow"),
      row(
          "softmax", "self, dim = -1", [](In x, Dim d) { return x.softmax(d.value); },
          "exp(self) / sum(exp(self)) along dim"),
      row(
          "log_softmax", "self, dim = -1", [](In x, Dim d) { return x.log_softmax(d.value); },
          "log(softmax(self)) along dim, without overflow"),
  };
}

}  // namespace berth::torch_module
