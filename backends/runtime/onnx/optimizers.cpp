// One step of an optimizer (ai.onnx.preview.training), over any number of tensors.
#include <ATen/Functions.h>

#include <cmath>

#include "berth/error.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"

namespace berth::runtime::onnx {
namespace {

// Inputs: rate, how many updates there were, then groups of as many tensors as are optimized: the
// tensors, their gradients, and what the optimizer keeps.
struct Step {
  double rate = 0;
  double updates = 0;
  std::size_t count = 0;
  Inputs in;

  Step(Inputs given, std::size_t groups)
      : rate(tensor_at(given, 0).item().toDouble()),
        updates(tensor_at(given, 1).item().toDouble()),
        count((given.size() - 2) / groups),
        in(given) {
    if (count == 0 || count * groups + 2 != given.size()) {
      throw Error(ErrorCode::invalid_argument,
                  "its inputs do not come in " + std::to_string(groups) + " groups");
    }
  }
  [[nodiscard]] const Tensor& at(std::size_t group, std::size_t i) const {
    return tensor_at(in, 2 + group * count + i);
  }
  // With the gradient of a penalty on large elements.
  [[nodiscard]] Tensor gradient(std::size_t i, double penalty) const {
    return at::add(at(1, i), at(0, i), penalty);
  }
};

Kernel make_adagrad(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const double decay = float_attribute(op, "decay_factor", 0);
  const double epsilon = float_attribute(op, "epsilon", 1e-6);
  const double penalty = float_attribute(op, "norm_coefficient", 0);
  return [=](KernelContext&, Inputs in, Outputs out) {
    const Step step(in, 3);
    const double rate = step.rate / (1 + step.updates * decay);
    for (std::size_t i = 0; i < step.count; ++i) {
      const Tensor gradient = step.gradient(i, penalty);
      const Tensor squares = at::addcmul(step.at(2, i), gradient, gradient);
      out[i].tensor =
          at::addcdiv(step.at(0, i), gradient, at::add(at::sqrt(squares), epsilon), -rate);
      out[step.count + i].tensor = squares;
    }
  };
}

Kernel make_adam(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const double alpha = float_attribute(op, "alpha", 0.9);
  const double beta = float_attribute(op, "beta", 0.999);
  const double epsilon = float_attribute(op, "epsilon", 1e-6);
  const double penalty = float_attribute(op, "norm_coefficient", 0);
  const double shrink = float_attribute(op, "norm_coefficient_post", 0);
  return [=](KernelContext&, Inputs in, Outputs out) {
    const Step step(in, 4);
    const double rate = step.updates > 0 ? step.rate * std::sqrt(1 - std::pow(beta, step.updates)) /
                                               (1 - std::pow(alpha, step.updates))
                                         : step.rate;
    for (std::size_t i = 0; i < step.count; ++i) {
      const Tensor gradient = step.gradient(i, penalty);
      const Tensor mean = at::add(at::mul(step.at(2, i), alpha), gradient, 1 - alpha);
      const Tensor squares = at::add(at::mul(step.at(3, i), beta), at::square(gradient), 1 - beta);
      const Tensor moved =
          at::addcdiv(step.at(0, i), mean, at::add(at::sqrt(squares), epsilon), -rate);
      out[i].tensor = at::mul(moved, 1 - shrink);
      out[step.count + i].tensor = mean;
      out[2 * step.count + i].tensor = squares;
    }
  };
}

Kernel make_momentum(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const double alpha = float_attribute(op, "alpha", 0);
  const double beta = float_attribute(op, "beta", 0);
  const double penalty = float_attribute(op, "norm_coefficient", 0);
  const std::string mode = text_attribute(op, "mode", "standard");
  if (mode != "standard" && mode != "nesterov") refuse_attribute("mode", mode);
  return [=](KernelContext&, Inputs in, Outputs out) {
    const Step step(in, 3);
    for (std::size_t i = 0; i < step.count; ++i) {
      const Tensor gradient = step.gradient(i, penalty);
      const Tensor velocity =
          at::add(at::mul(step.at(2, i), alpha), gradient, step.updates > 0 ? beta : 1);
      const Tensor direction = mode == "standard" ? velocity : at::add(gradient, velocity, alpha);
      out[i].tensor = at::add(step.at(0, i), direction, -step.rate);
      out[step.count + i].tensor = velocity;
    }
  };
}

constexpr KernelRow kRows[] = {
    {"ai.onnx.preview.training.Adagrad", make_adagrad},
    {"ai.onnx.preview.training.Adam", make_adam},
    {"ai.onnx.preview.training.Momentum", make_momentum},
};

}  // namespace

std::span<const KernelRow> optimizer_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
