#include "runtime/onnx/activations.h"

#include <ATen/Functions.h>

#include <limits>

#include "runtime/pointwise.h"

namespace berth::runtime::onnx {
namespace {

struct DefaultParameters {
  const char* name;
  int parameters;
  double alpha;
  double beta;
};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr DefaultParameters kActivations[] = {
    {"Affine", 2, 1, 0},       {"Clip", 2, -kInfinity, kInfinity},
    {"Elu", 1, 1, 0},          {"HardSigmoid", 2, 0.2, 0.5},
    {"LeakyRelu", 1, 0.01, 0}, {"Relu", 0, 0, 0},
    {"ScaledTanh", 2, 1, 1},   {"Sigmoid", 0, 0, 0},
    {"Softplus", 0, 0, 0},     {"Softsign", 0, 0, 0},
    {"Tanh", 0, 0, 0},         {"ThresholdedRelu", 1, 1, 0}};

}  // namespace

Activation activation_named(const std::string& name) {
  for (const DefaultParameters& known : kActivations) {
    if (name == known.name) return {name, known.parameters, known.alpha, known.beta};
  }
  refuse_attribute("activation", name);
}

Tensor Activation::operator()(const Tensor& x) const {
  if (name == "Tanh") return at::tanh(x);
  if (name == "Sigmoid") return pointwise<Pointwise::Kind::sigmoid>(x);
  if (name == "Relu") return at::relu(x);
  if (name == "LeakyRelu") return at::leaky_relu(x, alpha);
  if (name == "ThresholdedRelu") return at::threshold(x, alpha, 0);
  if (name == "Elu") return at::elu(x, alpha);
  if (name == "HardSigmoid") return at::clamp(at::add(at::mul(x, alpha), beta), 0, 1);
  if (name == "ScaledTanh") return at::mul(at::tanh(at::mul(x, beta)), alpha);
  if (name == "Affine") return at::add(at::mul(x, alpha), beta);
  if (name == "Softsign") return at::div(x, at::add(at::abs(x), 1));
  if (name == "Clip") return at::clamp(x, alpha, beta);
  return at::softplus(x);
}

}  // namespace berth::runtime::onnx
