// Arithmetic: element by element, and reductions.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "tf/shapes/op_info.h"

namespace berth::tf_frontend {
namespace {

using Number = std::int64_t;

// --- Element by element -------------------------------------------------------------------------

/// Content of an op of two operands of at most one dimension; `compute` gives Data::kUnknown where
/// it has no answer.
template <typename Compute>
void fold_pair(ShapeContext& op, const Compute& compute) {
  const Value& a = op.in(0);
  const Value& b = op.in(1);
  const Value& out = op.out(0);
  if (a.data == nullptr || b.data == nullptr || !out.fully_known() || out.dims.size() > 1 ||
      !is_integer_type(a.type)) {
    return;
  }
  const Number count = product(out.dims);
  if (count < 0 || count > static_cast<Number>(Data::kMaxElements)) return;
  std::vector<Number> numbers;
  for (Number i = 0; i < count; ++i) {
    const auto at = [&](const Value& v) {
      return v.element(v.data->size() == 1 ? 0 : static_cast<std::size_t>(i));
    };
    const auto x = at(a);
    const auto y = at(b);
    numbers.push_back(x && y ? compute(*x, *y) : Data::kUnknown);
  }
  op.set_data(0, std::move(numbers));
}

Number floor_div(Number a, Number b) {
  const Number quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
bool divides(Number a, Number b) {
  return b != 0 && !(b == -1 && a == std::numeric_limits<Number>::min());
}

void add(ShapeContext& op) {
  rule::broadcast_all(op);
  fold_pair(op, [](Number a, Number b) {
    Number r;
    return __builtin_add_overflow(a, b, &r) ? Data::kUnknown : r;
  });
}
void subtract(ShapeContext& op) {
  rule::broadcast_all(op);
  fold_pair(op, [](Number a, Number b) {
    Number r;
    return __builtin_sub_overflow(a, b, &r) ? Data::kUnknown : r;
  });
}
void multiply(ShapeContext& op) {
  rule::broadcast_all(op);
  fold_pair(op, [](Number a, Number b) {
    Number r;
    return __builtin_mul_overflow(a, b, &r) ? Data::kUnknown : r;
  });
}
void divide(ShapeContext& op) {
  rule::broadcast_all(op);
  fold_pair(op,
            [](Number a, Number b) { return divides(a, b) ? floor_div(a, b) : Data::kUnknown; });
}
void truncate_divide(ShapeContext& op) {
  rule::broadcast_all(op);
  fold_pair(op, [](Number a, Number b) { return divides(a, b) ? a / b : Data::kUnknown; });
}
void modulo(ShapeContext& op) {
  rule::broadcast_all(op);
  fold_pair(op, [](Number a, Number b) {
    return divides(a, b) ? a - floor_div(a, b) * b : Data::kUnknown;
  });
}
void maximum(ShapeContext& op) {
  rule::broadcast_all(op);
  fold_pair(op, [](Number a, Number b) { return std::max(a, b); });
}
void minimum(ShapeContext& op) {
  rule::broadcast_all(op);
  fold_pair(op, [](Number a, Number b) { return std::min(a, b); });
}
template <typename Compare>
void compare(ShapeContext& op, const Compare& holds) {
  rule::broadcast_all(op);
  fold_pair(op, [&](Number a, Number b) { return Number{holds(a, b)}; });
}
void equal(ShapeContext& op) {
  compare(op, std::equal_to<Number>());
}
void not_equal(ShapeContext& op) {
  compare(op, std::not_equal_to<Number>());
}
void less(ShapeContext& op) {
  compare(op, std::less<Number>());
}
void less_equal(ShapeContext& op) {
  compare(op, std::less_equal<Number>());
}
void greater(ShapeContext& op) {
  compare(op, std::greater<Number>());
}
void greater_equal(ShapeContext& op) {
  compare(op, std::greater_equal<Number>());
}
void logical_and(ShapeContext& op) {
  compare(op, [](Number a, Number b) { return a != 0 && b != 0; });
}
void logical_or(ShapeContext& op) {
  compare(op, [](Number a, Number b) { return a != 0 || b != 0; });
}

template <typename Compute>
void fold_one(ShapeContext& op, const Compute& compute) {
  rule::like_first(op);
  if (op.in(0).data == nullptr) return;
  std::vector<Number> numbers = *op.in(0).data;
  for (Number& n : numbers) n = n <= Data::kUnknown ? Data::kUnknown : compute(n);
  op.set_data(0, std::move(numbers));
}
void negative(ShapeContext& op) {
  fold_one(op, [](Number n) { return -n; });
}
void absolute(ShapeContext& op) {
  fold_one(op, [](Number n) { return std::abs(n); });
}
void zeros_like(ShapeContext& op) {
  fold_one(op, [](Number) { return Number{0}; });
}
void ones_like(ShapeContext& op) {
  fold_one(op, [](Number) { return Number{1}; });
}
void cast(ShapeContext& op) {
  rule::like_first(op);
  if (is_integer_type(op.in(0).type) && is_integer_type(op.out(0).type)) {
    op.out(0).data = op.in(0).data;
  }
}

/// All inputs have one shape; whichever knows it.
void add_many(ShapeContext& op) {
  for (std::size_t i = 0; i < op.input_count(); ++i) merge_shape(op.out(0), op.in(i));
}

/// condition, x, y of one shape; the condition may be a vector or a scalar.
void select(ShapeContext& op) {
  op.copy_shape(0, op.in(1));
  merge_shape(op.out(0), op.in(2));
  const Value& condition = op.in(0);
  if (condition.data == nullptr || condition.data->size() != 1) return;
  const auto chosen = condition.element(0);
  if (chosen) op.out(0).data = op.in(*chosen != 0 ? 1 : 2).data;
}
void select_broadcast(ShapeContext& op) {
  rule::broadcast_all(op);
  const auto chosen = op.in(0).element(0);
  if (op.in(0).rank() != 0 || !chosen) return;
  const Value& from = op.in(*chosen != 0 ? 1 : 2);
  if (from.dims == op.out(0).dims) op.out(0).data = from.data;
}

// --- Reductions ---------------------------------------------------------------------------------

/// input, axes; keep_dims.
void reduce(ShapeContext& op) {
  const Value& input = op.in(0);
  const Value& axes = op.in(1);
  const bool keep = op.attributes.boolean("keep_dims", false);
  if (!input.ranked) return;
  const std::vector<Number>* list = axes.integers();
  if (list == nullptr) {
    if (keep) op.set(0, Dims(input.dims.size(), kUnknownDim));
    // One unknown axis of many still tells the rank.
    if (!keep && axes.ranked && product(axes.dims) == 1 && !input.dims.empty()) {
      op.set(0, Dims(input.dims.size() - 1, kUnknownDim));
    }
    return;
  }
  std::vector<bool> reduced(input.dims.size(), false);
  for (const Number axis : *list) {
    const int at = normal_axis(axis, input.rank());
    if (at < 0) return;
    reduced[static_cast<std::size_t>(at)] = true;
  }
  Dims dims;
  for (std::size_t i = 0; i < input.dims.size(); ++i) {
    if (!reduced[i]) dims.push_back(input.dims[i]);
    if (reduced[i] && keep) dims.push_back(1);
  }
  op.set(0, std::move(dims));
}

template <typename Combine>
void fold_reduce(ShapeContext& op, Number start, const Combine& combine) {
  reduce(op);
  const std::vector<Number>* numbers = op.in(0).integers();
  const Value& out = op.out(0);
  if (numbers == nullptr || !out.ranked || product(out.dims) != 1 || op.in(0).rank() > 1) return;
  for (const Number n : *numbers) {
    if (!combine(start, n)) return;
  }
  op.set_data(0, {start});
}
void product_of(ShapeContext& op) {
  fold_reduce(op, 1, [](Number& all, Number n) { return !__builtin_mul_overflow(all, n, &all); });
}
void sum(ShapeContext& op) {
  fold_reduce(op, 0, [](Number& all, Number n) { return !__builtin_add_overflow(all, n, &all); });
}
void reduce_max(ShapeContext& op) {
  fold_reduce(op, std::numeric_limits<Number>::min(), [](Number& all, Number n) {
    all = std::max(all, n);
    return true;
  });
}
void reduce_min(ShapeContext& op) {
  fold_reduce(op, std::numeric_limits<Number>::max(), [](Number& all, Number n) {
    all = std::min(all, n);
    return true;
  });
}

void arg_reduce(ShapeContext& op) {
  const Value& input = op.in(0);
  if (!input.ranked) return;
  Dims dims = input.dims;
  const auto axis = op.in(1).element(0);
  if (axis) {
    const int at = normal_axis(*axis, input.rank());
    if (at < 0) return;
    dims.erase(dims.begin() + at);
  } else if (!dims.empty()) {
    dims.pop_back();
    std::fill(dims.begin(), dims.end(), kUnknownDim);
  }
  op.set(0, std::move(dims));
}

constexpr OpRow kOps[] = {
    {"Abs", "y:T", absolute},
    {"AccumulateNV2", "sum:T", rule::like_first},
    {"Acos", "y:T", rule::like_first},
    {"Acosh", "y:T", rule::like_first},
    {"Add", "z:T", add},
    {"AddN", "sum:T", add_many},
    {"AddV2", "z:T", add},
    {"All", "output:=bool", reduce},
    {"Angle", "output:Tout", rule::like_first},
    {"Any", "output:=bool", reduce},
    {"ApproximateEqual", "z:=bool", rule::broadcast_all},
    {"ArgMax", "output:output_type", arg_reduce},
    {"ArgMin", "output:output_type", arg_reduce},
    {"Asin", "y:T", rule::like_first},
    {"Asinh", "y:T", rule::like_first},
    {"Atan", "y:T", rule::like_first},
    {"Atan2", "z:T", rule::broadcast_all},
    {"Atanh", "y:T", rule::like_first},
    {"BesselI0e", "y:T", rule::like_first},
    {"BesselI1e", "y:T", rule::like_first},
    {"Betainc", "z:T", rule::broadcast_all},
    {"BitwiseAnd", "z:T", rule::broadcast_all},
    {"BitwiseOr", "z:T", rule::broadcast_all},
    {"BitwiseXor", "z:T", rule::broadcast_all},
    {"Bucketize", "output:=int32", rule::like_first},
    {"Cast", "y:DstT", cast},
    {"Ceil", "y:T", rule::like_first},
    {"Cholesky", "output:T", rule::like_first},
    {"CholeskyGrad", "output:T", rule::like_first},
    {"ClipByValue", "output:T", rule::like_first},
    {"Complex", "out:Tout", rule::broadcast_all},
    {"ComplexAbs", "y:Tout", rule::like_first},
    {"Conj", "output:T", rule::like_first},
    {"Cos", "y:T", rule::like_first},
    {"Cosh", "y:T", rule::like_first},
    {"Cross", "product:T", rule::like_first},
    {"Cumprod", "out:T", rule::like_first},
    {"Cumsum", "out:T", rule::like_first},
    {"CumulativeLogsumexp", "out:T", rule::like_first},
    {"Digamma", "y:T", rule::like_first},
    {"Div", "z:T", divide},
    {"DivNoNan", "z:T", rule::broadcast_all},
    {"Equal", "z:=bool", equal},
    {"Erf", "y:T", rule::like_first},
    {"Erfc", "y:T", rule::like_first},
    {"Erfinv", "y:T", rule::like_first},
    {"EuclideanNorm", "output:T", reduce},
    {"Exp", "y:T", rule::like_first},
    {"Expm1", "y:T", rule::like_first},
    {"FFT", "output:Tcomplex", rule::like_first},
    {"FFT2D", "output:Tcomplex", rule::like_first},
    {"FFT3D", "output:Tcomplex", rule::like_first},
    {"Floor", "y:T", rule::like_first},
    {"FloorDiv", "z:T", divide},
    {"FloorMod", "z:T", modulo},
    {"Greater", "z:=bool", greater},
    {"GreaterEqual", "z:=bool", greater_equal},
    {"IFFT", "output:Tcomplex", rule::like_first},
    {"IFFT2D", "output:Tcomplex", rule::like_first},
    {"IFFT3D", "output:Tcomplex", rule::like_first},
    {"Igamma", "z:T", rule::broadcast_all},
    {"IgammaGradA", "z:T", rule::broadcast_all},
    {"Igammac", "z:T", rule::broadcast_all},
    {"Imag", "output:Tout", rule::like_first},
    {"Inv", "y:T", rule::like_first},
    {"InvGrad", "z:T", rule::like_first},
    {"Invert", "y:T", rule::like_first},
    {"IsFinite", "y:=bool", rule::like_first},
    {"IsInf", "y:=bool", rule::like_first},
    {"IsNan", "y:=bool", rule::like_first},
    {"LeftShift", "z:T", rule::broadcast_all},
    {"Less", "z:=bool", less},
    {"LessEqual", "z:=bool", less_equal},
    {"Lgamma", "y:T", rule::like_first},
    {"Log", "y:T", rule::like_first},
    {"Log1p", "y:T", rule::like_first},
    {"LogicalAnd", "z:=bool", logical_and},
    {"LogicalNot", "y:=bool", rule::like_first},
    {"LogicalOr", "z:=bool", logical_or},
    {"MatrixExponential", "output:T", rule::like_first},
    {"MatrixInverse", "output:T", rule::like_first},
    {"MatrixLogarithm", "output:T", rule::like_first},
    {"MatrixSolve", "output:T", rule::like_second},
    {"MatrixTriangularSolve", "output:T", rule::like_second},
    {"Max", "output:T", reduce_max},
    {"Maximum", "z:T", maximum},
    {"Mean", "output:T", reduce},
    {"Min", "output:T", reduce_min},
    {"Minimum", "z:T", minimum},
    {"Mod", "z:T", modulo},
    {"Mul", "z:T", multiply},
    {"MulNoNan", "z:T", rule::broadcast_all},
    {"Ndtri", "y:T", rule::like_first},
    {"Neg", "y:T", negative},
    {"NextAfter", "output:T", rule::broadcast_all},
    {"NotEqual", "z:=bool", not_equal},
    {"OnesLike", "y:T", ones_like},
    {"Polygamma", "z:T", rule::broadcast_all},
    {"Pow", "z:T", rule::broadcast_all},
    {"Prod", "output:T", product_of},
    {"Real", "output:Tout", rule::like_first},
    {"RealDiv", "z:T", rule::broadcast_all},
    {"Reciprocal", "y:T", rule::like_first},
    {"ReciprocalGrad", "z:T", rule::like_first},
    {"RightShift", "z:T", rule::broadcast_all},
    {"Rint", "y:T", rule::like_first},
    {"Round", "y:T", rule::like_first},
    {"Rsqrt", "y:T", rule::like_first},
    {"RsqrtGrad", "z:T", rule::like_first},
    {"Select", "output:T", select},
    {"SelectV2", "output:T", select_broadcast},
    {"Sigmoid", "y:T", rule::like_first},
    {"SigmoidGrad", "z:T", rule::like_first},
    {"Sign", "y:T", rule::like_first},
    {"Sin", "y:T", rule::like_first},
    {"Sinh", "y:T", rule::like_first},
    {"SparseReduceSum", "output:T", reduce},
    {"Sqrt", "y:T", rule::like_first},
    {"SqrtGrad", "z:T", rule::like_first},
    {"Square", "y:T", rule::like_first},
    {"SquaredDifference", "z:T", rule::broadcast_all},
    {"Sub", "z:T", subtract},
    {"Sum", "output:T", sum},
    {"Tan", "y:T", rule::like_first},
    {"Tanh", "y:T", rule::like_first},
    {"TanhGrad", "z:T", rule::like_first},
    {"TruncateDiv", "z:T", truncate_divide},
    {"TruncateMod", "z:T", rule::broadcast_all},
    {"Xdivy", "z:T", rule::broadcast_all},
    {"Xlog1py", "z:T", rule::broadcast_all},
    {"Xlogy", "z:T", rule::broadcast_all},
    {"ZerosLike", "y:T", zeros_like},
    {"Zeta", "z:T", rule::broadcast_all},
};

}  // namespace

std::span<const OpRow> math_ops() {
  return kOps;
}

}  // namespace berth::tf_frontend
