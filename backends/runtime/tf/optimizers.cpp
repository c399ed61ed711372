// A variable and its slots changed in place by a gradient, as the optimizers define it. Rates and
// the like are tensors of one element, and need not be read on the host.
#include <ATen/Functions.h>

#include "runtime/tf/variables.h"

namespace berth::runtime::tf {
namespace {

struct Choices {
  explicit Choices(const Instruction& op)
      : nesterov(int_attribute(op, "use_nesterov", 0) != 0),
        update_slots(int_attribute(op, "update_slots", 1) != 0) {}
  bool nesterov;
  bool update_slots;
};

/// A kernel whose first `changed` inputs are variables. References go out where the type has an
/// output.
template <int changed, void (*update)(const Choices&, Inputs)>
Kernel make_update(const KernelRequest& request) {
  return [choices = Choices(request.instruction)](KernelContext& context, Inputs in, Outputs out) {
    std::vector<Value> here(in.begin(), in.end());
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (i < changed) {
        here[i].tensor = writable(in, i);
      } else {
        here[i].tensor = on_device(context, tensor_at(in, i));
      }
    }
    update(choices, here);
    if (!out.empty()) out[0] = in[0];
  };
}

/// (variable, rate, gradient)
void gradient_descent(const Choices& /*choices*/, Inputs in) {
  in[0].tensor.addcmul_(in[2].tensor, in[1].tensor, -1);
}

/// (variable, velocity, rate, gradient, momentum)
void momentum(const Choices& choices, Inputs in) {
  const Tensor &variable = in[0].tensor, &velocity = in[1].tensor, &rate = in[2].tensor,
               &gradient = in[3].tensor, &factor = in[4].tensor;
  velocity.mul_(factor).add_(gradient);
  if (choices.nesterov) {
    variable.sub_((gradient + velocity * factor).mul_(rate));
  } else {
    variable.addcmul_(velocity, rate, -1);
  }
}

/// (variable, m, v, power of beta1, power of beta2, rate, beta1, beta2, epsilon, gradient).
/// Kingma and Ba, Adam, 2015, section 2, the efficient form.
void adam(const Choices& choices, Inputs in) {
  const Tensor &m = in[1].tensor, &v = in[2].tensor, &beta1 = in[6].tensor, &beta2 = in[7].tensor,
               &gradient = in[9].tensor;
  const Tensor rate = in[5].tensor * at::sqrt(1 - in[4].tensor) / (1 - in[3].tensor);
  const Tensor rest = 1 - beta1;
  m.add_((gradient - m).mul_(rest));
  v.add_((gradient * gradient).sub_(v).mul_(1 - beta2));
  const Tensor deviation = v.sqrt().add_(in[8].tensor);
  if (choices.nesterov) {
    in[0].tensor.sub_((m * beta1).add_(gradient * rest).mul_(rate).div_(deviation));
  } else {
    in[0].tensor.sub_((m * rate).div_(deviation));
  }
}

/// (variable, mean square, momentum, rate, decay, momentum's factor, epsilon, gradient)
void rms_prop(const Choices& /*choices*/, Inputs in) {
  const Tensor &square = in[1].tensor, &velocity = in[2].tensor, &gradient = in[7].tensor;
  square.add_((gradient * gradient).sub_(square).mul_(1 - in[4].tensor));
  velocity.mul_(in[5].tensor).add_((gradient * in[3].tensor).div_((square + in[6].tensor).sqrt_()));
  in[0].tensor.sub_(velocity);
}

/// (variable, mean, mean square, momentum, rate, decay, momentum's factor, epsilon, gradient)
void centered_rms_prop(const Choices& /*choices*/, Inputs in) {
  const Tensor &mean = in[1].tensor, &square = in[2].tensor, &velocity = in[3].tensor,
               &gradient = in[8].tensor;
  const Tensor rest = 1 - in[5].tensor;
  square.add_((gradient * gradient).sub_(square).mul_(rest));
  mean.add_((gradient - mean).mul_(rest));
  const Tensor variance = (square - mean * mean).add_(in[7].tensor);
  velocity.mul_(in[6].tensor).add_((gradient * in[4].tensor).div_(variance.sqrt()));
  in[0].tensor.sub_(velocity);
}

/// (variable, sum of squares, rate, gradient), the V2 with epsilon before the gradient
template <bool with_epsilon>
void adagrad(const Choices& choices, Inputs in) {
  const Tensor &sum = in[1].tensor, &gradient = in[with_epsilon ? 4 : 3].tensor;
  if (choices.update_slots) sum.addcmul_(gradient, gradient);
  Tensor deviation = sum.sqrt();
  if constexpr (with_epsilon) deviation.add_(in[3].tensor);
  in[0].tensor.sub_((gradient * in[2].tensor).div_(deviation));
}

/// (variable, squares, squares of updates, rate, decay, epsilon, gradient).
/// Zeiler, ADADELTA, 2012, algorithm 1.
void adadelta(const Choices& /*choices*/, Inputs in) {
  const Tensor &squares = in[1].tensor, &updates = in[2].tensor, &decay = in[4].tensor,
               &epsilon = in[5].tensor, &gradient = in[6].tensor;
  const Tensor rest = 1 - decay;
  squares.mul_(decay).add_((gradient * gradient).mul_(rest));
  const Tensor update =
      (updates + epsilon).sqrt_().div_((squares + epsilon).sqrt_()).mul_(gradient);
  in[0].tensor.addcmul_(update, in[3].tensor, -1);
  updates.mul_(decay).add_((update * update).mul_(rest));
}

constexpr KernelRow kRows[] = {
    {"ApplyAdadelta", make_update<3, adadelta>},
    {"ApplyAdagrad", make_update<2, adagrad<false>>},
    {"ApplyAdagradV2", make_update<2, adagrad<true>>},
    {"ApplyAdam", make_update<3, adam>},
    {"ApplyCenteredRMSProp", make_update<4, centered_rms_prop>},
    {"ApplyGradientDescent", make_update<1, gradient_descent>},
    {"ApplyMomentum", make_update<2, momentum>},
    {"ApplyRMSProp", make_update<3, rms_prop>},
    {"ResourceApplyAdadelta", make_update<3, adadelta>},
    {"ResourceApplyAdagrad", make_update<2, adagrad<false>>},
    {"ResourceApplyAdagradV2", make_update<2, adagrad<true>>},
    {"ResourceApplyAdam", make_update<3, adam>},
    {"ResourceApplyCenteredRMSProp", make_update<4, centered_rms_prop>},
    {"ResourceApplyGradientDescent", make_update<1, gradient_descent>},
    {"ResourceApplyMomentum", make_update<2, momentum>},
    {"ResourceApplyRMSProp", make_update<3, rms_prop>},
};

}  // namespace

std::span<const KernelRow> optimizer_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
