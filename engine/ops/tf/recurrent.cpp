// Recurrent cells and layers, and their gradients.
#include "ops/formulas.h"
#include "ops/tf/rules.h"

namespace berth::ops::tf {
namespace {

/// x [batch, in], previous state [batch, size], ...: all outputs are of its shape.
void cell(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    op.set(i, {op.in(0).dim(0), op.in(1).dim(1)});
  }
}
/// ... the gradients of the state, of the four gates together, and of the peepholes.
void lstm_cell_gradient(OpContext& op) {
  const Number size = op.in(1).dim(1);
  op.set(0, {op.in(0).dim(0), size});
  op.set(1, {op.in(0).dim(0), multiply_dims(size, 4)});
  for (std::size_t i = 2; i < op.output_count(); ++i) op.set(i, {size});
}
/// steps, x [time, batch, in], previous cell state: seven outputs [time, batch, size].
void lstm_block(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    op.set(i, {op.in(1).dim(0), op.in(1).dim(1), op.in(2).dim(1)});
  }
}
/// The gradients of inputs 1 to 8.
void lstm_block_gradient(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.copy_shape(i, op.in(i + 1));
}
/// x, previous state, ...: the gradients of both, of the candidate, and of the two gates together.
void gru_cell_gradient(OpContext& op) {
  op.copy_shape(0, op.in(0));
  op.copy_shape(1, op.in(1));
  op.copy_shape(2, op.in(1));
  op.set(3, {op.in(1).dim(0), multiply_dims(op.in(1).dim(1), 2)});
}
/// input [time, batch, in], states [layers * directions, batch, size].
void cudnn_rnn(OpContext& op) {
  const Number directions = op.attributes.text("direction", {}) == "bidirectional" ? 2 : 1;
  op.set(0, {op.in(0).dim(0), op.in(0).dim(1), multiply_dims(op.in(1).dim(2), directions)});
  op.copy_shape(1, op.in(1));
  if (op.attributes.text("rnn_mode", "lstm") == "lstm") {
    op.copy_shape(2, op.in(1));
  } else {
    op.set(2, {0});
  }
}
/// The gradients of the four inputs.
void cudnn_rnn_gradient(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.copy_shape(i, op.in(i));
}

// --- Work: rule.flops = matrix products with the weights ----------------------------------------

/// Every row of a batch, at every step, passes through all weights; the activations are under 1 %.
Estimate through_weights(const OpView& op, const WorkRule& rule, double rows, double weights) {
  return work::make_estimate(op, rule, rule.flops * 2 * rows * weights, work::all_bytes(op));
}
/// x, ..., weights [in + size, gates] at input 3.
Estimate cell_work(const OpView& op, const WorkRule& rule) {
  return through_weights(op, rule, op.input(0).dim(0), op.input(3).elements());
}
/// x, h, weights of both parts at inputs 2 and 3.
Estimate gru_cell_work(const OpView& op, const WorkRule& rule) {
  return through_weights(op, rule, op.input(0).dim(0),
                         op.input(2).elements() + op.input(3).elements());
}
/// steps, x [time, batch, in], state [batch, size], ..., weights [in + size, gates] at input 4.
Estimate block_work(const OpView& op, const WorkRule& rule) {
  const TensorView x = op.input(1), weights = op.input(4);
  const double recurrent = op.input(2).dim(1) / weights.dim(0);
  return work::with_steps(through_weights(op, rule, x.dim(0) * x.dim(1), weights.elements()),
                          x.dim(0), /*layers=*/1, known_or(recurrent, 0) * weights.bytes());
}
/// x [time, batch, in], states [layers * directions, batch, size], all weights at input 3.
Estimate sequence_work(const OpView& op, const WorkRule& rule) {
  const TensorView x = op.input(0), state = op.input(1);
  const std::string_view mode = op.text("rnn_mode");
  const double gates = mode.starts_with("rnn") ? 1 : mode == "gru" ? 3 : 4;
  const double layers = state.dim(0);
  const double recurrent =
      layers * gates * state.dim(2) * state.dim(2) * work::element_bytes(op.input(3).dtype());
  return work::with_steps(through_weights(op, rule, x.dim(0) * x.dim(1), op.input(3).elements()),
                          x.dim(op.integer("time_major", 1) != 0 ? 0 : 1), layers,
                          known_or(recurrent, 0));
}
constexpr WorkRule layer(EstimateFunction* estimate, double products) {
  return {estimate, OpClass::recurrent, products};
}

/// It leaves both products to ops of their own.
constexpr WorkRule kCellGradient{work::per_input, OpClass::recurrent, 30};

constexpr Row kOps[] = {
    {"BlockLSTM", "i:T cs:T f:T o:T ci:T co:T h:T", lstm_block, layer(block_work, 1)},
    {"BlockLSTMGrad",
     "x_grad:T cs_prev_grad:T h_prev_grad:T w_grad:T wci_grad:T wcf_grad:T wco_grad:T b_grad:T",
     lstm_block_gradient, layer(block_work, 2)},
    {"BlockLSTMGradV2",
     "x_grad:T cs_prev_grad:T h_prev_grad:T w_grad:T wci_grad:T wcf_grad:T wco_grad:T b_grad:T",
     lstm_block_gradient, layer(block_work, 2)},
    {"BlockLSTMV2", "i:T cs:T f:T o:T ci:T co:T h:T", lstm_block, layer(block_work, 1)},
    {"CudnnRNN", "output:T output_h:T output_c:T reserve_space:T", cudnn_rnn,
     layer(sequence_work, 1)},
    {"CudnnRNNBackprop", "input_backprop:T input_h_backprop:T input_c_backprop:T params_backprop:T",
     cudnn_rnn_gradient, layer(sequence_work, 2)},
    {"CudnnRNNBackpropV2",
     "input_backprop:T input_h_backprop:T input_c_backprop:T params_backprop:T", cudnn_rnn_gradient,
     layer(sequence_work, 2)},
    {"CudnnRNNBackpropV3",
     "input_backprop:T input_h_backprop:T input_c_backprop:T params_backprop:T", cudnn_rnn_gradient,
     layer(sequence_work, 2)},
    {"CudnnRNNParamsSize", "params_size:S", nullptr, kShapes},
    {"CudnnRNNV2", "output:T output_h:T output_c:T reserve_space:T host_reserved:=int8", cudnn_rnn,
     layer(sequence_work, 1)},
    {"CudnnRNNV3", "output:T output_h:T output_c:T reserve_space:T host_reserved:=int8", cudnn_rnn,
     layer(sequence_work, 1)},
    {"GRUBlockCell", "r:T u:T c:T h:T", cell, layer(gru_cell_work, 1)},
    {"GRUBlockCellGrad", "d_x:T d_h_prev:T d_c_bar:T d_r_bar_u_bar:T", gru_cell_gradient,
     layer(gru_cell_work, 1)},
    {"LSTMBlockCell", "i:T cs:T f:T o:T ci:T co:T h:T", cell, layer(cell_work, 1)},
    {"LSTMBlockCellGrad", "cs_prev_grad:T dicfo:T wci_grad:T wcf_grad:T wco_grad:T",
     lstm_cell_gradient, kCellGradient},
};

}  // namespace

std::span<const Row> recurrent_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
