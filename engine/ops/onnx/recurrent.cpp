// Recurrent layers, and convolutions that keep a state.
#include <algorithm>
#include <cmath>

#include "ops/formulas.h"
#include "ops/onnx/rules.h"

namespace berth::ops::onnx {
namespace {

// LSTM, GRU, RNN: (length, batch, input), or (batch, length, input) where layout is 1.
void recurrent(OpContext& op) {
  for (std::size_t i = 0; i < op.output_count(); ++i) op.give(i, tensor_type(op.type_of(0)));
  const Dims* const x = op.shape(0);
  if (x == nullptr || x->size() != 3) return;
  const bool batch_first = op.attributes.integer("layout", 0) != 0;
  const std::int64_t batch = (*x)[batch_first ? 0 : 1];
  const std::int64_t length = (*x)[batch_first ? 1 : 0];
  const std::int64_t directions = op.attributes.text("direction", {}) == "bidirectional" ? 2 : 1;
  std::int64_t hidden = valid_dim(op.attributes.integer("hidden_size", kUnknownDim));
  const Dims* const recurrence = op.shape(2);
  if (hidden == kUnknownDim && recurrence != nullptr && recurrence->size() == 3) {
    hidden = recurrence->back();
  }
  const Dims state =
      batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  op.set(0, op.type_of(0),
         batch_first ? Dims{batch, length, directions, hidden}
                     : Dims{length, directions, batch, hidden});
  op.set(1, op.type_of(0), state);
  op.set(2, op.type_of(0), state);
}

void dynamic_quantize_lstm(OpContext& op) {
  const std::int64_t length = dim_of(op.shape(0), 0, 3);
  const std::int64_t batch = dim_of(op.shape(0), 1, 3);
  const std::int64_t hidden = valid_dim(op.attributes.integer("hidden_size", -1));
  const std::int64_t directions = op.attributes.text("direction", {}) == "bidirectional" ? 2 : 1;
  op.set(0, op.type_of(0), {length, directions, batch, hidden});
  for (const std::size_t i : {1U, 2U}) op.set(i, op.type_of(0), {directions, batch, hidden});
}

/// input [batch, channels, length], filter [channels, 1, k], bias, state: what the next step needs of
/// the past, k - 1 points.
void causal_convolution(OpContext& op) {
  op.set_like(0, 0);
  const Dims* const x = op.shape(0);
  if (op.has(3)) return op.set_like(1, 3);
  if (x == nullptr || x->size() != 3) return;
  op.set(1, op.type_of(0), {(*x)[0], (*x)[1], padded(dim_of(op.shape(1), 2, 3), -1, 0)});
}

Estimate recurrent_work(const OpView& op, const WorkRule& rule) {
  // X [steps, batch, in] or, with layout 1, [batch, steps, in]; W at 1; R [directions, .., hidden].
  const TensorView x = op.input(0), r = op.input(2);
  const bool batch_first = op.integer("layout", 0) == 1;
  const std::int64_t hidden = op.integer("hidden_size", 0);
  RecurrentShape shape{};
  shape.steps = x.dim(batch_first ? 1 : 0);
  shape.batch = x.dim(batch_first ? 0 : 1);
  shape.input = x.dim(2);
  shape.hidden = hidden > 0 ? static_cast<double>(hidden) : r.dim(2);
  shape.directions = op.text("direction") == "bidirectional" ? 2 : 1;
  shape.gates = rule.flops;
  // Workspace: the input's products with W for all steps, made at once.
  const double gates = shape.steps * shape.directions * shape.batch * shape.gates * shape.hidden;
  return work::with_steps(work::make_estimate(op, rule, recurrent_flops(shape), work::all_bytes(op),
                                              gates * work::element_bytes(op.output(0).dtype())),
                          shape.steps, shape.directions, r.bytes());
}

Estimate causal_convolution_work(const OpView& op, const WorkRule& rule) {
  const double taps = op.input(1).elements(2, TensorView::kEnd);
  return work::make_estimate(
      op, rule, convolution_flops(op.output(0).elements(), taps, op.input(2).present()),
      work::all_bytes(op));
}

/// So many matrix products with input and state.
constexpr WorkRule layer(double gates) {
  return {recurrent_work, OpClass::recurrent, gates};
}

constexpr WorkRule kCausalConvolution{causal_convolution_work, OpClass::depthwise_convolution};

constexpr Row kOps[] = {
    {"CausalConvWithState", causal_convolution, kCausalConvolution},
    {"GRU", recurrent, layer(3)},
    {"LSTM", recurrent, layer(4)},
    {"RNN", recurrent, layer(1)},
    {"com.microsoft.CausalConvWithState", causal_convolution, kCausalConvolution},
    {"com.microsoft.DynamicQuantizeLSTM", dynamic_quantize_lstm, layer(4)},
};

}  // namespace

std::span<const Row> recurrent_ops() {
  return kOps;
}

}  // namespace berth::ops::onnx
