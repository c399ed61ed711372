#include <torch/csrc/autograd/custom_function.h>

#include <cstddef>

#include "sequence_layers.h"

namespace berth::learning {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The gradient of one step: d_hidden and d_cell of its results become d_cell of the cell before;
/// `gates` (values) become gradients of what entered the gates.
void step_back(const float* d_hidden, float* d_cell, float* gates, const float* cell_before,
               const float* cell_tanh, std::size_t batch, std::size_t hidden) {
  for (std::size_t b = 0; b < batch; ++b) {
    float* const row = gates + b * 4 * hidden;
    for (std::size_t i = 0; i < hidden; ++i) {
      const std::size_t at = b * hidden + i;
      const float input = row[i], forget = row[hidden + i];
      const float output = row[2 * hidden + i], candidate = row[3 * hidden + i];
      const float t = cell_tanh[at];
      const float dc = d_cell[at] + d_hidden[at] * output * (1 - t * t);
      row[i] = dc * candidate * input * (1 - input);
      row[hidden + i] = dc * cell_before[at] * forget * (1 - forget);
      row[2 * hidden + i] = d_hidden[at] * t * output * (1 - output);
      row[3 * hidden + i] = dc * input * (1 - candidate * candidate);
      d_cell[at] = dc * forget;
    }
  }
}

/// gates -> gates' values; cell -> the next one; returns its tanh.
torch::Tensor activate(torch::Tensor& gates, torch::Tensor& cell) {
  const std::int64_t hidden = gates.size(1) / 4;
  gates.narrow(1, 0, 3 * hidden).sigmoid_();
  const torch::Tensor candidate = gates.narrow(1, 3 * hidden, hidden).tanh_();
  cell = cell * gates.narrow(1, hidden, hidden);
  cell.addcmul_(gates.narrow(1, 0, hidden), candidate);
  return cell.tanh();
}

class Lstm : public torch::autograd::Function<Lstm> {
 public:
  static variable_list forward(AutogradContext* context, const torch::Tensor& gates,
                               const torch::Tensor& recurrent, const torch::Tensor& hidden,
                               const torch::Tensor& cell) {
    const std::int64_t steps = gates.size(0);
    torch::Tensor values = gates.contiguous().clone();
    torch::Tensor hiddens = torch::empty({steps + 1, hidden.size(0), hidden.size(1)});
    torch::Tensor cells = torch::empty_like(hiddens);
    torch::Tensor tanhs = torch::empty({steps, hidden.size(0), hidden.size(1)});
    hiddens[0].copy_(hidden);
    cells[0].copy_(cell);
    torch::Tensor now = cell;
    for (std::int64_t t = 0; t < steps; ++t) {
      torch::Tensor step = values[t];
      step.addmm_(hiddens[t], recurrent);
      const torch::Tensor tanh = activate(step, now);
      cells[t + 1].copy_(now);
      tanhs[t].copy_(tanh);
      torch::Tensor out = hiddens[t + 1];
      torch::mul_out(out, step.narrow(1, 2 * hidden.size(1), hidden.size(1)), tanh);
    }
    context->save_for_backward({values, recurrent, hiddens, cells, tanhs});
    return {hiddens.narrow(0, 1, steps).clone(), now.clone()};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor& recurrent = saved[1];
    const torch::Tensor &hiddens = saved[2], &cells = saved[3], &tanhs = saved[4];
    const std::int64_t steps = tanhs.size(0), batch = tanhs.size(1), hidden = tanhs.size(2);
    torch::Tensor d_gates = saved[0].clone();
    const auto or_zero = [&](const torch::Tensor& gradient, at::IntArrayRef shape) {
      return gradient.defined() ? gradient.contiguous() : torch::zeros(shape);
    };
    const torch::Tensor d_hiddens = or_zero(gradients[0], {steps, batch, hidden});
    torch::Tensor d_cell = or_zero(gradients[1], {batch, hidden}).clone();
    torch::Tensor d_hidden = torch::zeros({batch, hidden});
    const torch::Tensor transposed = recurrent.t().contiguous();
    for (std::int64_t t = steps - 1; t >= 0; --t) {
      d_hidden.add_(d_hiddens[t]);
      torch::Tensor step = d_gates[t];
      step_back(d_hidden.data_ptr<float>(), d_cell.data_ptr<float>(), step.data_ptr<float>(),
                cells[t].data_ptr<float>(), tanhs[t].data_ptr<float>(),
                static_cast<std::size_t>(batch), static_cast<std::size_t>(hidden));
      torch::mm_out(d_hidden, step, transposed);
    }
    const torch::Tensor before = hiddens.narrow(0, 0, steps).reshape({steps * batch, hidden});
    const torch::Tensor d_recurrent =
        torch::mm(before.t(), d_gates.reshape({steps * batch, 4 * hidden}));
    return {d_gates, d_recurrent, d_hidden, d_cell};
  }
};

}  // namespace

void lstm_step(torch::Tensor& gates, const torch::Tensor& recurrent, LstmState& state) {
  gates.addmm_(state.hidden, recurrent);
  const std::int64_t hidden = recurrent.size(0);
  const torch::Tensor tanh = activate(gates, state.cell);
  state.hidden = gates.narrow(1, 2 * hidden, hidden) * tanh;
}

LstmSequence lstm(const torch::Tensor& gates, const torch::Tensor& recurrent,
                  const LstmState& initial) {
  const variable_list out = Lstm::apply(gates, recurrent, initial.hidden, initial.cell);
  return {out[0], out[1]};
}

}  // namespace berth::learning
