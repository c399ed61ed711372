// A variable and its slots changed in place by a gradient, as the optimizers define it. Rates and
// the like are tensors of one element, and need not be read on the host. The sparse ones change the rows that indices
// name.
#include <ATen/Functions.h>

#include <unordered_map>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/tf/variables.h"

namespace berth::runtime::tf {
namespace {

struct Choices {
  explicit Choices(const Instruction& op)
      : nesterov(int_attribute(op, "use_nesterov", 0) != 0),
        update_slots(int_attribute(op, "update_slots", 1) != 0),
        multiplies_linear(int_attribute(op, "multiply_linear_by_lr", 0) != 0) {}
  bool nesterov;
  bool update_slots;
  bool multiplies_linear;  ///< of FTRL: its linear slot has the rate in it
};

using Update = void (*)(const Choices& choices, Inputs in);

/// A kernel whose first `changed` inputs are variables. References go out where the type has an
/// output.
template <int changed, Update update>
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

/// Positions of the first of equal indices, then of the second, and so on: within each list no index repeats.
std::vector<Ints> rounds(const Ints& indices) {
  std::unordered_map<std::int64_t, std::size_t> seen;
  std::vector<Ints> made;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::size_t round = seen[indices[i]]++;
    if (round == made.size()) made.emplace_back();
    made[round].push_back(static_cast<std::int64_t>(i));
  }
  return made;
}

void check_rows(const Tensor& variable, const Tensor& gradient, const Tensor& indices) {
  if (variable.dim() > 0 && indices.dim() == 1 && gradient.dim() == variable.dim() &&
      gradient.size(0) == indices.size(0)) {
    return;
  }
  throw Error(ErrorCode::invalid_argument,
              cat("its gradient has ", gradient.dim() == 0 ? 1 : gradient.size(0), " rows for ",
                  indices.numel(), " indices"));
}

/// The same for rows of the variables: the gradient is input `gradient`, and the indices of its rows come next. Where an
/// index repeats, one row comes after the other.
template <int changed, int gradient, Update update>
Kernel make_sparse_update(const KernelRequest& request) {
  return [choices = Choices(request.instruction)](KernelContext& context, Inputs in, Outputs out) {
    const Tensor given = on_device(context, tensor_at(in, gradient));
    const Tensor& indices = tensor_at(in, gradient + 1);
    std::vector<Value> here;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (i == gradient + 1) continue;
      here.push_back(
          {i < changed ? writable(in, i) : on_device(context, tensor_at(in, i)), nullptr});
    }
    check_rows(here[0].tensor, given, indices);
    for (const Ints& positions : rounds(ints_of(indices))) {
      const Tensor picked = at::tensor(positions, at::kLong);
      const Tensor rows =
          on_device(context, at::index_select(indices.cpu(), 0, picked).to(at::kLong));
      std::vector<Value> part = here;
      for (std::size_t i = 0; i < changed; ++i) {
        part[i].tensor = at::index_select(here[i].tensor, 0, rows);
      }
      part[gradient].tensor = at::index_select(given, 0, on_device(context, picked));
      update(choices, part);
      for (std::size_t i = 0; i < changed; ++i) {
        here[i].tensor.index_copy_(0, rows, part[i].tensor);
      }
    }
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

/// (variable, velocity, rate, gradient, momentum): the velocity has the rate in it.
void keras_momentum(const Choices& choices, Inputs in) {
  const Tensor &variable = in[0].tensor, &velocity = in[1].tensor, &factor = in[4].tensor;
  const Tensor step = in[3].tensor * in[2].tensor;
  velocity.mul_(factor).sub_(step);
  if (choices.nesterov) {
    variable.add_(velocity * factor).sub_(step);
  } else {
    variable.add_(velocity);
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

/// (variable, m, v, largest v, then as above). Reddi et al., On the convergence of Adam, 2018, algorithm 2.
void amsgrad(const Choices& /*choices*/, Inputs in) {
  const Tensor &m = in[1].tensor, &v = in[2].tensor, &most = in[3].tensor,
               &gradient = in[10].tensor;
  const Tensor rate = in[6].tensor * at::sqrt(1 - in[5].tensor) / (1 - in[4].tensor);
  m.add_((gradient - m).mul_(1 - in[7].tensor));
  v.add_((gradient * gradient).sub_(v).mul_(1 - in[8].tensor));
  most.copy_(at::maximum(most, v));
  in[0].tensor.sub_((m * rate).div_(most.sqrt().add_(in[9].tensor)));
}

/// (variable, m, largest gradient, power of beta1, rate, beta1, beta2, epsilon, gradient). Kingma and Ba, algorithm 2.
void ada_max(const Choices& /*choices*/, Inputs in) {
  const Tensor &m = in[1].tensor, &most = in[2].tensor, &gradient = in[8].tensor;
  m.add_((gradient - m).mul_(1 - in[5].tensor));
  most.copy_(at::maximum(most * in[6].tensor, gradient.abs()));
  const Tensor rate = in[4].tensor / (1 - in[3].tensor);
  in[0].tensor.sub_((m * rate).div_(most + in[7].tensor));
}

/// (variable, m, rate, factor, decay of the sign, beta, gradient). Bello et al., Neural optimizer search, ICML 2017.
template <bool is_power>
void by_sign(const Choices& /*choices*/, Inputs in) {
  const Tensor &m = in[1].tensor, &factor = in[3].tensor, &beta = in[5].tensor,
               &gradient = in[6].tensor;
  m.mul_(beta).add_(gradient * (1 - beta));
  const Tensor agreement = at::sign(gradient) * at::sign(m) * in[4].tensor;
  const Tensor scale = is_power ? at::exp(agreement * factor) : agreement + factor;
  in[0].tensor.sub_(scale * gradient * in[2].tensor);
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

/// The nearest to `x` under penalties l1 and l2 times `rate`.
Tensor proximal(const Tensor& x, const Tensor& rate, const Tensor& l1, const Tensor& l2) {
  const Tensor shrunk = at::sign(x) * at::clamp_min(x.abs() - rate * l1, 0);
  return shrunk / (rate * l2 + 1);
}
/// (variable, rate, l1, l2, gradient)
void proximal_descent(const Choices& /*choices*/, Inputs in) {
  const Tensor &variable = in[0].tensor, &rate = in[1].tensor;
  variable.copy_(proximal(variable - in[4].tensor * rate, rate, in[2].tensor, in[3].tensor));
}
/// (variable, sum of squares, rate, l1, l2, gradient)
void proximal_adagrad(const Choices& /*choices*/, Inputs in) {
  const Tensor &variable = in[0].tensor, &sum = in[1].tensor, &gradient = in[5].tensor;
  sum.addcmul_(gradient, gradient);
  const Tensor rate = in[2].tensor * sum.rsqrt();
  variable.copy_(proximal(variable - gradient * rate, rate, in[3].tensor, in[4].tensor));
}

/// (variable, sum of squares, linear, gradient, rate, l1, l2, power of the rate), the V2 with a shrinkage before the power.
/// McMahan et al., Ad click prediction, KDD 2013, algorithm 1.
template <bool with_shrinkage>
void ftrl(const Choices& choices, Inputs in) {
  const Tensor &variable = in[0].tensor, &sum = in[1].tensor, &linear = in[2].tensor,
               &gradient = in[3].tensor, &rate = in[4].tensor, &l2 = in[6].tensor;
  const Tensor power = -in[with_shrinkage ? 8 : 7].tensor;
  const Tensor grown = sum + gradient * gradient;
  Tensor slope = gradient;
  if constexpr (with_shrinkage) slope = gradient + variable * in[7].tensor * 2;
  const Tensor root = at::pow(grown, power);
  const Tensor moved = (root - at::pow(sum, power)) * variable;
  Tensor l1 = in[5].tensor, divisor = root / rate + l2 * 2;
  if (choices.multiplies_linear) {
    linear.add_(slope * rate - moved);
    l1 = l1 * rate;
    divisor = root + l2 * rate * 2;
  } else {
    linear.add_(slope - moved / rate);
  }
  variable.copy_((at::minimum(at::maximum(linear, -l1), l1) - linear) / divisor);
  sum.copy_(grown);
}

constexpr KernelRow kRows[] = {
    {"ApplyAdaMax", make_update<3, ada_max>},
    {"ApplyAdadelta", make_update<3, adadelta>},
    {"ApplyAdagrad", make_update<2, adagrad<false>>},
    {"ApplyAdagradV2", make_update<2, adagrad<true>>},
    {"ApplyAdam", make_update<3, adam>},
    {"ApplyAddSign", make_update<2, by_sign<false>>},
    {"ApplyCenteredRMSProp", make_update<4, centered_rms_prop>},
    {"ApplyFtrl", make_update<3, ftrl<false>>},
    {"ApplyFtrlV2", make_update<3, ftrl<true>>},
    {"ApplyGradientDescent", make_update<1, gradient_descent>},
    {"ApplyMomentum", make_update<2, momentum>},
    {"ApplyPowerSign", make_update<2, by_sign<true>>},
    {"ApplyProximalAdagrad", make_update<2, proximal_adagrad>},
    {"ApplyProximalGradientDescent", make_update<1, proximal_descent>},
    {"ApplyRMSProp", make_update<3, rms_prop>},
    {"ResourceApplyAdaMax", make_update<3, ada_max>},
    {"ResourceApplyAdadelta", make_update<3, adadelta>},
    {"ResourceApplyAdagrad", make_update<2, adagrad<false>>},
    {"ResourceApplyAdagradV2", make_update<2, adagrad<true>>},
    {"ResourceApplyAdam", make_update<3, adam>},
    {"ResourceApplyAdamWithAmsgrad", make_update<4, amsgrad>},
    {"ResourceApplyAddSign", make_update<2, by_sign<false>>},
    {"ResourceApplyCenteredRMSProp", make_update<4, centered_rms_prop>},
    {"ResourceApplyFtrl", make_update<3, ftrl<false>>},
    {"ResourceApplyFtrlV2", make_update<3, ftrl<true>>},
    {"ResourceApplyGradientDescent", make_update<1, gradient_descent>},
    {"ResourceApplyKerasMomentum", make_update<2, keras_momentum>},
    {"ResourceApplyMomentum", make_update<2, momentum>},
    {"ResourceApplyPowerSign", make_update<2, by_sign<true>>},
    {"ResourceApplyProximalAdagrad", make_update<2, proximal_adagrad>},
    {"ResourceApplyProximalGradientDescent", make_update<1, proximal_descent>},
    {"ResourceApplyRMSProp", make_update<3, rms_prop>},
    {"ResourceSparseApplyAdadelta", make_sparse_update<3, 6, adadelta>},
    {"ResourceSparseApplyAdagrad", make_sparse_update<2, 3, adagrad<false>>},
    {"ResourceSparseApplyAdagradV2", make_sparse_update<2, 4, adagrad<true>>},
    {"ResourceSparseApplyCenteredRMSProp", make_sparse_update<4, 8, centered_rms_prop>},
    {"ResourceSparseApplyFtrl", make_sparse_update<3, 3, ftrl<false>>},
    {"ResourceSparseApplyFtrlV2", make_sparse_update<3, 3, ftrl<true>>},
    {"ResourceSparseApplyKerasMomentum", make_sparse_update<2, 3, keras_momentum>},
    {"ResourceSparseApplyMomentum", make_sparse_update<2, 3, momentum>},
    {"ResourceSparseApplyProximalAdagrad", make_sparse_update<2, 5, proximal_adagrad>},
    {"ResourceSparseApplyProximalGradientDescent", make_sparse_update<1, 4, proximal_descent>},
    {"ResourceSparseApplyRMSProp", make_sparse_update<3, 7, rms_prop>},
    {"SparseApplyAdadelta", make_sparse_update<3, 6, adadelta>},
    {"SparseApplyAdagrad", make_sparse_update<2, 3, adagrad<false>>},
    {"SparseApplyAdagradV2", make_sparse_update<2, 4, adagrad<true>>},
    {"SparseApplyCenteredRMSProp", make_sparse_update<4, 8, centered_rms_prop>},
    {"SparseApplyFtrl", make_sparse_update<3, 3, ftrl<false>>},
    {"SparseApplyFtrlV2", make_sparse_update<3, 3, ftrl<true>>},
    {"SparseApplyMomentum", make_sparse_update<2, 3, momentum>},
    {"SparseApplyProximalAdagrad", make_sparse_update<2, 5, proximal_adagrad>},
    {"SparseApplyProximalGradientDescent", make_sparse_update<1, 4, proximal_descent>},
    {"SparseApplyRMSProp", make_sparse_update<3, 7, rms_prop>},
};

}  // namespace

std::span<const KernelRow> optimizer_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
