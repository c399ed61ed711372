// Layers of networks: convolutions, pooling, normalisation, losses, recurrent cells, and their
// gradients.
#include <algorithm>

#include "tf/shapes/op_info.h"

namespace berth::tf_frontend {
namespace {

using Number = std::int64_t;

// --- Windows ------------------------------------------------------------------------------------

/// Where batch, channels and the first spatial dimension are.
struct Layout {
  std::size_t batch = 0;
  std::size_t channels;
  std::size_t spatial;
  std::size_t count;  ///< spatial dimensions

  Layout(std::string_view format, std::size_t spatial_count) : count(spatial_count) {
    const bool channels_first = format.substr(0, 2) == "NC";
    channels = channels_first ? 1 : spatial_count + 1;
    spatial = channels_first ? 2 : 1;
  }
  [[nodiscard]] std::size_t rank() const { return count + 2; }
};

struct Window {
  std::vector<Number> strides;    ///< by dimension of the tensor
  std::vector<Number> dilations;  ///< likewise; empty = 1
  std::vector<Number> explicit_paddings;
  bool same;

  explicit Window(const Attributes& attributes)
      : strides(small_integers(attributes, "strides")),
        dilations(small_integers(attributes, "dilations")),
        same(attributes.text("padding") == "SAME") {
    if (attributes.text("padding") == "EXPLICIT") {
      explicit_paddings = small_integers(attributes, "explicit_paddings");
    }
  }

