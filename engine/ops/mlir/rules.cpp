// Work of MLIR's ops. Shapes are in the types of the IR itself, so that no rule computes them.
//
// Beside the tensors a rule reads what the importer found, each a list of whole numbers:
//   contracting   dimensions of input 0 that a product sums over (stablehlo.dot_general)
//   output_features   the dimension of input 1 that is no tap of a convolution's output
//   lhs_dilation  how far apart a convolution spreads its input, with zeros between (a gradient's)
//   points, body  of an op with a body that runs per element (linalg.generic, stablehlo.reduce, map):
//                 how often it runs, and how many ops it has
#include "ops/mlir/rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ops/formulas.h"

namespace berth::ops::mlir {

Estimate product(const OpView& op, const WorkRule& rule, double inner, std::size_t right) {
  const TensorView result = op.output(0);
  const bool shared = op.input(right).rank() <= 2;
  const double columns = result.rank() > 1 ? result.dim(-1) : 1;
  const double rows = shared ? result.elements() / columns : result.dim(-2);
  return work::with_products(
      work::make_estimate(op, rule, matmul_flops(result.elements(), inner, false),
                          work::all_bytes(op)),
      rows, columns, result.elements() / (rows * columns));
}

Estimate matmul(const OpView& op, const WorkRule& rule) {
  return product(op, rule, op.input(0).dim(-1));
}

namespace {

constexpr double kExp = kTranscendentalFlops;

double number(const OpView& op, std::string_view name) {
  const auto values = op.integers(name);
  return values.empty() ? kUnknown : static_cast<double>(values.front());
}

/// linalg.matmul_transpose_a: (k, m).
Estimate matmul_transposed(const OpView& op, const WorkRule& rule) {
  return product(op, rule, op.input(0).dim(-2));
}
Estimate dot_general(const OpView& op, const WorkRule& rule) {
  const auto dims = op.integers("contracting");
  if (dims.empty()) {
    // Not readable: exact without batch dimensions, the square root of a count too large with them.
    const double a = op.input(0).elements(), b = op.input(1).elements();
    return product(op, rule, std::sqrt(a * b / op.output(0).elements()));
  }
  double inner = 1;
  for (const std::int64_t dim : dims) inner *= op.input(0).dim(static_cast<int>(dim));
  return product(op, rule, inner);
}

/// `features`: the dimension of the weights that is none of the taps. Beside it are the channels, as
/// far as is known: the window is what both leave. One tap in `spread` meets no zero that was put in.
Estimate convolution(const OpView& op, const WorkRule& rule, int features, double spread = 1) {
  const TensorView weights = op.input(1);
  const double outputs = weights.dim(features);
  const double taps = weights.elements() / outputs / spread;
  const double channels = weights.dim(features == 0 ? 1 : -2);
  const double points = op.output(0).elements();
  return work::with_convolution(
      work::make_estimate(op, rule, convolution_flops(points, taps, /*bias=*/false),
                          work::all_bytes(op)),
      {.window = taps / channels,
       .channels = channels,
       .groups = 1,
       .rows = points / outputs,
       .columns = outputs,
       .minimal = false});
}
Estimate convolution_by_attribute(const OpView& op, const WorkRule& rule) {
  const double features = number(op, "output_features");
  double spread = 1;
  for (const std::int64_t apart : op.integers("lhs_dilation")) {
    spread *= static_cast<double>(std::max<std::int64_t>(apart, 1));
  }
  return convolution(op, rule, std::isnan(features) ? -1 : static_cast<int>(features), spread);
}
Estimate features_last(const OpView& op, const WorkRule& rule) {
  return convolution(op, rule, -1);
}
/// Weights (h, w, channels, multiplier) or (h, w, channels): the taps are the window alone.
Estimate depthwise(const OpView& op, const WorkRule& rule) {
  return work::make_estimate(
      op, rule,
      convolution_flops(op.output(0).elements(), op.input(1).elements(0, 2), /*bias=*/false),
      work::all_bytes(op));
}
/// (m, k, m0, k0) with (n, k, n0, k0): the tiles of linalg.mmt4d; batch_mmt4d has batches in front.
Estimate tiled_matmul(const OpView& op, const WorkRule& rule) {
  const TensorView left = op.input(0), right = op.input(1);
  const double inner = left.dim(-3) * left.dim(-1);
  const double rows = left.dim(-4) * left.dim(-2), columns = right.dim(-4) * right.dim(-2);
  return work::with_products(
      work::make_estimate(op, rule, matmul_flops(op.output(0).elements(), inner, false),
                          work::all_bytes(op)),
      rows, columns, op.output(0).elements() / (rows * columns));
}
/// Sums over batches too: linalg.batch_reduce_matmul.
Estimate reduced_matmul(const OpView& op, const WorkRule& rule) {
  return product(op, rule, op.input(0).dim(0) * op.input(0).dim(-1));
}
/// A triangle of (n, n) under each column.
Estimate triangular_solve(const OpView& op, const WorkRule& rule) {
  return work::make_estimate(op, rule, op.output(0).elements() * op.input(0).dim(-1),
                             work::all_bytes(op));
}
/// Along the last dimension, of real numbers twice as many as of the complex ones that they give.
Estimate fourier(const OpView& op, const WorkRule& rule) {
  const double elements = std::max(op.input(0).elements(), op.output(0).elements());
  const double points = std::max(op.input(0).dim(-1), op.output(0).dim(-1));
  return work::make_estimate(op, rule, fourier_flops(elements, points), work::all_bytes(op));
}

/// linalg pools take a tensor of the window's shape.
Estimate pooled(const OpView& op, const WorkRule& rule) {
  return work::make_estimate(op, rule, op.output(0).elements() * op.input(1).elements(),
                             work::all_bytes(op));
}

constexpr WorkRule kBody{with_body, OpClass::elementwise};
constexpr WorkRule kReducing{with_body, OpClass::reduction};

struct Row {
  std::string_view type;
  WorkRule work;
};

constexpr Row kNamed[] = {
    {"arith.constant", kSource},
    {"arith.select", elementwise(1)},
    {"bufferization.to_memref", kView},
    {"bufferization.to_tensor", kView},
    {"chlo.constant_like", writes()},
    {"chlo.top_k", {with_body, OpClass::other}},
    {"linalg.batch_matmul", kMatmul},
    {"linalg.batch_matmul_transpose_a", {matmul_transposed, OpClass::matmul}},
    {"linalg.batch_matmul_transpose_b", kMatmul},
    {"linalg.batch_matvec", kMatmul},
    {"linalg.batch_mmt4d", {tiled_matmul, OpClass::matmul}},
    {"linalg.batch_reduce_matmul", {reduced_matmul, OpClass::matmul}},
    {"linalg.batch_vecmat", kMatmul},
    {"linalg.broadcast", copies()},
    {"linalg.contract", kBody},
    {"linalg.conv_1d_ncw_fcw", kFeaturesFirst},
    {"linalg.conv_1d_nwc_wcf", {features_last, OpClass::convolution}},
    {"linalg.conv_2d_nchw_fchw", kFeaturesFirst},
    {"linalg.conv_2d_nchw_fchw_q", kFeaturesFirst},
    {"linalg.conv_2d_nhwc_fhwc", kFeaturesFirst},
    {"linalg.conv_2d_nhwc_fhwc_q", kFeaturesFirst},
    {"linalg.conv_2d_nhwc_hwcf", {features_last, OpClass::convolution}},
    {"linalg.conv_2d_nhwc_hwcf_q", {features_last, OpClass::convolution}},
    {"linalg.conv_3d_ncdhw_fcdhw", kFeaturesFirst},
    {"linalg.conv_3d_ndhwc_dhwcf", {features_last, OpClass::convolution}},
    {"linalg.conv_3d_ndhwc_dhwcf_q", {features_last, OpClass::convolution}},
    {"linalg.depthwise_conv_2d_nhwc_hwc", {depthwise, OpClass::depthwise_convolution}},
    {"linalg.depthwise_conv_2d_nhwc_hwcm", {depthwise, OpClass::depthwise_convolution}},
    {"linalg.dot", kMatmul},
    {"linalg.elementwise", kBody},
    {"linalg.elemwise_binary", elementwise(1)},
    {"linalg.elemwise_unary", elementwise(kExp)},
    {"linalg.fill", writes()},
    {"linalg.generic", kBody},
    {"linalg.map", kBody},
    {"linalg.matmul", kMatmul},
    {"linalg.matmul_transpose_a", {matmul_transposed, OpClass::matmul}},
    {"linalg.matmul_transpose_b", kMatmul},
    {"linalg.matvec", kMatmul},
    {"linalg.mmt4d", {tiled_matmul, OpClass::matmul}},
    {"linalg.pack", copies()},
    {"linalg.pooling_nchw_max", {pooled, OpClass::pooling}},
    {"linalg.pooling_nchw_sum", {pooled, OpClass::pooling}},
    {"linalg.pooling_ncw_max", {pooled, OpClass::pooling}},
    {"linalg.pooling_ncw_sum", {pooled, OpClass::pooling}},
    {"linalg.pooling_ndhwc_max", {pooled, OpClass::pooling}},
    {"linalg.pooling_ndhwc_min", {pooled, OpClass::pooling}},
    {"linalg.pooling_ndhwc_sum", {pooled, OpClass::pooling}},
    {"linalg.pooling_nhwc_max", {pooled, OpClass::pooling}},
    {"linalg.pooling_nhwc_max_unsigned", {pooled, OpClass::pooling}},
    {"linalg.pooling_nhwc_min", {pooled, OpClass::pooling}},
    {"linalg.pooling_nhwc_min_unsigned", {pooled, OpClass::pooling}},
    {"linalg.pooling_nhwc_sum", {pooled, OpClass::pooling}},
    {"linalg.pooling_nwc_max", {pooled, OpClass::pooling}},
    {"linalg.pooling_nwc_min", {pooled, OpClass::pooling}},
    {"linalg.pooling_nwc_sum", {pooled, OpClass::pooling}},
    {"linalg.quantized_batch_matmul", kMatmul},
    {"linalg.quantized_matmul", kMatmul},
    {"linalg.reduce", kReducing},
    {"linalg.softmax", elementwise(kExp + 5)},
    {"linalg.transpose", copies()},
    {"linalg.unpack", copies()},
    {"linalg.vecmat", {features_first, OpClass::matmul}},
    {"onnx.Dim", kShapes},
    {"onnx.NoValue", kSource},
    {"stablehlo.batch_norm_grad", normalization(10)},
    {"stablehlo.batch_norm_inference", normalization(4)},
    {"stablehlo.batch_norm_training", normalization(8)},
    {"stablehlo.bitcast_convert", kView},
    {"stablehlo.broadcast_in_dim", copies()},
    {"stablehlo.cholesky", {work::determinant, OpClass::matmul}},
    {"stablehlo.concatenate", copies()},
    {"stablehlo.constant", kSource},
    {"stablehlo.convolution", {convolution_by_attribute, OpClass::convolution}},
    {"stablehlo.dot", {dot_general, OpClass::matmul}},
    {"stablehlo.dot_general", {dot_general, OpClass::matmul}},
    {"stablehlo.dynamic_broadcast_in_dim", copies()},
    {"stablehlo.dynamic_conv", {convolution_by_attribute, OpClass::convolution}},
    {"stablehlo.dynamic_gather", gathers()},
    {"stablehlo.dynamic_iota", writes()},
    {"stablehlo.dynamic_pad", copies()},
    {"stablehlo.dynamic_reshape", kView},
    {"stablehlo.dynamic_slice", gathers()},
    {"stablehlo.dynamic_update_slice", copies()},
    {"stablehlo.einsum", {dot_general, OpClass::matmul}},
    {"stablehlo.fft", {fourier, OpClass::other}},
    {"stablehlo.gather", gathers()},
    {"stablehlo.get_dimension_size", kSource},
    {"stablehlo.get_tuple_element", kView},
    {"stablehlo.iota", writes()},
    {"stablehlo.map", kBody},
    {"stablehlo.optimization_barrier", kView},
    {"stablehlo.pad", copies()},
    {"stablehlo.real_dynamic_slice", gathers()},
    {"stablehlo.reduce", kReducing},
    {"stablehlo.reduce_window", {with_body, OpClass::pooling}},
    {"stablehlo.reshape", kView},
    {"stablehlo.reverse", copies()},
    {"stablehlo.rng", generates(20)},
    {"stablehlo.rng_bit_generator", generates(20)},
    {"stablehlo.scatter", copies(1)},
    {"stablehlo.select_and_scatter", {with_body, OpClass::pooling}},
    {"stablehlo.set_dimension_size", kView},
    {"stablehlo.slice", gathers()},
    {"stablehlo.sort", {with_body, OpClass::other}},
    {"stablehlo.torch_index_select", gathers()},
    {"stablehlo.transpose", copies()},
    {"stablehlo.triangular_solve", {triangular_solve, OpClass::matmul}},
    {"stablehlo.tuple", kView},
    {"tensor.bitcast", kView},
    {"tensor.cast", kView},
    {"tensor.collapse_shape", kView},
    {"tensor.concat", copies()},
    {"tensor.dim", kSource},
    {"tensor.empty", kSource},
    {"tensor.expand_shape", kView},
    {"tensor.extract", gathers()},
    {"tensor.extract_slice", gathers()},
    {"tensor.from_elements", writes()},
    {"tensor.gather", gathers()},
    {"tensor.generate", kBody},
    {"tensor.insert", copies()},
    {"tensor.insert_slice", copies()},
    {"tensor.pack", copies()},
    {"tensor.pad", copies()},
    {"tensor.reshape", kView},
    {"tensor.scatter", copies()},
    {"tensor.splat", writes()},
    {"tensor.unpack", copies()},
    {"tosa.argmax", reduction(1)},
    {"tosa.avg_pool2d", {with_body, OpClass::pooling}},
    {"tosa.concat", copies()},
    {"tosa.const", kSource},
    {"tosa.const_shape", kSource},
    {"tosa.conv2d", kFeaturesFirst},
    {"tosa.conv3d", kFeaturesFirst},
    {"tosa.depthwise_conv2d", {depthwise, OpClass::depthwise_convolution}},
    {"tosa.fft2d", {fourier, OpClass::other}},
    {"tosa.fully_connected", kMatmul},
    {"tosa.gather", gathers()},
    {"tosa.identity", kView},
    {"tosa.matmul", kMatmul},
    {"tosa.max_pool2d", {with_body, OpClass::pooling}},
    {"tosa.pad", copies()},
    {"tosa.reduce_all", reduction(1)},
    {"tosa.reduce_any", reduction(1)},
    {"tosa.reduce_max", reduction(1)},
    {"tosa.reduce_min", reduction(1)},
    {"tosa.reduce_prod", reduction(1)},
    {"tosa.reduce_product", reduction(1)},
    {"tosa.reduce_sum", reduction(1)},
    {"tosa.reshape", kView},
    {"tosa.resize", elementwise(8)},
    {"tosa.reverse", copies()},
    {"tosa.rfft2d", {fourier, OpClass::other}},
    {"tosa.scatter", copies()},
    {"tosa.slice", gathers()},
    {"tosa.table", elementwise(1)},
    {"tosa.tile", copies()},
    {"tosa.transpose", copies()},
    {"tosa.transpose_conv2d", kFeaturesFirst},
};

// Element by element: one operation, or one of those that are a polynomial.
constexpr std::string_view kSimple[] = {
    "arith.addf",
    "arith.addi",
    "arith.addui_extended",
    "arith.andi",
    "arith.bitcast",
    "arith.ceildivsi",
    "arith.ceildivui",
    "arith.cmpf",
    "arith.cmpi",
    "arith.divf",
    "arith.divsi",
    "arith.divui",
    "arith.extf",
    "arith.extsi",
    "arith.extui",
    "arith.floordivsi",
    "arith.fptosi",
    "arith.fptoui",
    "arith.index_cast",
    "arith.index_castui",
    "arith.maximumf",
    "arith.maxnumf",
    "arith.maxsi",
    "arith.maxui",
    "arith.minimumf",
    "arith.minnumf",
    "arith.minsi",
    "arith.minui",
    "arith.mulf",
    "arith.muli",
    "arith.mulsi_extended",
    "arith.mului_extended",
    "arith.negf",
    "arith.ori",
    "arith.remf",
    "arith.remsi",
    "arith.remui",
    "arith.shli",
    "arith.shrsi",
    "arith.shrui",
    "arith.sitofp",
    "arith.subf",
    "arith.subi",
    "arith.truncf",
    "arith.trunci",
    "arith.uitofp",
    "arith.xori",
    "chlo.conj",
    "chlo.is_inf",
    "chlo.is_neg_inf",
    "chlo.is_pos_inf",
    "chlo.next_after",
    "linalg.abs",
    "linalg.add",
    "linalg.ceil",
    "linalg.copy",
    "linalg.div",
    "linalg.div_unsigned",
    "linalg.floor",
    "linalg.max",
    "linalg.min",
    "linalg.mul",
    "linalg.negf",
    "linalg.reciprocal",
    "linalg.round",
    "linalg.select",
    "linalg.square",
    "linalg.sub",
    "math.absf",
    "math.absi",
    "math.ceil",
    "math.clampf",
    "math.copysign",
    "math.ctlz",
    "math.ctpop",
    "math.cttz",
    "math.floor",
    "math.fma",
    "math.isfinite",
    "math.isinf",
    "math.isnan",
    "math.isnormal",
    "math.round",
    "math.roundeven",
    "math.trunc",
    "stablehlo.abs",
    "stablehlo.add",
    "stablehlo.and",
    "stablehlo.ceil",
    "stablehlo.clamp",
    "stablehlo.compare",
    "stablehlo.complex",
    "stablehlo.convert",
    "stablehlo.count_leading_zeros",
    "stablehlo.divide",
    "stablehlo.floor",
    "stablehlo.imag",
    "stablehlo.is_finite",
    "stablehlo.maximum",
    "stablehlo.minimum",
    "stablehlo.multiply",
    "stablehlo.negate",
    "stablehlo.not",
    "stablehlo.or",
    "stablehlo.popcnt",
    "stablehlo.real",
    "stablehlo.reduce_precision",
    "stablehlo.remainder",
    "stablehlo.round_nearest_afz",
    "stablehlo.round_nearest_even",
    "stablehlo.select",
    "stablehlo.shift_left",
    "stablehlo.shift_right_arithmetic",
    "stablehlo.shift_right_logical",
    "stablehlo.sign",
    "stablehlo.subtract",
    "stablehlo.uniform_dequantize",
    "stablehlo.uniform_quantize",
    "stablehlo.xor",
    "tosa.abs",
    "tosa.add",
    "tosa.arithmetic_right_shift",
    "tosa.bitwise_and",
    "tosa.bitwise_not",
    "tosa.bitwise_or",
    "tosa.bitwise_xor",
    "tosa.cast",
    "tosa.ceil",
    "tosa.clamp",
    "tosa.clz",
    "tosa.equal",
    "tosa.floor",
    "tosa.greater",
    "tosa.greater_equal",
    "tosa.int_div",
    "tosa.intdiv",
    "tosa.logical_and",
    "tosa.logical_left_shift",
    "tosa.logical_not",
    "tosa.logical_or",
    "tosa.logical_right_shift",
    "tosa.logical_xor",
    "tosa.maximum",
    "tosa.minimum",
    "tosa.mul",
    "tosa.negate",
    "tosa.reciprocal",
    "tosa.rescale",
    "tosa.select",
    "tosa.sub",
};
constexpr std::string_view kPolynomial[] = {
    "chlo.acos",
    "chlo.acosh",
    "chlo.asin",
    "chlo.asinh",
    "chlo.atan",
    "chlo.atanh",
    "chlo.bessel_i1e",
    "chlo.cosh",
    "chlo.digamma",
    "chlo.erf",
    "chlo.erf_inv",
    "chlo.erfc",
    "chlo.lgamma",
    "chlo.polygamma",
    "chlo.sinh",
    "chlo.square",
    "chlo.tan",
    "chlo.zeta",
    "linalg.erf",
    "linalg.exp",
    "linalg.log",
    "linalg.powf",
    "linalg.rsqrt",
    "linalg.sqrt",
    "linalg.tanh",
    "math.acos",
    "math.acosh",
    "math.asin",
    "math.asinh",
    "math.atan",
    "math.atan2",
    "math.atanh",
    "math.cbrt",
    "math.cos",
    "math.cosh",
    "math.erf",
    "math.erfc",
    "math.exp",
    "math.exp2",
    "math.expm1",
    "math.fpowi",
    "math.ipowi",
    "math.log",
    "math.log10",
    "math.log1p",
    "math.log2",
    "math.powf",
    "math.rsqrt",
    "math.sin",
    "math.sincos",
    "math.sinh",
    "math.sqrt",
    "math.tan",
    "math.tanh",
    "stablehlo.atan2",
    "stablehlo.cbrt",
    "stablehlo.cosine",
    "stablehlo.exponential",
    "stablehlo.exponential_minus_one",
    "stablehlo.log",
    "stablehlo.log_plus_one",
    "stablehlo.logistic",
    "stablehlo.power",
    "stablehlo.rsqrt",
    "stablehlo.sine",
    "stablehlo.sqrt",
    "stablehlo.tan",
    "stablehlo.tanh",
    "tosa.cos",
    "tosa.erf",
    "tosa.exp",
    "tosa.log",
    "tosa.pow",
    "tosa.rsqrt",
    "tosa.sigmoid",
    "tosa.sin",
    "tosa.tanh",
};

}  // namespace

Estimate features_first(const OpView& op, const WorkRule& rule) {
  return convolution(op, rule, 0);
}

Estimate with_body(const OpView& op, const WorkRule& rule) {
  double points = number(op, "points");
  if (std::isnan(points)) points = std::max(op.input(0).elements(), op.output(0).elements());
  return work::make_estimate(op, rule, points * known_or(number(op, "body"), 1),
                             work::all_bytes(op));
}

std::vector<NamedWork> all_ops() {
  std::vector<NamedWork> rows = torch_ops();
  const auto add = [&rows](std::string_view type, const WorkRule& work) {
    rows.push_back({std::string(type), work});
  };
  for (const Row& row : kNamed) add(row.type, row.work);
  for (const std::string_view type : kSimple) add(type, elementwise(1));
  for (const std::string_view type : kPolynomial) add(type, elementwise(kExp));
  return rows;
}

}  // namespace berth::ops::mlir
