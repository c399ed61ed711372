// Batch normalization, softmax, and the losses that contain one.
#include <ATen/Functions.h>

#include <cmath>

#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

struct Normalization {
  explicit Normalization(const Instruction& op)
      : sliding(op),
        training(int_attribute(op, "is_training", 1) != 0),
        epsilon(float_attribute(op, "epsilon", 1e-4)),
        factor(float_attribute(op, "exponential_avg_factor", 1)) {}

  Sliding sliding;
  bool training;
  double epsilon;
  double factor;  ///< of the new statistics in the running ones
};

/// Running statistics for this step to change; what they were counts where the factor is not 1, and
/// otherwise is multiplied by 0, so that it must be finite.
Tensor running(const Tensor& before, const Tensor& scale, double factor) {
  return factor == 1 ? at::zeros_like(scale) : before.clone();
}

/// (images, scale, offset, mean, variance). Outputs: the images, mean and variance for the running
/// statistics (the variance with Bessel's correction), the mean and variance for the gradient.
Kernel make_batch_norm(const KernelRequest& request) {
  const Normalization norm(request.instruction);
  return [norm](KernelContext&, Inputs in, Outputs out) {
    const Tensor planes = norm.sliding.to_planes(tensor_at(in, 0));
    const Tensor& scale = tensor_at(in, 1);
    if (planes.numel() == 0) {  // ATen divides by their number
      out[0] = in[0];
      const double none[] = {std::nan(""), std::nan(""), 0, 0};
      for (std::size_t i = 1; i < out.size() && i < 5; ++i) {
        out[i].tensor = at::full_like(scale, none[i - 1]);
      }
    } else if (!norm.training) {
      const auto result = at::native_batch_norm(planes, scale, tensor_at(in, 2), tensor_at(in, 3),
                                                tensor_at(in, 4), false, 0, norm.epsilon);
      out[0].tensor = norm.sliding.from_planes(std::get<0>(result));
      for (std::size_t i = 1; i < out.size() && i < 5; ++i) out[i] = in[i % 2 == 1 ? 3 : 4];
    } else {
      const Tensor mean = running(in[3].tensor, scale, norm.factor);
      const Tensor variance = running(in[4].tensor, scale, norm.factor);
      const auto [y, batch_mean, inverse_deviation] = at::native_batch_norm(
          planes, scale, tensor_at(in, 2), mean, variance, true, norm.factor, norm.epsilon);
      out[0].tensor = norm.sliding.from_planes(y);
      const Tensor batch_variance = inverse_deviation.pow(-2).sub_(norm.epsilon);
      // One value has no variance, where Bessel's correction divides by 0.
      const bool one_value = planes.numel() == planes.size(1);
      const Tensor kept =
          one_value ? running(in[4].tensor, scale, norm.factor) * (1 - norm.factor) : variance;
      const Tensor results[] = {mean, kept, batch_mean, batch_variance};
      for (std::size_t i = 1; i < out.size() && i < 5; ++i) out[i].tensor = results[i - 1];
    }
    // The reserve is the kernel's own choice: nothing.
    if (out.size() > 5) out[5].tensor = at::empty({0}, scale.options());
  };
}

/// (gradient, images, scale, mean, variance). Outputs: the gradients of images, scale and offset,
/// and two that mean nothing.
Kernel make_batch_norm_gradient(const KernelRequest& request) {
  const Normalization norm(request.instruction);
  return [norm](KernelContext&, Inputs in, Outputs out) {
    const Tensor gradient = norm.sliding.to_planes(tensor_at(in, 0));
    const Tensor planes = norm.sliding.to_planes(tensor_at(in, 1));
    const Tensor &scale = tensor_at(in, 2), &mean = tensor_at(in, 3), &variance = tensor_at(in, 4);
    for (std::size_t i = 3; i < out.size(); ++i) out[i].tensor = at::zeros({}, scale.options());
    if (planes.numel() == 0) {
      out[0] = in[1];
      out[1].tensor = out[2].tensor = at::zeros_like(scale);
      return;
    }
    // In training the statistics are those of the batch, otherwise the running ones.
    const Tensor inverse_deviation = (variance + norm.epsilon).rsqrt_();
    const auto [images, of_scale, of_offset] = at::native_batch_norm_backward(
        gradient, planes, scale, mean, variance, mean, inverse_deviation, norm.training,
        norm.epsilon, {true, true, true});
    out[0].tensor = norm.sliding.from_planes(images);
    out[1].tensor = of_scale;
    out[2].tensor = of_offset;
  };
}

Tensor softmax(const Tensor& x) {
  return at::softmax(x, -1);
}
Tensor log_softmax(const Tensor& x) {
  return at::log_softmax(x, -1);
}

/// (logits, labels), both [batch, classes] or broadcast to that. Outputs: loss [batch], gradient.
Kernel make_cross_entropy(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    const auto both = at::broadcast_tensors({tensor_at(in, 0), tensor_at(in, 1)});
    const Tensor& labels = both[1];
    const Tensor logs = at::log_softmax(both[0], -1);
    out[0].tensor = (labels * logs).sum(-1).neg_();
    out[1].tensor = logs.exp() - labels;
  };
}

/// (logits [batch, classes], labels [batch]). Outputs: loss [batch], gradient.
Kernel make_sparse_cross_entropy(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    const Tensor logs = at::log_softmax(tensor_at(in, 0), -1);
    const Tensor labels = tensor_at(in, 1).to(logs.device(), at::kLong).unsqueeze(-1);
    out[0].tensor = logs.gather(-1, labels).squeeze(-1).neg_();
    const Tensor gradient = logs.exp();
    out[1].tensor =
        gradient.scatter_add_(-1, labels, at::ones_like(labels, gradient.options()).neg_());
  };
}

constexpr KernelRow kRows[] = {
    {"FusedBatchNorm", make_batch_norm},
    {"FusedBatchNormGrad", make_batch_norm_gradient},
    {"FusedBatchNormGradV2", make_batch_norm_gradient},
    {"FusedBatchNormGradV3", make_batch_norm_gradient},
    {"FusedBatchNormV2", make_batch_norm},
    {"FusedBatchNormV3", make_batch_norm},
    {"LogSoftmax", make_unary<log_softmax>},
    {"Softmax", make_unary<softmax>},
    {"SoftmaxCrossEntropyWithLogits", make_cross_entropy},
    {"SparseSoftmaxCrossEntropyWithLogits", make_sparse_cross_entropy},
};

}  // namespace

std::span<const KernelRow> normalization_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