  /// Positions of a window of `size` along dimension `axis`, which is `dim` long.
  [[nodiscard]] Number positions(Number dim, Number size, std::size_t axis) const {
    if (dim < 0 || size < 0 || axis >= strides.size() || strides[axis] < 1) return kUnknownDim;
    const Number stride = strides[axis];
    if (same) return (dim + stride - 1) / stride;
    if (2 * axis + 1 < explicit_paddings.size()) {
      dim = add_dims(dim, add_dims(explicit_paddings[2 * axis], explicit_paddings[2 * axis + 1]));
    }
    const Number dilation = axis < dilations.size() ? dilations[axis] : 1;
    const Number reach = std::min(size - 1, kMaxDim) * std::clamp<Number>(dilation, 1, 1 << 14);
    if (dim < 0 || size < 1 || dim < reach + 1) return dim < 0 ? kUnknownDim : 0;
    return (dim - reach - 1) / stride + 1;
  }
};

/// input and filter [spatial.., in, out]; `depthwise`: [spatial.., in, multiplier].
void convolve(ShapeContext& op, std::size_t spatial_count, std::string_view default_format,
              bool depthwise) {
  const Layout layout(op.attributes.text("data_format", default_format), spatial_count);
  const Window window(op.attributes);
  const Value& input = op.in(0);
  const Value& filter = op.in(1);
  Dims dims(layout.rank(), kUnknownDim);
  dims[layout.batch] = input.dim(layout.batch);
  for (std::size_t i = 0; i < layout.count; ++i) {
    const std::size_t axis = layout.spatial + i;
    dims[axis] = window.positions(input.dim(axis), filter.dim(i), axis);
  }
  dims[layout.channels] =
      depthwise ? multiply_dims(filter.dim(layout.count), filter.dim(layout.count + 1))
                : filter.dim(layout.count + 1);
  op.set(0, std::move(dims));
}
void conv_2d(ShapeContext& op) {
  convolve(op, 2, "NHWC", false);
}
void conv_3d(ShapeContext& op) {
  convolve(op, 3, "NDHWC", false);
}
void depthwise_conv(ShapeContext& op) {
  convolve(op, 2, "NHWC", true);
}
void dilation_2d(ShapeContext& op) {
  const Value& input = op.in(0);
  const std::vector<Number> rates = small_integers(op.attributes, "rates");
  Window window(op.attributes);
  window.dilations = rates;
  op.set(0, {input.dim(0), window.positions(input.dim(1), op.in(1).dim(0), 1),
             window.positions(input.dim(2), op.in(1).dim(1), 2), input.dim(3)});
}

/// sizes, filter, gradient: the content of the first is the shape; of a convolution of `rank` - 2
/// spatial dimensions.
void gradient_of_input(ShapeContext& op, std::size_t rank) {
  Value shape = shape_of_content(op.in(0));
  if (!shape.ranked) shape.set_shape(Dims(rank, kUnknownDim));
  op.copy_shape(0, shape);
}
void conv_2d_input_gradient(ShapeContext& op) {
  gradient_of_input(op, 4);
}
void conv_3d_input_gradient(ShapeContext& op) {
  gradient_of_input(op, 5);
}
/// input, filter sizes, gradient.
void filter_gradient(ShapeContext& op) {
  op.copy_shape(0, shape_of_content(op.in(1)));
}

void pool(ShapeContext& op, std::size_t spatial_count, std::string_view default_format) {
  const Layout layout(op.attributes.text("data_format", default_format), spatial_count);
  Window window(op.attributes);
  const Value& input = op.in(0);
  std::vector<Number> sizes = small_integers(op.attributes, "ksize");
  // MaxPoolV2 has both as inputs.
  if (const auto* given = op.in(1).integers(); given != nullptr && sizes.empty()) sizes = *given;
  if (const auto* given = op.in(2).integers(); given != nullptr && window.strides.empty()) {
    window.strides = *given;
  }
  Dims dims(layout.rank(), kUnknownDim);
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const Number size = axis < sizes.size() ? sizes[axis] : kUnknownDim;
    dims[axis] = size == 1 && axis < window.strides.size() && window.strides[axis] == 1
                     ? input.dim(axis)
                     : window.positions(input.dim(axis), size, axis);
  }
  for (std::size_t i = 0; i < op.output_count(); ++i) op.set(i, dims);
}
void pool_2d(ShapeContext& op) {
  pool(op, 2, "NHWC");
}
void pool_3d(ShapeContext& op) {
  pool(op, 3, "NDHWC");
}

void fractional_pool(ShapeContext& op) {
  op.set(0, {op.in(0).dim(0), kUnknownDim, kUnknownDim, op.in(0).dim(3)});
  op.set(1, {kUnknownDim});
  op.set(2, {kUnknownDim});
}

/// images, size [2].
void resize(ShapeContext& op) {
  const Value size = shape_of_content(op.in(1));
  op.set(0, {op.in(0).dim(0), size.dim(0), size.dim(1), op.in(0).dim(3)});
}
/// image, boxes, box indices, size [2].
void crop_and_resize(ShapeContext& op) {
  const Value size = shape_of_content(op.in(3));
  op.set(0, {op.in(1).dim(0), size.dim(0), size.dim(1), op.in(0).dim(3)});
}

// --- Normalisation and losses -------------------------------------------------------------------

void batch_norm(ShapeContext& op) {
  const Value& input = op.in(0);
  op.copy_shape(0, input);
  const Layout layout(op.attributes.text("data_format", "NHWC"),
                      input.rank() == 5 ? std::size_t{3} : std::size_t{2});
  Number channels = input.dim(layout.channels);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (channels == kUnknownDim) channels = op.in(i).dim(0);
  }
  for (std::size_t i = 1; i < op.output_count(); ++i) op.set(i, {channels});
  // What the third reserve holds is the kernel's own affair; most leave it empty.
  if (op.output_count() > 5) op.set(5, {0});
}
/// gradient, x, scale, reserves.
void batch_norm_gradient(ShapeContext& op) {
  op.copy_shape(0, op.in(1));
  if (!op.in(1).ranked) op.copy_shape(0, op.in(0));
  op.set(1, {op.in(2).dim(0)});
  op.set(2, {op.in(2).dim(0)});
  for (std::size_t i = 3; i < op.output_count(); ++i) op.set(i, {0});
}

void bias_gradient(ShapeContext& op) {
  const Value& input = op.in(0);
  const bool channels_first = op.attributes.text("data_format", "NHWC").substr(0, 2) == "NC";
  const std::size_t last = input.ranked && !input.dims.empty() ? input.dims.size() - 1 : 0;
  op.set(0, {input.dim(channels_first ? 1 : last)});
}

