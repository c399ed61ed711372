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

/// Twice a convolution: the gradients of the data and of the weights, both taken as that of the
/// data.
Estimate convolution_gradient_work(const OpView& op, const WorkRule& rule) {
  const TensorView image = op.input(1), weights = op.input(2);
  const double taps = weights.elements(1, TensorView::kEnd);
  const double groups = static_cast<double>(std::max<std::int64_t>(1, op.integer("group", 1)));
  const double channels = weights.dim(1);
  return work::with_convolution(
      work::make_estimate(op, rule,
                          2 * convolution_flops(op.input(0).elements(), taps, /*bias=*/false),
                          work::all_bytes(op)),
      {.window = weights.elements(2, TensorView::kEnd),
       .channels = channels,
       .groups = groups,
       .rows = image.elements() / (channels * groups),
       .columns = channels,
       .minimal = false});
}
constexpr WorkRule kConvolutionGradient{convolution_gradient_work, OpClass::convolution};
// Per weight: both moments, the correction, the root and the update.
constexpr WorkRule kOptimizer{work::per_input, OpClass::elementwise, 15};

constexpr Row kOps[] = {
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
    {"com.microsoft.AdamWOptimizer", nullptr, kOptimizer},
    {"com.microsoft.ConvGrad", convolution_gradient, kConvolutionGradient},
    {"com.microsoft.InPlaceAccumulator", rule::like_first, elementwise(2)},
    {"com.microsoft.InPlaceAccumulatorV2", accumulate, elementwise(2)},
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
