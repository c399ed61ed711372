// The gradients and optimizers that ONNX Runtime's training adds.
#include <algorithm>

#include "ops/formulas.h"
#include "ops/onnx/rules.h"

namespace berth::ops::onnx {
namespace {

void convolution_gradient(OpContext& op) {
  op.set_like(0, 1);
  op.set_like(1, 2);
  const Dims* const weights = op.shape(2);
  if (weights != nullptr && !weights->empty()) op.set(2, op.type_of(0), {weights->front()});
}

void accumulate(OpContext& op) {
  op.set(0, kBool, {1});
  op.set_like(1, 0);
}

/// Flags, then the weights and both moments as they go on.
void optimizer(OpContext& op) {
  constexpr std::size_t kWeights = 2, kMoments = 4;
  op.set(0, kBool, {1});
  op.set_like(1, kWeights);
  op.set_like(2, kMoments);
  op.set_like(3, kMoments + 1);
}

/// A convolution for each of the gradients of the data and of the weights that are asked for, both taken as that of the
/// data; that of the bias is a sum.
Estimate convolution_gradient_work(const OpView& op, const WorkRule& rule) {
  const TensorView image = op.input(1), weights = op.input(2);
  const double taps = weights.elements(1, TensorView::kEnd);
  const double gradient = op.input(0).elements();
  const int products = (op.output(0).present() ? 1 : 0) + (op.output(1).present() ? 1 : 0);
  if (products == 0) return work::make_estimate(op, rule, gradient, work::all_bytes(op));
  const double groups = static_cast<double>(std::max<std::int64_t>(1, op.integer("group", 1)));
  const double channels = weights.dim(1);
  return work::with_convolution(
      work::make_estimate(op, rule, products * convolution_flops(gradient, taps, /*bias=*/false),
                          work::all_bytes(op)),
      {.window = weights.elements(2, TensorView::kEnd),
       .channels = channels,
       .groups = groups,
       .rows = image.elements() / (channels * groups),
       .columns = channels,
       .minimal = false});
}
constexpr WorkRule kConvolutionGradient{convolution_gradient_work, OpClass::convolution};
/// Each gradient is spread over the window that it is the mean of.
Estimate mean_gradient_work(const OpView& op, const WorkRule& rule) {
  double window = 1;
  for (const std::int64_t side : op.integers("kernel_shape")) {
    window *= std::max(1.0, static_cast<double>(side));
  }
  return work::make_estimate(op, rule, rule.flops * window * op.input(0).elements(),
                             work::all_bytes(op));
}
constexpr WorkRule kMeanGradient{mean_gradient_work, OpClass::pooling, 1};
// One element of each window has the gradient.
constexpr WorkRule kMaximumGradient{work::per_input, OpClass::pooling, 1};
/// The gradient is added to a buffer in its place; what is given besides is a flag, or the buffer.
Estimate accumulation_work(const OpView& op, const WorkRule& rule) {
  const double written = op.output(1).present() ? 0 : op.input(0).bytes();
  return work::make_estimate(op, rule, rule.flops * op.input(1).elements(),
                             work::all_bytes(op) + written);
}
constexpr WorkRule kAccumulation{accumulation_work, OpClass::elementwise, 1};
// Per weight: both moments, the correction, the root and the update.
constexpr WorkRule kOptimizer{work::per_input, OpClass::elementwise, 15};

constexpr Row kOps[] = {
    {"AveragePoolGrad", nullptr, kMeanGradient},
    {"MaxPoolGrad", nullptr, kMaximumGradient},
    {"ai.onnx.preview.Adagrad", nullptr, elementwise(15)},
    {"ai.onnx.preview.Adam", nullptr, elementwise(15)},
    {"ai.onnx.preview.Momentum", nullptr, elementwise(15)},
    {"ai.onnx.preview.training.Adagrad", nullptr, elementwise(15)},
    {"ai.onnx.preview.training.Adam", nullptr, elementwise(15)},
    {"ai.onnx.preview.training.Momentum", nullptr, elementwise(15)},
    {"ai.onnx.training.Adagrad", nullptr, elementwise(15)},
    {"ai.onnx.training.Adam", nullptr, elementwise(15)},
    {"ai.onnx.training.Momentum", nullptr, elementwise(15)},
    {"com.microsoft.AdamOptimizer", nullptr, kOptimizer},
    {"com.microsoft.AdamWOptimizer", optimizer, kOptimizer},
    {"com.microsoft.ConvGrad", convolution_gradient, kConvolutionGradient},
    {"com.microsoft.InPlaceAccumulator", rule::like_first, elementwise(2)},
    {"com.microsoft.InPlaceAccumulatorV2", accumulate, kAccumulation},
    {"com.microsoft.LambOptimizer", nullptr, kOptimizer},
    {"com.microsoft.SGDOptimizer", nullptr, kOptimizer},
    {"com.microsoft.SGDOptimizerV2", nullptr, kOptimizer},
    {"com.microsoft.ZeroGradient", nullptr, elementwise(2)},
};

}  // namespace

std::span<const Row> training_ops() {
  return kOps;
}

}  // namespace berth::ops::onnx
