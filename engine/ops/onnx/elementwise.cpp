// Arithmetic element by element: operands broadcast together, activations.
#include "ops/formulas.h"
#include "ops/onnx/rules.h"

namespace berth::ops::onnx {
namespace {

constexpr double kExp = kTranscendentalFlops;

constexpr WorkRule kSum{work::per_operand, OpClass::elementwise, 1};

void compare(OpContext& op) {
  rule::broadcast_all(op);
  op.out(0).type = kBool;
}

void where(OpContext& op) {
  broadcast_inputs(op, {0, 1, 2}, 1);
}

void complex_multiply(OpContext& op) {
  broadcast_inputs(op, {0, 1}, 0);
}

void cast(OpContext& op) {
  op.set_like(0, 0);
  const auto to = static_cast<int>(op.attributes.integer("to", 0));
  // Cast 1 names the type.
  op.out(0).type = to != 0 ? to : type_from_name(op.attributes.text("to", {}));
}
void cast_like(OpContext& op) {
  op.set_like(0, 0);
  op.out(0).type = op.type_of(1);
}
void fold_cast(OpContext& op) {
  const int to = op.out(0).type;
  if (is_integer_type(to) || is_float_type(to)) fold::convert(op, dtype_of(to));
}

/// The bounds were attributes once.
std::optional<double> bound(const OpContext& op, std::size_t input, std::string_view attribute) {
  if (op.has(input)) return op.in(input).number(0);
  const std::vector<double> stated = op.attributes.reals(attribute);
  if (stated.empty()) return std::nullopt;
  return stated.front();
}
void fold_clip(OpContext& op) {
  const auto least = bound(op, 1, "min"), most = bound(op, 2, "max");
  // One that is there and not known leaves nothing known.
  if ((op.has(1) && !least) || (op.has(2) && !most)) return;
  fold::clip(op, least, most);
}

void fold_modulo(OpContext& op) {
  if (op.attributes.integer("fmod", 0) != 0) {
    fold::truncate_modulo(op);
  } else {
    fold::floor_modulo(op);
  }
}

/// angles, q, q turned, k, k turned.
void gemma_rotary(OpContext& op) {
  op.set_like(0, 1);
  op.set_like(1, 3);
}

void bias_split_gelu(OpContext& op) {
  op.set_like(0, 0);
  if (op.out(0).rank() > 0) {
    op.out(0).dims.back() = divide_dims(op.out(0).dims.back(), 2);
  }
}

constexpr WorkRule kDropout{work::dropped, OpClass::elementwise, 3};

/// Input [batch, length, hidden] or [batch, heads, length, size]. Inputs `Tables` and the next have a row for
/// each position that there may be, of which those are read that input `Positions` names; without it all.
template <std::size_t Tables, std::size_t Positions>
Estimate rotated(const OpView& op, const WorkRule& rule) {
  Estimate estimate = work::per_output(op, rule);
  if (!op.input(Positions).present()) return estimate;
  const TensorView input = op.input(0);
  const double rows = input.dim(0) * input.dim(input.rank() == 4 ? 2 : 1);
  for (const TensorView& table : {op.input(Tables), op.input(Tables + 1)}) {
    estimate.work.bytes -= table.bytes() - work::bytes_of_rows(table, rows, table.dim(0));
  }
  return estimate;
}

constexpr Row kOps[] = {
    {"Abs", rule::like_first, elementwise(1), fold::absolute},
    {"Acos", rule::like_first, elementwise(kExp)},
    {"Acosh", rule::like_first, elementwise(kExp)},
    {"Add", rule::broadcast_all, elementwise(1), fold::add},
    {"Affine", rule::like_first, elementwise(3)},
    {"And", rule::broadcast_all, elementwise(1), fold::logical_and},
    {"Asin", rule::like_first, elementwise(kExp)},
    {"Asinh", rule::like_first, elementwise(kExp)},
    {"Atan", rule::like_first, elementwise(kExp)},
    {"Atanh", rule::like_first, elementwise(kExp)},
    {"BitCast", cast_like, kView},
    {"BitShift", rule::broadcast_all, elementwise(1)},
    {"BitwiseAnd", rule::broadcast_all, elementwise(1), fold::bitwise_and},
    {"BitwiseNot", rule::like_first, elementwise(1)},
    {"BitwiseOr", rule::broadcast_all, elementwise(1), fold::bitwise_or},
    {"BitwiseXor", rule::broadcast_all, elementwise(1), fold::bitwise_xor},
    {"Cast", cast, kConversion, fold_cast},
    {"CastLike", cast_like, kConversion, fold_cast},
    {"Ceil", rule::like_first, elementwise(1), fold::ceiling},
    {"Celu", rule::like_first, elementwise(kExp + 2)},
    {"Clip", rule::like_first, elementwise(1), fold_clip},
    {"Cos", rule::like_first, elementwise(kExp)},
    {"Cosh", rule::like_first, elementwise(kExp)},
    {"Div", rule::broadcast_all, elementwise(1), fold::truncate_divide},
    {"Dropout", rule::dropout, kDropout},
    {"Elu", rule::like_first, elementwise(kExp + 2)},
    {"Equal", compare, elementwise(1), fold::equal},
    {"Erf", rule::like_first, elementwise(kExp)},
    {"Exp", rule::like_first, elementwise(kExp)},
    {"Floor", rule::like_first, elementwise(1), fold::floor},
    {"Gelu", rule::like_first, elementwise(kExp + 5)},
    {"Greater", compare, elementwise(1), fold::greater},
    {"GreaterOrEqual", compare, elementwise(1), fold::greater_equal},
    {"HardSigmoid", rule::like_first, elementwise(3)},
    {"HardSwish", rule::like_first, elementwise(3)},
    {"ImageScaler", rule::like_first, elementwise(3)},
    {"IsInf", rule::to_bool, elementwise(1)},
    {"IsNaN", rule::to_bool, elementwise(1)},
    {"LeakyRelu", rule::like_first, elementwise(1)},
    {"Less", compare, elementwise(1), fold::less},
    {"LessOrEqual", compare, elementwise(1), fold::less_equal},
    {"Log", rule::like_first, elementwise(kExp)},
    {"Max", rule::broadcast_all, kSum, fold::maximum},
    {"Mean", rule::broadcast_all, kSum},
    {"Min", rule::broadcast_all, kSum, fold::minimum},
    {"Mish", rule::like_first, elementwise(kExp + 5)},
    {"Mod", rule::broadcast_all, elementwise(3), fold_modulo},
    {"Mul", rule::broadcast_all, elementwise(1), fold::multiply},
    {"Neg", rule::like_first, elementwise(1), fold::negative},
    {"Not", rule::to_bool, elementwise(1), fold::logical_not},
    {"Or", rule::broadcast_all, elementwise(1), fold::logical_or},
    {"PRelu", rule::like_first, elementwise(1)},
    {"ParametricSoftplus", rule::like_first, elementwise(kExp + 2)},
    {"Pow", rule::broadcast_all, elementwise(2 * kExp), fold::power},
    {"Reciprocal", rule::like_first, elementwise(1), fold::reciprocal},
    {"Relu", rule::like_first, elementwise(1)},
    {"RotaryEmbedding", rule::like_first, {rotated<1, 3>, OpClass::elementwise, 3}},
    {"Round", rule::like_first, elementwise(1), fold::round},
    {"Scale", rule::like_first, elementwise(1)},
    {"ScaledTanh", rule::like_first, elementwise(kExp)},
    {"Selu", rule::like_first, elementwise(kExp + 2)},
    {"Shrink", rule::like_first, elementwise(1)},
    {"Sigmoid", rule::like_first, elementwise(kExp + 2)},
    {"Sign", rule::like_first, elementwise(1), fold::sign},
    {"Sin", rule::like_first, elementwise(kExp)},
    {"Sinh", rule::like_first, elementwise(kExp)},
    {"Softplus", rule::like_first, elementwise(kExp + 2)},
    {"Softsign", rule::like_first, elementwise(3)},
    {"Sqrt", rule::like_first, elementwise(3), fold::square_root},
    {"Sub", rule::broadcast_all, elementwise(1), fold::subtract},
    {"Sum", rule::broadcast_all, kSum, fold::add_all},
    {"SwiGLU", rule::like_first, elementwise(kExp + 3)},
    {"Swish", rule::like_first, elementwise(kExp + 2)},
    {"Tan", rule::like_first, elementwise(kExp)},
    {"Tanh", rule::like_first, elementwise(kExp)},
    {"ThresholdedRelu", rule::like_first, elementwise(1)},
    {"Where", where, elementwise(1), fold::select},
    {"Xor", rule::broadcast_all, elementwise(1), fold::logical_xor},
    {"com.microsoft.BiasAdd", rule::like_first, elementwise(2)},
    {"com.microsoft.BiasDropout", rule::dropout, elementwise(2)},
    {"com.microsoft.BiasFastGeluGrad_dX", rule::like_first, elementwise(kExp + 6)},
    {"com.microsoft.BiasGelu", rule::like_first, elementwise(kExp + 6)},
    {"com.microsoft.BiasGeluGrad_dX", rule::like_first, elementwise(kExp + 6)},
    {"com.microsoft.BiasSplitGelu", bias_split_gelu, elementwise(kExp + 6)},
    {"com.microsoft.ComplexMul", complex_multiply, elementwise(6)},
    {"com.microsoft.ComplexMulConj", complex_multiply, elementwise(6)},
    {"com.microsoft.DropoutGrad", rule::like_first, elementwise(2)},
    {"com.microsoft.FastGelu", rule::like_first, elementwise(kExp + 6)},
    {"com.microsoft.FastGeluGrad", rule::like_first, elementwise(kExp + 6)},
    {"com.microsoft.GatedAdd", rule::like_first, elementwise(2)},
    {"com.microsoft.Gelu", rule::like_first, elementwise(kExp + 6)},
    {"com.microsoft.GeluGrad", rule::like_first, elementwise(kExp + 6)},
    {"com.microsoft.GemmaRotaryEmbedding", gemma_rotary, elementwise(4)},
    {"com.microsoft.QuickGelu", rule::like_first, elementwise(kExp + 2)},
    {"com.microsoft.QuickGeluGrad", rule::like_first, elementwise(kExp + 6)},
    {"com.microsoft.ReluGrad", rule::like_first, elementwise(2)},
    {"com.microsoft.RotaryEmbedding", rule::like_first, {rotated<2, 1>, OpClass::elementwise, 4}},
    {"com.microsoft.ScaledSiLU", rule::like_first, elementwise(kExp + 2)},
    {"com.microsoft.SigmoidGrad", rule::like_first, elementwise(kExp + 2)},
    {"com.microsoft.SwiGLU", rule::like_first, elementwise(kExp + 2)},
    {"com.microsoft.TanhGrad", rule::like_first, elementwise(kExp + 2)},
};

}  // namespace

std::span<const Row> elementwise_ops() {
  return kOps;
}

}  // namespace berth::ops::onnx
