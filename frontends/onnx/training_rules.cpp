// Shapes of the gradient operators that ONNX Runtime's training adds (domain com.microsoft).
#include <unordered_map>

#include "onnx/op_context.h"

namespace berth::onnx_frontend {
namespace {

using onnx::TensorProto;

void like_first(OpContext& op) {
  op.set_like(0, 0);
}
void like_second(OpContext& op) {
  op.set_like(0, 1);
}

void like_each(OpContext& op) {
  for (std::size_t i = 0; i < op.out.size(); ++i) op.set_like(i, i);
}

// dY, X, scale (or weights), ...: gradients of X, of the scale and of the bias.
void normalization_gradient(OpContext& op) {
  for (std::size_t i = 0; i < op.out.size(); ++i) op.set_like(i, i == 0 ? 1 : 2);
}

void convolution_gradient(OpContext& op) {
  op.set_like(0, 1);
  op.set_like(1, 2);
  const Dims* const weights = op.shape(2);
  if (weights != nullptr && !weights->empty()) op.set(2, op.elem(0), {weights->front()});
}

// The shape is the content of input `from`.
void shaped_by(OpContext& op, std::size_t from, int elem) {
  op.set(0, tensor_type(elem));
  const Data* const data = op.data(from);
  if (data == nullptr || data->size() > static_cast<std::size_t>(kMaxRank)) return;
  Dims dims;
  for (std::size_t i = 0; i < data->size(); ++i) {
    dims.push_back(valid_dim(data->integer(i).value_or(kUnknownDim)));
  }
  op.set(0, elem, std::move(dims));
}

void gather_gradient(OpContext& op) {
  shaped_by(op, 0, op.elem(2));
}
void slice_gradient(OpContext& op) {
  shaped_by(op, 1, op.elem(0));
}

void concat(OpContext& op) {
  find_rule("", "Concat")(op);
  op.set(1, TensorProto::INT64, {static_cast<std::int64_t>(op.input_count())});
}

void reduce_sum(OpContext& op) {
  find_rule("", "ReduceSum")(op);
}

// Scores (batch, classes, d...) and labels (batch, d...).
void cross_entropy(OpContext& op) {
  op.set(0, op.elem(0), {});
  if (op.text_attribute("reduction") == "none" && op.shape(1) != nullptr) {
    op.set(0, op.elem(0), *op.shape(1));
  }
  op.set_like(1, 0);
}

void accumulate(OpContext& op) {
  op.set(0, TensorProto::BOOL, {1});
  op.set_like(1, 0);
}

void broadcast_gradient_axes(OpContext& op) {
  for (std::size_t i = 0; i < op.out.size(); ++i) op.set(i, TensorProto::INT64, {kUnknownDim});
}

}  // namespace

Rule find_training_rule(std::string_view type) {
  static const std::unordered_map<std::string_view, Rule> kRules = {
      {"BatchNormalizationGrad", normalization_gradient},
      {"BiasFastGeluGrad_dX", like_first},
      {"BiasGeluGrad_dX", like_first},
      {"BitmaskDropoutGrad", like_first},
      {"BroadcastGradientArgs", broadcast_gradient_axes},
      {"ConcatTraining", concat},
      {"ConvGrad", convolution_gradient},
      {"DropoutGrad", like_first},
      {"FastGeluGrad", like_first},
      {"GatherElementsGrad", slice_gradient},
      {"GatherGrad", gather_gradient},
      {"GeluGrad", like_first},
      {"InPlaceAccumulator", like_first},
      {"InPlaceAccumulatorV2", accumulate},
      {"InvertibleLayerNormalizationGrad", normalization_gradient},
      {"LayerNormalizationGrad", normalization_gradient},
      {"LogSoftmaxGrad", like_first},
      {"LogSoftmaxGrad_13", like_first},
      {"QuickGeluGrad", like_first},
      {"ReduceSumTraining", reduce_sum},
      {"ReluGrad", like_first},
      {"SigmoidGrad", like_first},
      {"SimplifiedLayerNormalizationGrad", normalization_gradient},
      {"SliceGrad", slice_gradient},
      {"SoftmaxCrossEntropyLossGrad", like_second},
      {"SoftmaxCrossEntropyLossInternal", cross_entropy},
      {"SoftmaxCrossEntropyLossInternalGrad", like_second},
      {"SoftmaxGrad", like_first},
      {"SoftmaxGrad_13", like_first},
      {"TanhGrad", like_first},
      {"YieldOp", like_each},
  };
  const auto found = kRules.find(type);
  return found == kRules.end() ? nullptr : found->second;
}

}  // namespace berth::onnx_frontend