/// features and labels of one shape [batch, classes].
void softmax_loss(ShapeContext& op) {
  Value shape = op.in(0);
  if (!broadcast(op.in(0).ranked ? op.in(0).dims : Dims{kUnknownDim, kUnknownDim},
                 op.in(1).ranked ? op.in(1).dims : Dims{kUnknownDim, kUnknownDim}, shape.dims)) {
    return;
  }
  shape.ranked = true;
  op.set(0, {shape.dim(0)});
  op.copy_shape(1, shape);
}
/// features [batch, classes], labels [batch].
void sparse_softmax_loss(ShapeContext& op) {
  const Number batch = op.in(0).dim(0) != kUnknownDim ? op.in(0).dim(0) : op.in(1).dim(0);
  op.set(0, {batch});
  op.set(1, {batch, op.in(0).dim(1)});
}
/// inputs [time, batch, classes].
void ctc_loss(ShapeContext& op) {
  op.set(0, {op.in(0).dim(1)});
  op.copy_shape(1, op.in(0));
}

void top_k(ShapeContext& op) {
  const Value& input = op.in(0);
  Number k = op.attributes.integer("k", op.in(1).element(0).value_or(kUnknownDim));
  if (k < 0 || k > kMaxDim) k = kUnknownDim;
  if (!input.ranked || input.dims.empty()) return;
  Dims dims = input.dims;
  dims.back() = k;
  for (std::size_t i = 0; i < op.output_count(); ++i) op.set(i, dims);
}
void nth_element(ShapeContext& op) {
  if (!op.in(0).ranked || op.in(0).dims.empty()) return;
  op.set(0, Dims(op.in(0).dims.begin(), op.in(0).dims.end() - 1));
}
/// predictions, targets [batch].
void in_top_k(ShapeContext& op) {
  op.set(0, {op.in(1).dim(0) != kUnknownDim ? op.in(1).dim(0) : op.in(0).dim(0)});
}

/// samples of a class of tables: true classes [batch, true], then counts.
void candidate_sampler(ShapeContext& op) {
  Number sampled = op.attributes.integer("num_sampled", kUnknownDim);
  if (sampled < 0 || sampled > kMaxDim) sampled = kUnknownDim;
  op.set(0, {sampled});
  op.copy_shape(1, op.in(0));
  op.set(2, {sampled});
}

// --- Recurrent cells ----------------------------------------------------------------------------

/// x [batch, in], previous cell state [batch, size], ...: seven outputs of its shape.
void lstm_cell(ShapeContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    op.set(i, {op.in(0).dim(0), op.in(1).dim(1)});
  }
}
/// ... the gradients of the state, of the four gates together, and of the peepholes.
void lstm_cell_gradient(ShapeContext& op) {
  const Number size = op.in(1).dim(1);
  op.set(0, {op.in(0).dim(0), size});
  op.set(1, {op.in(0).dim(0), multiply_dims(size, 4)});
  for (std::size_t i = 2; i < op.output_count(); ++i) op.set(i, {size});
}
/// steps, x [time, batch, in], previous cell state: seven outputs [time, batch, size].
void lstm_block(ShapeContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    op.set(i, {op.in(1).dim(0), op.in(1).dim(1), op.in(2).dim(1)});
  }
}
/// The gradients of inputs 1 to 8.
void lstm_block_gradient(ShapeContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.copy_shape(i, op.in(i + 1));
}
/// x [batch, in], previous state [batch, size].
void gru_cell(ShapeContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    op.set(i, {op.in(0).dim(0), op.in(1).dim(1)});
  }
}
void gru_cell_gradient(ShapeContext& op) {
  op.copy_shape(0, op.in(0));
  op.copy_shape(1, op.in(1));
  op.copy_shape(2, op.in(1));
  op.set(3, {op.in(1).dim(0), multiply_dims(op.in(1).dim(1), 2)});
}
/// input [time, batch, in], states [layers * directions, batch, size].
void cudnn_rnn(ShapeContext& op) {
  const Number directions = op.attributes.text("direction") == "bidirectional" ? 2 : 1;
  op.set(0, {op.in(0).dim(0), op.in(0).dim(1), multiply_dims(op.in(1).dim(2), directions)});
  op.copy_shape(1, op.in(1));
  if (op.attributes.text("rnn_mode", "lstm") == "lstm") {
    op.copy_shape(2, op.in(1));
  } else {
    op.set(2, {0});
  }
}
/// The gradients of the four inputs.
void cudnn_rnn_gradient(ShapeContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.copy_shape(i, op.in(i));
}

