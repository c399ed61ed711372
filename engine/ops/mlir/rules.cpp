// Work of MLIR's ops. Shapes are in the types of the IR itself, so that no rule computes them.
#include "ops/mlir/rules.h"

#include <algorithm>
#include <cmath>

#include "ops/formulas.h"

namespace berth::ops::mlir {
namespace {

constexpr double kExp = kTranscendentalFlops;

/// Bytes of an update: it is read with its indices, and `written` over a part of the destinations, of which `first`
/// is one. The rest stays where it is, unless they are needed as they were: then copies are made first.
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

struct Row {
  std::string_view type;
  WorkRule work;
};

constexpr Row kNamed[] = {
    {"arith.constant", kSource},
    {"arith.select", elementwise(1)},
    {"bufferization.alloc_tensor", kSource},
    {"bufferization.clone", copies()},
    {"bufferization.materialize_in_destination", copies()},
    {"bufferization.to_buffer", kView},
    {"bufferization.to_memref", kView},
    {"bufferization.to_tensor", kView},
    {"builtin.unrealized_conversion_cast", kView},
    {"chlo.constant_like", writes()},
    {"chlo.top_k", {with_body, OpClass::other}},
    {"iree_linalg_ext.attention", {fused_attention, OpClass::attention}},
    {"linalg.batch_matmul", kMatmul},
    {"linalg.batch_matmul_transpose_a", {matmul_transposed, OpClass::matmul}},
    {"linalg.batch_matmul_transpose_b", kMatmul},
    {"linalg.batch_matvec", {batched_vectors, OpClass::matmul}},
    {"linalg.batch_mmt4d", {tiled_matmul, OpClass::matmul}},
    {"linalg.batch_reduce_matmul", {reduced_matmul, OpClass::matmul}},
    {"linalg.batch_vecmat", {batched_vectors, OpClass::matmul}},
    {"linalg.broadcast", copies()},
    {"linalg.contract", {contraction, OpClass::matmul}},
    {"linalg.conv_1d", convolution(window_alone)},
    {"linalg.conv_1d_ncw_fcw", convolution(features_first)},
    {"linalg.conv_1d_nwc_wcf", convolution(features_last)},
    {"linalg.conv_2d", convolution(window_alone)},
    {"linalg.conv_2d_nchw_fchw", convolution(features_first)},
    {"linalg.conv_2d_nchw_fchw_q", convolution(features_first)},
    {"linalg.conv_2d_ngchw_fgchw", convolution(groups_second)},
    {"linalg.conv_2d_ngchw_gfchw", convolution(groups_first)},
    {"linalg.conv_2d_ngchw_gfchw_q", convolution(groups_first)},
    {"linalg.conv_2d_nhwc_fhwc", convolution(channels_last)},
    {"linalg.conv_2d_nhwc_fhwc_q", convolution(channels_last)},
    {"linalg.conv_2d_nhwc_hwcf", convolution(features_last)},
    {"linalg.conv_2d_nhwc_hwcf_q", convolution(features_last)},
    {"linalg.conv_2d_nhwgc_gfhwc", convolution(groups_channels_last)},
    {"linalg.conv_2d_nhwgc_gfhwc_q", convolution(groups_channels_last)},
    {"linalg.conv_3d", convolution(window_alone)},
    {"linalg.conv_3d_ncdhw_fcdhw", convolution(features_first)},
    {"linalg.conv_3d_ndhwc_dhwcf", convolution(features_last)},
    {"linalg.conv_3d_ndhwc_dhwcf_q", convolution(features_last)},
    {"linalg.depthwise_conv_1d_ncw_cw", kDepthwiseFirst},
    {"linalg.depthwise_conv_1d_nwc_wc", kDepthwise},
    {"linalg.depthwise_conv_1d_nwc_wcm", kDepthwise},
    {"linalg.depthwise_conv_2d_nchw_chw", kDepthwiseFirst},
    {"linalg.depthwise_conv_2d_nhwc_hwc", kDepthwise},
    {"linalg.depthwise_conv_2d_nhwc_hwc_q", kDepthwise},
    {"linalg.depthwise_conv_2d_nhwc_hwcm", kDepthwise},
    {"linalg.depthwise_conv_2d_nhwc_hwcm_q", kDepthwise},
    {"linalg.depthwise_conv_3d_ncdhw_cdhw", kDepthwiseFirst},
    {"linalg.depthwise_conv_3d_ndhwc_dhwc", kDepthwise},
    {"linalg.depthwise_conv_3d_ndhwc_dhwcm", kDepthwise},
    {"linalg.dot", kMatmul},
    {"linalg.elementwise", kBody},
    {"linalg.elemwise_binary", elementwise(1)},
    {"linalg.elemwise_unary", elementwise(kExp)},
    {"linalg.fill", writes()},
    {"linalg.fill_rng_2d", {filled, OpClass::elementwise, 20}},
    {"linalg.generic", {general, OpClass::elementwise}},
    {"linalg.map", kBody},
    {"linalg.matmul", kMatmul},
    {"linalg.matmul_transpose_a", {matmul_transposed, OpClass::matmul}},
    {"linalg.matmul_transpose_b", kMatmul},
    {"linalg.matvec", kMatmul},
    {"linalg.mmt4d", {tiled_matmul, OpClass::matmul}},
    {"linalg.pack", copies()},
    {"linalg.pooling_nchw_max", kPooling},
    {"linalg.pooling_nchw_sum", kPooling},
    {"linalg.pooling_ncw_max", kPooling},
    {"linalg.pooling_ncw_sum", kPooling},
    {"linalg.pooling_ndhwc_max", kPooling},
    {"linalg.pooling_ndhwc_min", kPooling},
    {"linalg.pooling_ndhwc_sum", kPooling},
    {"linalg.pooling_nhwc_max", kPooling},
    {"linalg.pooling_nhwc_max_unsigned", kPooling},
    {"linalg.pooling_nhwc_min", kPooling},
    {"linalg.pooling_nhwc_min_unsigned", kPooling},
    {"linalg.pooling_nhwc_sum", kPooling},
    {"linalg.pooling_nwc_max", kPooling},
    {"linalg.pooling_nwc_min", kPooling},
    {"linalg.pooling_nwc_sum", kPooling},
    {"linalg.quantized_batch_matmul", kMatmul},
    {"linalg.quantized_matmul", kMatmul},
    {"linalg.reduce", kReducing},
    {"linalg.softmax", elementwise(kExp + 5)},
    {"linalg.transpose", copies()},
    {"linalg.unpack", copies()},
    {"linalg.vecmat", kMatmul},
    {"memref.alloc", kSource},
    {"memref.alloca", kSource},
    {"memref.cast", kView},
    {"memref.collapse_shape", kView},
    {"memref.copy", copies()},
    {"memref.dealloc", kControl},
    {"memref.dim", kSource},
    {"memref.expand_shape", kView},
    {"memref.get_global", kSource},
    {"memref.memory_space_cast", kView},
    {"memref.reinterpret_cast", kView},
    {"memref.reshape", kView},
    {"memref.subview", kView},
    {"memref.transpose", kView},
    {"memref.view", kView},
    {"onnx.Dim", kShapes},
    {"onnx.NoValue", kSource},
    {"stablehlo.batch_norm_grad", normalization(10)},
    {"stablehlo.batch_norm_inference", normalization(4)},
    {"stablehlo.batch_norm_training", normalization(8)},
    {"stablehlo.bitcast_convert", kView},
    {"stablehlo.broadcast_in_dim", copies()},
    {"stablehlo.cholesky", cubic(1.0 / 3)},
    {"stablehlo.concatenate", copies()},
    {"stablehlo.constant", kSource},
    {"stablehlo.convolution", convolution(by_attributes)},
    {"stablehlo.dot", kDot},
    {"stablehlo.dot_general", kDot},
    {"stablehlo.dynamic_broadcast_in_dim", copies()},
    {"stablehlo.dynamic_conv", convolution(by_attributes)},
    {"stablehlo.dynamic_gather", gathers()},
    {"stablehlo.dynamic_iota", writes()},
    {"stablehlo.dynamic_pad", copies()},
    {"stablehlo.dynamic_reshape", kView},
    {"stablehlo.dynamic_slice", gathers()},
    {"stablehlo.dynamic_update_slice", updates<0, 1>()},
    {"stablehlo.einsum", {einsum, OpClass::matmul}},
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
    {"stablehlo.scatter", {scattered, OpClass::data_movement, 0, {}, /*in_place=*/true}},
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
    {"tensor.insert", updates<1, 0>()},
    {"tensor.insert_slice", updates<1, 0>()},
    {"tensor.pack", copies()},
    {"tensor.pad", copies()},
    {"tensor.parallel_insert_slice", updates<1, 0>()},
    {"tensor.reshape", kView},
    {"tensor.scatter", updates<1, 0>()},
    {"tensor.splat", writes()},
    {"tensor.unpack", copies()},
    {"torch_c.from_builtin_tensor", kView},
    {"torch_c.to_builtin_tensor", kView},
    {"tosa.argmax", reduction(1)},
    {"tosa.avg_pool2d", kWindow},
    {"tosa.concat", copies()},
    {"tosa.const", kSource},
    {"tosa.const_shape", kSource},
    {"tosa.conv2d", convolution(channels_last)},
    {"tosa.conv3d", convolution(channels_last)},
    {"tosa.depthwise_conv2d", kDepthwise},
    {"tosa.fft2d", {image_fourier, OpClass::other}},
    {"tosa.fully_connected", kMatmul},
    {"tosa.gather", gathers()},
    {"tosa.identity", kView},
    {"tosa.matmul", kMatmul},
    {"tosa.max_pool2d", kWindow},
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
    {"tosa.rfft2d", {image_fourier, OpClass::other}},
    {"tosa.scatter", updates<0, 2>()},
    {"tosa.slice", gathers()},
    {"tosa.table", elementwise(1)},
    {"tosa.tile", copies()},
    {"tosa.transpose", copies()},
    {"tosa.transpose_conv2d", convolution(transposed_last)},
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
  return work::make_estimate(op, rule, points * known_or(number(op, "body"), 1), moved_bytes(op));
}

std::vector<NamedWork> all_ops() {
  std::vector<NamedWork> rows = torch_ops();
  const auto add = [&rows](std::string_view type, const WorkRule& work) {
    rows.push_back({std::string(type), work});
  };
  for (const Row& row : kNamed) add(row.type, row.work);
  for (const std::string_view type : simple_ops()) add(type, elementwise(1));
  for (const std::string_view type : polynomial_ops()) add(type, elementwise(kExp));
  return rows;
}

}  // namespace berth::ops::mlir
