// Work of MLIR's ops. Shapes are in the types of the IR itself, so that no rule computes them.
#include "ops/mlir/rules.h"

#include <algorithm>
#include <cmath>

#include "berth/support/text.h"
#include "ops/formulas.h"

namespace berth::ops::mlir {
namespace {

constexpr double kExp = kTranscendentalFlops;

template <std::size_t Destination, std::size_t Update>
Estimate updated(const OpView& op, const WorkRule& rule) {
  return work::make_estimate(op, rule, 0,
                             updated_bytes(op, Destination, 1, op.input(Update).bytes()));
}

/// Destinations, indices, and as many updates: the body runs once for each element of an update, with what is
/// there.
Estimate scattered(const OpView& op, const WorkRule& rule) {
  const std::size_t count = op.input_count();
  double points = number(op, "points");
  if (std::isnan(points) && count > 0) points = op.input(count - 1).elements();
  double updates = 0;
  for (std::size_t i = count - count / 2; i < count; ++i) updates += op.input(i).bytes();
  return work::make_estimate(op, rule, points * known_or(number(op, "body"), 1),
                             updated_bytes(op, 0, count / 2, 2 * updates));
}

template <std::size_t Destination, std::size_t Update>
constexpr WorkRule updates() {
  return {updated<Destination, Update>, OpClass::data_movement, 0, {}, /*in_place=*/true};
}

constexpr WorkRule kBody{with_body, OpClass::elementwise};
constexpr WorkRule kReducing{with_body, OpClass::reduction};
constexpr WorkRule kPooling{pooled, OpClass::pooling};
constexpr WorkRule kWindow{pooled_by_attribute, OpClass::pooling};
constexpr WorkRule kDot{dot_general, OpClass::matmul};

constexpr Family kFamilies[] = {
    {kSource,
     "arith.constant bufferization.alloc_tensor memref.alloc memref.alloca memref.dim "
     "memref.get_global onnx.NoValue stablehlo.constant stablehlo.get_dimension_size "
     "stablehlo.partition_id stablehlo.replica_id tensor.dim tensor.empty tosa.const "
     "tosa.const_shape"},
    {kView,
     "bufferization.to_buffer bufferization.to_memref bufferization.to_tensor "
     "builtin.unrealized_conversion_cast memref.cast memref.collapse_shape memref.expand_shape "
     "memref.memory_space_cast memref.reinterpret_cast memref.reshape memref.subview "
     "memref.transpose memref.view stablehlo.bitcast_convert stablehlo.dynamic_reshape "
     "stablehlo.get_tuple_element stablehlo.optimization_barrier stablehlo.reshape "
     "stablehlo.set_dimension_size stablehlo.tuple tensor.bitcast tensor.cast "
     "tensor.collapse_shape tensor.expand_shape tensor.reshape torch_c.from_builtin_tensor "
     "torch_c.to_builtin_tensor tosa.identity tosa.reshape"},
    {kControl, "memref.dealloc"},
    {kShapes, "onnx.Dim"},
    {copies(),
     "bufferization.clone bufferization.materialize_in_destination linalg.broadcast linalg.pack "
     "linalg.transpose linalg.unpack memref.copy stablehlo.all_gather stablehlo.all_to_all "
     "stablehlo.broadcast_in_dim stablehlo.collective_broadcast stablehlo.collective_permute "
     "stablehlo.concatenate "
     "stablehlo.dynamic_broadcast_in_dim stablehlo.dynamic_pad stablehlo.pad stablehlo.reverse "
     "stablehlo.transpose tensor.concat tensor.pack tensor.pad tensor.unpack tosa.concat tosa.pad "
     "tosa.reverse tosa.tile tosa.transpose"},
    {writes(),
     "chlo.constant_like linalg.fill stablehlo.dynamic_iota stablehlo.iota tensor.from_elements "
     "tensor.splat"},
    {gathers(),
     "stablehlo.dynamic_gather stablehlo.dynamic_slice stablehlo.gather "
     "stablehlo.real_dynamic_slice stablehlo.slice stablehlo.torch_index_select tensor.extract "
     "tensor.extract_slice tensor.gather tosa.gather tosa.slice"},
    {updates<0, 1>(), "stablehlo.dynamic_update_slice"},
    {{scattered, OpClass::data_movement, 0, {}, /*in_place=*/true}, "stablehlo.scatter"},
    {updates<1, 0>(),
     "tensor.insert tensor.insert_slice tensor.parallel_insert_slice tensor.scatter"},
    {updates<0, 2>(), "tosa.scatter"},
    {kMatmul,
     "linalg.batch_matmul linalg.batch_matmul_transpose_b linalg.dot linalg.matmul "
     "linalg.matmul_transpose_b linalg.matvec linalg.quantized_batch_matmul "
     "linalg.quantized_matmul linalg.vecmat tosa.fully_connected tosa.matmul"},
    {{matmul_transposed, OpClass::matmul},
     "linalg.batch_matmul_transpose_a linalg.matmul_transpose_a"},
    {{batched_vectors, OpClass::matmul}, "linalg.batch_matvec linalg.batch_vecmat"},
    {{tiled_matmul, OpClass::matmul}, "linalg.batch_mmt4d linalg.mmt4d"},
    {{reduced_matmul, OpClass::matmul}, "linalg.batch_reduce_matmul"},
    {{contraction, OpClass::matmul}, "linalg.contract"},
    {cubic(1.0 / 3), "stablehlo.cholesky"},
    {kDot, "stablehlo.dot stablehlo.dot_general"},
    {{ragged_dot, OpClass::matmul}, "chlo.ragged_dot"},
    {{einsum, OpClass::matmul}, "stablehlo.einsum"},
    {kTriangular, "stablehlo.triangular_solve"},
    {convolution(window_alone), "linalg.conv_1d linalg.conv_2d linalg.conv_3d"},
    {convolution(features_first),
     "linalg.conv_1d_ncw_fcw linalg.conv_2d_nchw_fchw linalg.conv_2d_nchw_fchw_q "
     "linalg.conv_3d_ncdhw_fcdhw"},
    {convolution(features_last),
     "linalg.conv_1d_nwc_wcf linalg.conv_2d_nhwc_hwcf linalg.conv_2d_nhwc_hwcf_q "
     "linalg.conv_3d_ndhwc_dhwcf linalg.conv_3d_ndhwc_dhwcf_q"},
    {convolution(groups_second), "linalg.conv_2d_ngchw_fgchw"},
    {convolution(groups_first), "linalg.conv_2d_ngchw_gfchw linalg.conv_2d_ngchw_gfchw_q"},
    {convolution(channels_last),
     "linalg.conv_2d_nhwc_fhwc linalg.conv_2d_nhwc_fhwc_q tosa.conv2d tosa.conv3d"},
    {convolution(groups_channels_last), "linalg.conv_2d_nhwgc_gfhwc linalg.conv_2d_nhwgc_gfhwc_q"},
    {convolution(by_attributes), "stablehlo.convolution stablehlo.dynamic_conv"},
    {convolution(transposed_last), "tosa.transpose_conv2d"},
    {kDepthwiseFirst,
     "linalg.depthwise_conv_1d_ncw_cw linalg.depthwise_conv_2d_nchw_chw "
     "linalg.depthwise_conv_3d_ncdhw_cdhw"},
    {kDepthwise,
     "linalg.depthwise_conv_1d_nwc_wc linalg.depthwise_conv_1d_nwc_wcm "
     "linalg.depthwise_conv_2d_nhwc_hwc linalg.depthwise_conv_2d_nhwc_hwc_q "
     "linalg.depthwise_conv_2d_nhwc_hwcm linalg.depthwise_conv_2d_nhwc_hwcm_q "
     "linalg.depthwise_conv_3d_ndhwc_dhwc linalg.depthwise_conv_3d_ndhwc_dhwcm "
     "tosa.depthwise_conv2d"},
    {kPooling,
     "linalg.pooling_nchw_max linalg.pooling_nchw_sum linalg.pooling_ncw_max "
     "linalg.pooling_ncw_sum linalg.pooling_ndhwc_max linalg.pooling_ndhwc_min "
     "linalg.pooling_ndhwc_sum linalg.pooling_nhwc_max linalg.pooling_nhwc_max_unsigned "
     "linalg.pooling_nhwc_min linalg.pooling_nhwc_min_unsigned linalg.pooling_nhwc_sum "
     "linalg.pooling_nwc_max linalg.pooling_nwc_min linalg.pooling_nwc_sum"},
    {{with_body, OpClass::pooling}, "stablehlo.reduce_window stablehlo.select_and_scatter"},
    {kWindow, "tosa.avg_pool2d tosa.max_pool2d"},
    {{with_body, OpClass::other}, "chlo.top_k stablehlo.sort"},
    // Sums and copies are on the op's device; the way to other processes is no device's.
    {{with_body, OpClass::data_movement}, "stablehlo.all_reduce stablehlo.reduce_scatter"},
    {kBody, "linalg.elementwise linalg.map stablehlo.map tensor.generate"},
    {{general, OpClass::elementwise}, "linalg.generic"},
    {kReducing, "linalg.reduce stablehlo.reduce"},
    {{filled, OpClass::elementwise, 20}, "linalg.fill_rng_2d"},
    {elementwise(kExp + 5), "linalg.softmax"},
    {normalization(10), "stablehlo.batch_norm_grad"},
    {normalization(4), "stablehlo.batch_norm_inference"},
    {normalization(8), "stablehlo.batch_norm_training"},
    {{fourier, OpClass::other}, "stablehlo.fft"},
    {generates(20), "stablehlo.rng stablehlo.rng_bit_generator"},
    {reduction(1),
     "tosa.argmax tosa.reduce_all tosa.reduce_any tosa.reduce_max tosa.reduce_min "
     "tosa.reduce_prod tosa.reduce_product tosa.reduce_sum"},
    {{image_fourier, OpClass::other}, "tosa.fft2d tosa.rfft2d"},
    {elementwise(8), "tosa.resize"},
    {elementwise(1),
     "arith.addf arith.addi arith.addui_extended arith.andi arith.bitcast arith.ceildivsi "
     "arith.ceildivui arith.cmpf arith.cmpi arith.divf arith.divsi arith.divui arith.extf "
     "arith.extsi arith.extui arith.floordivsi arith.fptosi arith.fptoui arith.index_cast "
     "arith.index_castui arith.maximumf arith.maxnumf arith.maxsi arith.maxui arith.minimumf "
     "arith.minnumf arith.minsi arith.minui arith.mulf arith.muli arith.mulsi_extended "
     "arith.mului_extended arith.negf arith.ori arith.remf arith.remsi arith.remui arith.select "
     "arith.shli arith.shrsi arith.shrui arith.sitofp arith.subf arith.subi arith.truncf "
     "arith.trunci arith.uitofp arith.xori chlo.conj chlo.is_inf chlo.is_neg_inf chlo.is_pos_inf "
     "chlo.next_after chlo.square linalg.abs linalg.add linalg.ceil linalg.copy linalg.div "
     "linalg.div_unsigned linalg.elemwise_binary linalg.floor linalg.max linalg.min linalg.mul "
     "linalg.negf linalg.reciprocal linalg.round linalg.select linalg.square linalg.sub math.absf "
     "math.absi math.ceil math.clampf math.copysign math.ctlz math.ctpop math.cttz math.floor "
     "math.fma math.isfinite math.isinf math.isnan math.isnormal math.round math.roundeven "
     "math.trunc stablehlo.abs stablehlo.add stablehlo.and stablehlo.ceil stablehlo.clamp "
     "stablehlo.compare stablehlo.complex stablehlo.convert stablehlo.count_leading_zeros "
     "stablehlo.divide stablehlo.floor stablehlo.imag stablehlo.is_finite stablehlo.maximum "
     "stablehlo.minimum stablehlo.multiply stablehlo.negate stablehlo.not stablehlo.or "
     "stablehlo.popcnt stablehlo.real stablehlo.reduce_precision stablehlo.remainder "
     "stablehlo.round_nearest_afz stablehlo.round_nearest_even stablehlo.select "
     "stablehlo.shift_left stablehlo.shift_right_arithmetic stablehlo.shift_right_logical "
     "stablehlo.sign stablehlo.subtract stablehlo.uniform_dequantize stablehlo.uniform_quantize "
     "stablehlo.xor tosa.abs tosa.add tosa.arithmetic_right_shift tosa.bitwise_and "
     "tosa.bitwise_not tosa.bitwise_or tosa.bitwise_xor tosa.cast tosa.ceil tosa.clamp tosa.clz "
     "tosa.equal tosa.floor tosa.greater tosa.greater_equal tosa.int_div tosa.intdiv "
     "tosa.logical_and tosa.logical_left_shift tosa.logical_not tosa.logical_or "
     "tosa.logical_right_shift tosa.logical_xor tosa.maximum tosa.minimum tosa.mul tosa.negate "
     "tosa.reciprocal tosa.rescale tosa.select tosa.sub tosa.table"},
    {elementwise(kExp),
     "chlo.acos chlo.acosh chlo.asin chlo.asinh chlo.atan chlo.atanh chlo.bessel_i1e chlo.cosh "
     "chlo.digamma chlo.erf chlo.erf_inv chlo.erfc chlo.lgamma chlo.polygamma chlo.sinh chlo.tan "
     "chlo.zeta linalg.elemwise_unary linalg.erf linalg.exp linalg.log linalg.powf linalg.rsqrt "
     "linalg.sqrt linalg.tanh math.acos math.acosh math.asin math.asinh math.atan math.atan2 "
     "math.atanh math.cbrt math.cos math.cosh math.erf math.erfc math.exp math.exp2 math.expm1 "
     "math.fpowi math.ipowi math.log math.log10 math.log1p math.log2 math.powf math.rsqrt "
     "math.sin math.sincos math.sinh math.sqrt math.tan math.tanh stablehlo.atan2 stablehlo.cbrt "
     "stablehlo.cosine stablehlo.exponential stablehlo.exponential_minus_one stablehlo.log "
     "stablehlo.log_plus_one stablehlo.logistic stablehlo.power stablehlo.rsqrt stablehlo.sine "
     "stablehlo.sqrt stablehlo.tan stablehlo.tanh tosa.cos tosa.erf tosa.exp tosa.log tosa.pow "
     "tosa.rsqrt tosa.sigmoid tosa.sin tosa.tanh"},
};

}  // namespace

double number(const OpView& op, std::string_view name) {
  const auto values = op.integers(name);
  return values.empty() ? kUnknown : static_cast<double>(values.front());
}

TensorView result_of(const OpView& op) {
  const TensorView result = op.output(0);
  return result.present() || op.input_count() == 0 ? result : op.input(op.input_count() - 1);
}

double moved_bytes(const OpView& op) {
  const double written = op.output(0).present() ? 0 : result_of(op).bytes();
  double unread = 0;
  const auto picked = op.integers("picked");
  for (std::size_t i = 0; i + 1 < picked.size(); i += 2) {
    const TensorView from = op.input(static_cast<std::size_t>(picked[i]));
    const double read = number(op, "points") * static_cast<double>(picked[i + 1]) *
                        work::element_bytes(from.dtype());
    unread += std::max(0.0, known_or(from.bytes() - read, 0));
  }
  return work::all_bytes(op) + written - unread;
}

double updated_bytes(const OpView& op, std::size_t first, std::size_t destinations,
                     double written) {
  const double copied = number(op, "copies") == 1 ? 2 : 0;  // read and written
  double bytes = written;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    const bool is_destination = i >= first && i < first + destinations;
    bytes += (is_destination ? copied : 1) * op.input(i).bytes();
  }
  return bytes;
}

