// LSTM and GRU on a processor without a new tensor for each step: one product for the inputs of all steps, and in each
// step one with the state, and one pass over the gates.
#pragma once

#include "runtime/onnx/support.h"

namespace berth::runtime::onnx {

/// One direction's weights, and its state before and after.
struct GatedLayer {
  bool is_lstm = true;  ///< gates i, o, f, c; or a GRU's z, r, h
  bool linear_before_reset =
      false;          ///< of a GRU: the reset gate scales the product, and not the state
  Tensor input;       ///< [gates * hidden, input]
  Tensor recurrent;   ///< [gates * hidden, hidden]
  Tensor input_bias;  ///< [gates * hidden], undefined = none
  Tensor recurrent_bias;
  Tensor hidden;  ///< [batch, hidden]
  Tensor cell;    ///< of an LSTM
};

/// Whether all is f32 on a CPU, and there are numbers enough for packed weights to pay.
[[nodiscard]] bool is_gated_on_cpu(const Tensor& x, const GatedLayer& layer);

/// The hidden states after all steps of x [time, batch, input], [time, batch, hidden], and in `layer` the last state.
/// Steps beyond a sequence's length, where lengths are given, do not count: the state stays, the result is 0.
[[nodiscard]] Tensor run_gated(const Tensor& x, const Tensor& lengths, bool backward,
                               GatedLayer& layer);

}  // namespace berth::runtime::onnx
