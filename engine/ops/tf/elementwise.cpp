// Arithmetic element by element: operands broadcast together, activations and their gradients.
#include "ops/formulas.h"
#include "ops/tf/rules.h"

namespace berth::ops::tf {
namespace {

constexpr double kExp = kTranscendentalFlops;
constexpr WorkRule kSum{work::per_operand, OpClass::elementwise, 1};

/// All inputs have one shape; whichever knows it.
void add_many(OpContext& op) {
  for (std::size_t i = 0; i < op.input_count(); ++i) merge_shape(op.out(0), op.in(i));
}

/// condition, x, y of one shape; the condition may be a vector or a scalar.
void select(OpContext& op) {
  op.copy_shape(0, op.in(1));
  merge_shape(op.out(0), op.in(2));
}
/// A vector chooses rows, which is not how shapes are broadcast.
void fold_select(OpContext& op) {
  if (op.in(0).content_size() == 1 || op.in(0).dims == op.out(0).dims) fold::select(op);
}

void fold_clip(OpContext& op) {
  const auto least = op.in(1).number(0), most = op.in(2).number(0);
  if (least && most) fold::clip(op, least, most);
}

void fold_cast(OpContext& op) {
  const int to = op.out(0).type;
  if (is_integer_type(to) || is_float_type(to)) fold::convert(op, dtype_of(to));
}

/// Incomplete gamma and beta functions and the zeta function: some ten terms of a series.
constexpr WorkRule kSeries = elementwise(10 * kExp);

constexpr Row kOps[] = {
    {"Abs", "y:T", rule::like_first, elementwise(1), fold::absolute},
    {"AccumulateNV2", "sum:T", rule::like_first, kSum},
    {"Acos", "y:T", rule::like_first, elementwise(kExp)},
    {"Acosh", "y:T", rule::like_first, elementwise(kExp)},
    {"Add", "z:T", rule::broadcast_all, elementwise(1), fold::add},
    {"AddN", "sum:T", add_many, kSum, fold::add_all},
    {"AddV2", "z:T", rule::broadcast_all, elementwise(1), fold::add},
    {"Angle", "output:Tout=float", rule::like_first, elementwise(kExp)},
    {"ApproximateEqual", "z:=bool", rule::broadcast_all, elementwise(1)},
    {"Asin", "y:T", rule::like_first, elementwise(kExp)},
    {"Asinh", "y:T", rule::like_first, elementwise(kExp)},
    {"Atan", "y:T", rule::like_first, elementwise(kExp)},
    {"Atan2", "z:T", rule::broadcast_all, elementwise(kExp)},
    {"Atanh", "y:T", rule::like_first, elementwise(kExp)},
    {"BesselI0", "y:T", rule::like_first, elementwise(kExp)},
    {"BesselI0e", "y:T", rule::like_first, elementwise(kExp)},
    {"BesselI1", "y:T", rule::like_first, elementwise(kExp)},
    {"BesselI1e", "y:T", rule::like_first, elementwise(kExp)},
    {"BesselJ0", "y:T", rule::like_first, elementwise(kExp)},
    {"BesselJ1", "y:T", rule::like_first, elementwise(kExp)},
    {"BesselK0", "y:T", rule::like_first, elementwise(kExp)},
    {"BesselK0e", "y:T", rule::like_first, elementwise(kExp)},
    {"BesselK1", "y:T", rule::like_first, elementwise(kExp)},
    {"BesselK1e", "y:T", rule::like_first, elementwise(kExp)},
    {"BesselY0", "y:T", rule::like_first, elementwise(kExp)},
    {"BesselY1", "y:T", rule::like_first, elementwise(kExp)},
    {"Betainc", "z:T", rule::broadcast_all, kSeries},
    {"BiasAdd", "output:T", rule::like_first, elementwise(1)},
    {"BiasAddV1", "output:T", rule::like_first, elementwise(1)},
    {"BitwiseAnd", "z:T", rule::broadcast_all, elementwise(1), fold::bitwise_and},
    {"BitwiseOr", "z:T", rule::broadcast_all, elementwise(1), fold::bitwise_or},
    {"BitwiseXor", "z:T", rule::broadcast_all, elementwise(1), fold::bitwise_xor},
    {"Bucketize", "output:=int32", rule::like_first, elementwise(1)},
    {"Cast", "y:DstT", rule::like_first, kConversion, fold_cast},
    {"Ceil", "y:T", rule::like_first, elementwise(1), fold::ceiling},
    {"ClipByValue", "output:T", rule::like_first, elementwise(1), fold_clip},
    {"Complex", "out:Tout=complex64", rule::broadcast_all, elementwise(1)},
    {"ComplexAbs", "y:Tout=float", rule::like_first, elementwise(3)},
    {"Conj", "output:T=complex64", rule::like_first, elementwise(1)},
    {"Cos", "y:T", rule::like_first, elementwise(kExp)},
    {"Cosh", "y:T", rule::like_first, elementwise(kExp)},
    {"Cross", "product:T", rule::like_first, elementwise(3)},
    {"Dawsn", "y:T", rule::like_first, elementwise(kExp)},
    {"Digamma", "y:T", rule::like_first, elementwise(kExp)},
    {"Div", "z:T", rule::broadcast_all, elementwise(1), fold::truncate_divide},
    {"DivNoNan", "z:T", rule::broadcast_all, elementwise(1)},
    {"Elu", "activations:T", rule::like_first, elementwise(kExp + 2)},
    {"EluGrad", "backprops:T", rule::like_first, elementwise(3)},
    {"Equal", "z:=bool", rule::broadcast_all, elementwise(1), fold::equal},
    {"Erf", "y:T", rule::like_first, elementwise(kExp)},
    {"Erfc", "y:T", rule::like_first, elementwise(kExp)},
    {"Erfinv", "y:T", rule::like_first, elementwise(kExp)},
    {"Exp", "y:T", rule::like_first, elementwise(kExp)},
    {"Expint", "y:T", rule::like_first, elementwise(kExp)},
    {"Expm1", "y:T", rule::like_first, elementwise(kExp)},
    {"Floor", "y:T", rule::like_first, elementwise(1), fold::floor},
    {"FloorDiv", "z:T", rule::broadcast_all, elementwise(3), fold::floor_divide},
    {"FloorMod", "z:T", rule::broadcast_all, elementwise(3), fold::floor_modulo},
    {"FresnelCos", "y:T", rule::like_first, elementwise(kExp)},
    {"FresnelSin", "y:T", rule::like_first, elementwise(kExp)},
    {"Greater", "z:=bool", rule::broadcast_all, elementwise(1), fold::greater},
    {"GreaterEqual", "z:=bool", rule::broadcast_all, elementwise(1), fold::greater_equal},
    {"Igamma", "z:T", rule::broadcast_all, kSeries},
    {"IgammaGradA", "z:T", rule::broadcast_all, kSeries},
    {"Igammac", "z:T", rule::broadcast_all, kSeries},
    {"Imag", "output:Tout=float", rule::like_first, elementwise(1)},
    {"Inv", "y:T", rule::like_first, elementwise(1), fold::reciprocal},
    {"InvGrad", "z:T", rule::like_first, elementwise(2)},
    {"Invert", "y:T", rule::like_first, elementwise(1)},
    {"IsFinite", "y:=bool", rule::like_first, elementwise(1)},
    {"IsInf", "y:=bool", rule::like_first, elementwise(1)},
    {"IsNan", "y:=bool", rule::like_first, elementwise(1)},
    {"LeakyRelu", "activations:T=float", rule::like_first, elementwise(1)},
    {"LeakyReluGrad", "backprops:T=float", rule::like_first, elementwise(1)},
    {"LeftShift", "z:T", rule::broadcast_all, elementwise(1)},
    {"Less", "z:=bool", rule::broadcast_all, elementwise(1), fold::less},
    {"LessEqual", "z:=bool", rule::broadcast_all, elementwise(1), fold::less_equal},
    {"Lgamma", "y:T", rule::like_first, elementwise(kExp)},
    {"Log", "y:T", rule::like_first, elementwise(kExp)},
    {"Log1p", "y:T", rule::like_first, elementwise(kExp)},
    {"LogicalAnd", "z:=bool", rule::broadcast_all, elementwise(1), fold::logical_and},
    {"LogicalNot", "y:=bool", rule::like_first, elementwise(1), fold::logical_not},
    {"LogicalOr", "z:=bool", rule::broadcast_all, elementwise(1), fold::logical_or},
    {"Maximum", "z:T", rule::broadcast_all, elementwise(1), fold::maximum},
    {"Minimum", "z:T", rule::broadcast_all, elementwise(1), fold::minimum},
    {"Mod", "z:T", rule::broadcast_all, elementwise(3), fold::floor_modulo},
    {"Mul", "z:T", rule::broadcast_all, elementwise(1), fold::multiply},
    {"MulNoNan", "z:T", rule::broadcast_all, elementwise(1)},
    {"Ndtri", "y:T", rule::like_first, elementwise(kExp)},
    {"Neg", "y:T", rule::like_first, elementwise(1), fold::negative},
    {"NextAfter", "output:T=float", rule::broadcast_all, elementwise(1)},
    {"NotEqual", "z:=bool", rule::broadcast_all, elementwise(1), fold::not_equal},
    {"OnesLike", "y:T", rule::like_first, writes(), fold::ones_like},
    {"Polygamma", "z:T", rule::broadcast_all, kSeries},
    {"PopulationCount", "y:=uint8", rule::like_first, elementwise(4)},
    {"Pow", "z:T", rule::broadcast_all, elementwise(2 * kExp), fold::power},
    {"Real", "output:Tout=float", rule::like_first, elementwise(1)},
    {"RealDiv", "z:T", rule::broadcast_all, elementwise(1), fold::truncate_divide},
    {"Reciprocal", "y:T", rule::like_first, elementwise(1), fold::reciprocal},
    {"ReciprocalGrad", "z:T", rule::like_first, elementwise(2)},
    {"Relu", "activations:T", rule::like_first, elementwise(1)},
    {"Relu6", "activations:T", rule::like_first, elementwise(1)},
    {"Relu6Grad", "backprops:T", rule::like_first, elementwise(1)},
    {"ReluGrad", "backprops:T", rule::like_first, elementwise(1)},
    {"RightShift", "z:T", rule::broadcast_all, elementwise(1)},
    {"Rint", "y:T", rule::like_first, elementwise(1), fold::round},
    {"Round", "y:T", rule::like_first, elementwise(1), fold::round},
    {"Rsqrt", "y:T", rule::like_first, elementwise(3)},
    {"RsqrtGrad", "z:T", rule::like_first, elementwise(3)},
    {"Select", "output:T", select, elementwise(1), fold_select},
    {"SelectV2", "output:T", rule::broadcast_all, elementwise(1), fold::select},
    {"Selu", "activations:T", rule::like_first, elementwise(kExp + 2)},
    {"SeluGrad", "backprops:T", rule::like_first, elementwise(3)},
    {"Sigmoid", "y:T", rule::like_first, elementwise(kExp + 2)},
    {"SigmoidGrad", "z:T", rule::like_first, elementwise(3)},
    {"Sign", "y:T", rule::like_first, elementwise(1), fold::sign},
    {"Sin", "y:T", rule::like_first, elementwise(kExp)},
    {"Sinh", "y:T", rule::like_first, elementwise(kExp)},
    {"Softplus", "activations:T", rule::like_first, elementwise(kExp + 2)},
    {"SoftplusGrad", "backprops:T", rule::like_first, elementwise(kExp + 2)},
    {"Softsign", "activations:T", rule::like_first, elementwise(3)},
    {"SoftsignGrad", "backprops:T", rule::like_first, elementwise(3)},
    {"Spence", "y:T", rule::like_first, elementwise(kExp)},
    {"Sqrt", "y:T", rule::like_first, elementwise(3), fold::square_root},
    {"SqrtGrad", "z:T", rule::like_first, elementwise(3)},
    {"Square", "y:T", rule::like_first, elementwise(1), fold::square},
    {"SquaredDifference", "z:T", rule::broadcast_all, elementwise(2)},
    {"Sub", "z:T", rule::broadcast_all, elementwise(1), fold::subtract},
    {"Tan", "y:T", rule::like_first, elementwise(kExp)},
    {"Tanh", "y:T", rule::like_first, elementwise(kExp)},
    {"TanhGrad", "z:T", rule::like_first, elementwise(2)},
    {"TruncateDiv", "z:T", rule::broadcast_all, elementwise(3), fold::truncate_divide},
    {"TruncateMod", "z:T", rule::broadcast_all, elementwise(3), fold::truncate_modulo},
    {"Xdivy", "z:T", rule::broadcast_all, elementwise(kExp)},
    {"Xlog1py", "z:T", rule::broadcast_all, elementwise(kExp)},
    {"Xlogy", "z:T", rule::broadcast_all, elementwise(kExp)},
    {"ZerosLike", "y:T", rule::like_first, writes(), fold::zeros_like},
    {"Zeta", "z:T", rule::broadcast_all, kSeries},
};

}  // namespace

std::span<const Row> elementwise_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