Estimate per_result(const OpView& op, const WorkRule& rule) {
  return work::make_estimate(op, rule, rule.flops * result_of(op).elements(), moved_bytes(op));
}

Estimate filled(const OpView& op, const WorkRule& rule) {
  const TensorView result = result_of(op);
  const double bytes = op.output(0).present() ? op.bytes_written() : result.bytes();
  return work::make_estimate(op, rule, rule.flops * result.elements(), bytes);
}

Estimate with_body(const OpView& op, const WorkRule& rule) {
  double points = number(op, "points");
  if (std::isnan(points)) points = std::max(op.input(0).elements(), result_of(op).elements());
  return work::make_estimate(op, rule, points * (known_or(number(op, "body"), 1) + rule.flops),
                             moved_bytes(op));
}

void add_rows(std::vector<NamedWork>& rows, std::span<const Family> families,
              std::string_view front) {
  for (const Family& family : families) {
    for_each_word(family.types, [&](std::string_view type) {
      rows.push_back({cat(front, type), family.work});
    });
  }
}

std::vector<NamedWork> all_ops() {
  std::vector<NamedWork> rows = torch_ops(), iree = iree_ops();
  rows.insert(rows.end(), iree.begin(), iree.end());
  add_rows(rows, kFamilies);
  return rows;
}

}  // namespace berth::ops::mlir