/// A convolution, product or fake quantisation of 8-bit numbers: what it gives, then its range.
void quantized_conv(ShapeContext& op) {
  conv_2d(op);
  for (std::size_t i = 1; i < op.output_count(); ++i) op.set(i, {});
}
void quantized_like(ShapeContext& op) {
  op.copy_shape(0, op.in(0));
  for (std::size_t i = 1; i < op.output_count(); ++i) op.set(i, {});
}
/// gradient, input, minimum, maximum: their gradients.
void fake_quant_gradient(ShapeContext& op) {
  op.copy_shape(0, op.in(1));
  op.copy_shape(1, op.in(2));
  op.copy_shape(2, op.in(3));
}

constexpr OpRow kOps[] = {
    {"AllCandidateSampler",
     "sampled_candidates:=int64 true_expected_count:=float sampled_expected_count:=float",
     candidate_sampler},
    {"AvgPool", "output:T", pool_2d},
    {"AvgPool3D", "output:T", pool_3d},
    {"AvgPool3DGrad", "output:T", conv_3d_input_gradient},
    {"AvgPoolGrad", "output:T", conv_2d_input_gradient},
    {"BatchNormWithGlobalNormalization", "result:T", rule::like_first},
    {"BiasAdd", "output:T", rule::like_first},
    {"BiasAddGrad", "output:T", bias_gradient},
    {"BiasAddV1", "output:T", rule::like_first},
    {"BlockLSTM", "i:T cs:T f:T o:T ci:T co:T h:T", lstm_block},
    {"BlockLSTMGrad",
     "x_grad:T cs_prev_grad:T h_prev_grad:T w_grad:T wci_grad:T wcf_grad:T wco_grad:T b_grad:T",
     lstm_block_gradient},
    {"BlockLSTMGradV2",
     "x_grad:T cs_prev_grad:T h_prev_grad:T w_grad:T wci_grad:T wcf_grad:T wco_grad:T b_grad:T",
     lstm_block_gradient},
    {"BlockLSTMV2", "i:T cs:T f:T o:T ci:T co:T h:T", lstm_block},
    {"CTCBeamSearchDecoder",
     "decoded_indices:=int64*top_paths decoded_values:=int64*top_paths "
     "decoded_shape:=int64*top_paths log_probability:T",
     nullptr},
    {"CTCGreedyDecoder",
     "decoded_indices:=int64 decoded_values:=int64 decoded_shape:=int64 log_probability:T",
     nullptr},
    {"CTCLoss", "loss:T gradient:T", ctc_loss},
    {"CTCLossV2", "loss:=float gradient:=float", ctc_loss},
    {"ComputeAccidentalHits", "indices:=int32 ids:=int64 weights:=float", rule::vectors},
    {"Conv2D", "output:T", conv_2d},
    {"Conv2DBackpropFilter", "output:T", filter_gradient},
    {"Conv2DBackpropFilterV2", "output:T", rule::like_second},
    {"Conv2DBackpropInput", "output:T", conv_2d_input_gradient},
    {"Conv2DBackpropInputV2", "output:T", rule::like_first},
    {"Conv3D", "output:T", conv_3d},
    {"Conv3DBackpropFilter", "output:T", rule::like_second},
    {"Conv3DBackpropFilterV2", "output:T", filter_gradient},
    {"Conv3DBackpropInput", "output:T", rule::like_first},
    {"Conv3DBackpropInputV2", "output:T", conv_3d_input_gradient},
    {"CropAndResize", "crops:=float", crop_and_resize},
    {"CudnnRNN", "output:T output_h:T output_c:T reserve_space:T", cudnn_rnn},
    {"CudnnRNNBackprop", "input_backprop:T input_h_backprop:T input_c_backprop:T params_backprop:T",
     cudnn_rnn_gradient},
    {"CudnnRNNBackpropV2",
     "input_backprop:T input_h_backprop:T input_c_backprop:T params_backprop:T",
     cudnn_rnn_gradient},
    {"CudnnRNNBackpropV3",
     "input_backprop:T input_h_backprop:T input_c_backprop:T params_backprop:T",
     cudnn_rnn_gradient},
    {"CudnnRNNParamsSize", "params_size:S", nullptr},
    {"CudnnRNNV2", "output:T output_h:T output_c:T reserve_space:T host_reserved:=int8", cudnn_rnn},
    {"CudnnRNNV3", "output:T output_h:T output_c:T reserve_space:T host_reserved:=int8", cudnn_rnn},
    {"DataFormatDimMap", "y:T", rule::like_first},
    {"DataFormatVecPermute", "y:T", rule::like_first},
    {"DepthwiseConv2dNative", "output:T", depthwise_conv},
    {"DepthwiseConv2dNativeBackpropFilter", "output:T", filter_gradient},
    {"DepthwiseConv2dNativeBackpropInput", "output:T", conv_2d_input_gradient},
    {"Dequantize", "output:dtype", rule::like_first},
    {"Dilation2D", "output:T", dilation_2d},
    {"Dilation2DBackpropFilter", "filter_backprop:T", rule::like_second},
    {"Dilation2DBackpropInput", "in_backprop:T", rule::like_first},
    {"Elu", "activations:T", rule::like_first},
    {"EluGrad", "backprops:T", rule::like_first},
    {"FakeQuantWithMinMaxArgs", "outputs:=float", rule::like_first},
    {"FakeQuantWithMinMaxArgsGradient", "backprops:=float", rule::like_first},
    {"FakeQuantWithMinMaxVars", "outputs:=float", rule::like_first},
    {"FakeQuantWithMinMaxVarsGradient",
     "backprops_wrt_input:=float backprop_wrt_min:=float backprop_wrt_max:=float",
     fake_quant_gradient},
    {"FakeQuantWithMinMaxVarsPerChannel", "outputs:=float", rule::like_first},
    {"FakeQuantWithMinMaxVarsPerChannelGradient",
     "backprops_wrt_input:=float backprop_wrt_min:=float backprop_wrt_max:=float",
     fake_quant_gradient},
    {"FixedUnigramCandidateSampler",
     "sampled_candidates:=int64 true_expected_count:=float sampled_expected_count:=float",
     candidate_sampler},
    {"FractionalMaxPool", "output:T row_pooling_sequence:=int64 col_pooling_sequence:=int64",
     fractional_pool},
    {"FractionalMaxPoolGrad", "output:T", rule::like_first},
    {"FusedBatchNorm", "y:T batch_mean:T batch_variance:T reserve_space_1:T reserve_space_2:T",
     batch_norm},
    {"FusedBatchNormGrad",
     "x_backprop:T scale_backprop:T offset_backprop:T reserve_space_3:T reserve_space_4:T",
     batch_norm_gradient},
    {"FusedBatchNormGradV2",
     "x_backprop:T scale_backprop:U offset_backprop:U reserve_space_3:U reserve_space_4:U",
     batch_norm_gradient},
    {"FusedBatchNormGradV3",
     "x_backprop:T scale_backprop:U offset_backprop:U reserve_space_4:U reserve_space_5:U",
     batch_norm_gradient},
    {"FusedBatchNormV2", "y:T batch_mean:U batch_variance:U reserve_space_1:U reserve_space_2:U",
     batch_norm},
    {"FusedBatchNormV3",
     "y:T batch_mean:U batch_variance:U reserve_space_1:U reserve_space_2:U reserve_space_3:U",
     batch_norm},
    {"GRUBlockCell", "r:T u:T c:T h:T", gru_cell},
    {"GRUBlockCellGrad", "d_x:T d_h_prev:T d_c_bar:T d_r_bar_u_bar:T", gru_cell_gradient},
    {"InTopK", "precision:=bool", in_top_k},
    {"InTopKV2", "precision:=bool", in_top_k},
    {"L2Loss", "output:T", rule::scalars},
    {"LRN", "output:T", rule::like_first},
    {"LRNGrad", "output:T", rule::like_first},
    {"LSTMBlockCell", "i:T cs:T f:T o:T ci:T co:T h:T", lstm_cell},
    {"LSTMBlockCellGrad", "cs_prev_grad:T dicfo:T wci_grad:T wcf_grad:T wco_grad:T",
     lstm_cell_gradient},
    {"LeakyRelu", "activations:T", rule::like_first},
    {"LeakyReluGrad", "backprops:T", rule::like_first},
    {"LearnedUnigramCandidateSampler",
     "sampled_candidates:=int64 true_expected_count:=float sampled_expected_count:=float",
     candidate_sampler},
    {"LogSoftmax", "logsoftmax:T", rule::like_first},
    {"LogUniformCandidateSampler",
     "sampled_candidates:=int64 true_expected_count:=float sampled_expected_count:=float",
     candidate_sampler},
    {"MaxPool", "output:T", pool_2d},
    {"MaxPool3D", "output:T", pool_3d},
    {"MaxPool3DGrad", "output:T", rule::like_first},
    {"MaxPool3DGradGrad", "output:T", rule::like_second},
    {"MaxPoolGrad", "output:T", rule::like_first},
    {"MaxPoolGradGrad", "output:T", rule::like_second},
    {"MaxPoolGradGradV2", "output:T", rule::like_second},
    {"MaxPoolGradV2", "output:T", rule::like_first},
    {"MaxPoolGradWithArgmax", "output:T", rule::like_first},
    {"MaxPoolV2", "output:T", pool_2d},
    {"MaxPoolWithArgmax", "output:T argmax:Targmax", pool_2d},
    {"NonMaxSuppression", "selected_indices:=int32", rule::vectors},
    {"NonMaxSuppressionV2", "selected_indices:=int32", rule::vectors},
    {"NonMaxSuppressionV3", "selected_indices:=int32", rule::vectors},
    {"NonMaxSuppressionV4", "selected_indices:=int32 valid_outputs:=int32", nullptr},
    {"NonMaxSuppressionV5", "selected_indices:=int32 selected_scores:T valid_outputs:=int32",
     nullptr},
    {"NthElement", "values:T", nth_element},
    {"QuantizeAndDequantize", "output:T", rule::like_first},
    {"QuantizeAndDequantizeV2", "output:T", rule::like_first},
    {"QuantizeAndDequantizeV3", "output:T", rule::like_first},
    {"QuantizeV2", "output:T output_min:=float output_max:=float", quantized_like},
    {"QuantizedConv2D", "output:out_type min_output:=float max_output:=float", quantized_conv},
    {"QuantizedRelu", "activations:out_type min_activations:=float max_activations:=float",
     quantized_like},
    {"Relu", "activations:T", rule::like_first},
    {"Relu6", "activations:T", rule::like_first},
    {"Relu6Grad", "backprops:T", rule::like_first},
    {"ReluGrad", "backprops:T", rule::like_first},
    {"Requantize", "output:out_type output_min:=float output_max:=float", quantized_like},
    {"ResizeArea", "resized_images:=float", resize},
    {"ResizeBicubic", "resized_images:=float", resize},
    {"ResizeBicubicGrad", "output:T", rule::like_second},
    {"ResizeBilinear", "resized_images:=float", resize},
    {"ResizeBilinearGrad", "output:T", rule::like_second},
    {"ResizeNearestNeighbor", "resized_images:T", resize},
    {"ResizeNearestNeighborGrad", "output:T", resize},
    {"Selu", "activations:T", rule::like_first},
    {"SeluGrad", "backprops:T", rule::like_first},
    {"Softmax", "softmax:T", rule::like_first},
    {"SoftmaxCrossEntropyWithLogits", "loss:T backprop:T", softmax_loss},
    {"Softplus", "activations:T", rule::like_first},
    {"SoftplusGrad", "backprops:T", rule::like_first},
    {"Softsign", "activations:T", rule::like_first},
    {"SoftsignGrad", "backprops:T", rule::like_first},
    {"SparseSoftmaxCrossEntropyWithLogits", "loss:T backprop:T", sparse_softmax_loss},
    {"ThreadUnsafeUnigramCandidateSampler",
     "sampled_candidates:=int64 true_expected_count:=float sampled_expected_count:=float",
     candidate_sampler},
    {"TopK", "values:T indices:=int32", top_k},
    {"TopKV2", "values:T indices:index_type", top_k},
    {"UniformCandidateSampler",
     "sampled_candidates:=int64 true_expected_count:=float sampled_expected_count:=float",
     candidate_sampler},
    {"_FusedBatchNormEx",
     "y:T batch_mean:U batch_variance:U reserve_space_1:U reserve_space_2:U reserve_space_3:U",
     batch_norm},
    {"_FusedConv2D", "output:T", conv_2d},
};

}  // namespace

std::span<const OpRow> network_ops() {
  return kOps;
}

}  // namespace berth::tf_frontend
