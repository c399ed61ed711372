// Gradients of elementwise functions: of what the function gave or took, and of what came back.
#include <ATen/Functions.h>

#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

// (output, gradient)
Tensor sigmoid_gradient(const Tensor& y, const Tensor& dy) {
  return at::sigmoid_backward(dy, y);
}
Tensor tanh_gradient(const Tensor& y, const Tensor& dy) {
  return at::tanh_backward(dy, y);
}
Tensor sqrt_gradient(const Tensor& y, const Tensor& dy) {
  return dy * 0.5 / y;
}
Tensor rsqrt_gradient(const Tensor& y, const Tensor& dy) {
  return dy * -0.5 * (y * y * y);
}
Tensor reciprocal_gradient(const Tensor& y, const Tensor& dy) {
  return -dy * (y * y);
}

// (gradient, input)
Tensor relu_gradient(const Tensor& dy, const Tensor& x) {
  return at::threshold_backward(dy, x, 0);
}
Tensor relu6_gradient(const Tensor& dy, const Tensor& x) {
  return at::hardtanh_backward(dy, x, 0, 6);
}
Tensor softplus_gradient(const Tensor& dy, const Tensor& x) {
  return dy * at::sigmoid(x);
}
Tensor softsign_gradient(const Tensor& dy, const Tensor& x) {
  return dy / (x.abs() + 1).square();
}

// (gradient, output)
Tensor elu_gradient(const Tensor& dy, const Tensor& y) {
  return at::elu_backward(dy, 1, 1, 1, true, y);
}
Tensor selu_gradient(const Tensor& dy, const Tensor& y) {
  // Klambauer et al., Self-Normalizing Neural Networks, 2017, section 3.
  constexpr double kScale = 1.0507009873554805, kAlpha = 1.6732632423543772;
  return at::where(y < 0, dy * (y + kScale * kAlpha), dy * kScale);
}

Kernel make_leaky_relu_gradient(const KernelRequest& request) {
  const double slope = float_attribute(request.instruction, "alpha", 0.2);
  return [slope](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = at::leaky_relu_backward(tensor_at(in, 0), tensor_at(in, 1), slope, false);
  };
}

constexpr KernelRow kRows[] = {
    {"EluGrad", make_binary<elu_gradient>},
    {"InvGrad", make_binary<reciprocal_gradient>},
    {"LeakyReluGrad", make_leaky_relu_gradient},
    {"ReciprocalGrad", make_binary<reciprocal_gradient>},
    {"Relu6Grad", make_binary<relu6_gradient>},
    {"ReluGrad", make_binary<relu_gradient>},
    {"RsqrtGrad", make_binary<rsqrt_gradient>},
    {"SeluGrad", make_binary<selu_gradient>},
    {"SigmoidGrad", make_binary<sigmoid_gradient>},
    {"SoftplusGrad", make_binary<softplus_gradient>},
    {"SoftsignGrad", make_binary<softsign_gradient>},
    {"SqrtGrad", make_binary<sqrt_gradient>},
    {"TanhGrad", make_binary<tanh_gradient>},
};

}  // namespace

std::span<const KernelRow> gradient_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
