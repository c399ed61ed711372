// Cells of recurrent networks, and layers of them over time: [time, batch, ..].
#include <ATen/Functions.h>

#include <algorithm>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

/// The results of a step of an LSTM, in the order of the outputs (Hochreiter and Schmidhuber, 1997).
struct LstmStep {
  Tensor input, state, forget, output, candidate, squashed, hidden;
};

struct Lstm {
  /// The second version of the layer has its gates in another order, and other defaults.
  explicit Lstm(const Instruction& op)
      : is_second(op.type.ends_with("V2")),
        forget_bias(float_attribute(op, "forget_bias", is_second ? 0 : 1)),
        clip(float_attribute(op, "cell_clip", is_second ? 0 : 3)),
        peephole(int_attribute(op, "use_peephole", 0) != 0) {}

  /// `weights`: for inputs and hidden state, of the three peepholes, and the bias.
  [[nodiscard]] LstmStep step(const Tensor& x, const Tensor& before, const Tensor& hidden,
                              Inputs weights) const {
    const std::int64_t cells = before.size(1);
    const Tensor& bias = tensor_at(weights, 4);
    if (bias.numel() != 4 * cells) {
      throw Error(ErrorCode::invalid_argument, cat("its bias has ", bias.numel(),
                                                   " numbers for the gates of ", cells, " cells"));
    }
    const Tensor gates = at::addmm(bias, at::cat({x, hidden}, 1), tensor_at(weights, 0));
    const auto gate = [&](std::int64_t i) { return gates.narrow(1, i * cells, cells); };
    const auto seeing = [&](const Tensor& sums, std::size_t i, const Tensor& state) {
      return peephole ? at::addcmul(sums, tensor_at(weights, i), state) : sums;
    };
    LstmStep made;
    made.input = at::sigmoid(seeing(gate(0), 1, before));
    made.candidate = at::tanh(gate(is_second ? 2 : 1));
    made.forget = at::sigmoid(seeing(at::add(gate(is_second ? 1 : 2), forget_bias), 2, before));
    made.state = at::addcmul(at::mul(made.forget, before), made.input, made.candidate);
    if (clip > 0) made.state = at::clamp(made.state, -clip, clip);
    made.output = at::sigmoid(seeing(gate(3), 3, made.state));
    made.squashed = at::tanh(made.state);
    made.hidden = at::mul(made.output, made.squashed);
    return made;
  }

  bool is_second;
  double forget_bias, clip;
  bool peephole;
};

void check_rank(const Tensor& tensor, std::int64_t rank, const char* what) {
  if (tensor.dim() == rank) return;
  throw Error(ErrorCode::invalid_argument,
              cat(what, " has ", tensor.dim(), " dimensions and should have ", rank));
}

/// (x, state, hidden state, weights..)
Kernel make_lstm_cell(const KernelRequest& request) {
  return [lstm = Lstm(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor& before = tensor_at(in, 1);
    check_rank(before, 2, "its state");
    const LstmStep step = lstm.step(tensor_at(in, 0), before, tensor_at(in, 2), in.subspan(3));
    const Tensor all[] = {step.input,     step.state,    step.forget, step.output,
                          step.candidate, step.squashed, step.hidden};
    for (std::size_t i = 0; i < out.size(); ++i) out[i].tensor = all[i];
  };
}

/// (number of steps, x, state, hidden state, weights..): further steps give 0.
Kernel make_lstm_layer(const KernelRequest& request) {
  return [lstm = Lstm(request.instruction), length = IntsInput(request, 0)](
             KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 1);
    Tensor state = tensor_at(in, 2), hidden = tensor_at(in, 3);
    check_rank(x, 3, "its sequence");
    check_rank(state, 2, "its state");
    for (Value& each : out) {
      each.tensor = at::zeros({x.size(0), state.size(0), state.size(1)}, x.options());
    }
    const std::int64_t steps = std::min(length.one(in), x.size(0));
    for (std::int64_t t = 0; t < steps; ++t) {
      const LstmStep step = lstm.step(x.select(0, t), state, hidden, in.subspan(4));
      const Tensor* const all[] = {&step.input,     &step.state,    &step.forget, &step.output,
                                   &step.candidate, &step.squashed, &step.hidden};
      for (std::size_t i = 0; i < out.size(); ++i) out[i].tensor.select(0, t).copy_(*all[i]);
      state = step.state;
      hidden = step.hidden;
    }
  };
}

/// (x, hidden state, weights and then biases of both gates, and of the candidate). Cho et al., EMNLP 2014.
Kernel make_gru_cell(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    const Tensor &x = tensor_at(in, 0), &before = tensor_at(in, 1);
    check_rank(before, 2, "its state");
    const std::int64_t cells = before.size(1);
    const Tensor gates =
        at::sigmoid(at::addmm(tensor_at(in, 4), at::cat({x, before}, 1), tensor_at(in, 2)));
    const Tensor reset = gates.narrow(1, 0, cells), update = gates.narrow(1, cells, cells);
    const Tensor candidate = at::tanh(
        at::addmm(tensor_at(in, 5), at::cat({x, at::mul(before, reset)}, 1), tensor_at(in, 3)));
    const Tensor hidden = at::add(at::mul(update, before), at::mul(at::rsub(update, 1), candidate));
    const Tensor all[] = {reset, update, candidate, hidden};
    for (std::size_t i = 0; i < out.size(); ++i) out[i].tensor = all[i];
  };
}

/// How many of the labels each of `batch` sequences has; their indices are in order.
Ints label_counts(const Tensor& indices, std::int64_t batch) {
  check_rank(indices, 2, "its indices of labels");
  Ints counts(static_cast<std::size_t>(batch), 0);
  std::int64_t before = 0;
  for (const std::int64_t sequence : ints_of(indices.select(1, 0))) {
    if (sequence < before || sequence >= batch) {
      throw Error(ErrorCode::invalid_argument, cat("a label of sequence ", sequence, " of ", batch,
                                                   " comes behind one of ", before));
    }
    before = sequence;
    ++counts[static_cast<std::size_t>(sequence)];
  }
  return counts;
}

/// (logits [time, batch, classes], indices [labels, 2] and values of labels, lengths): losses, and the gradient of their
/// sum. Graves et al., ICML 2006. The last class is the blank.
Kernel make_alignment_loss(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const bool skips = int_attribute(op, "ignore_longer_outputs_than_inputs", 0) != 0;
  if (int_attribute(op, "preprocess_collapse_repeated", 0) != 0) {
    refuse_attribute("preprocess_collapse_repeated", "true");
  }
  if (int_attribute(op, "ctc_merge_repeated", 1) == 0)
    refuse_attribute("ctc_merge_repeated", "false");
  return [skips](KernelContext& context, Inputs in, Outputs out) {
    const Tensor& logits = tensor_at(in, 0);
    check_rank(logits, 3, "its logits");
    const std::int64_t time = logits.size(0), classes = logits.size(2);
    const Ints counts = label_counts(tensor_at(in, 1), logits.size(1));
    const Tensor labels = on_device(context, tensor_at(in, 2)).to(at::kLong);
    const Tensor unknown = at::logical_or(at::lt(labels, 0), at::ge(labels, classes));
    if (labels.size(0) != tensor_at(in, 1).size(0) || unknown.any().item<bool>()) {
      throw Error(ErrorCode::invalid_argument,
                  cat("a label is none of the ", classes, " classes, or has no index"));
    }
    const Tensor given = on_device(context, tensor_at(in, 3)).to(at::kLong);
    check_rank(given, 1, "its lengths");
    // ATen reads before the first step of a sequence without one.
    const Ints lengths = ints_of(at::clamp_min(given, 1));
    Tensor ignored = at::lt(given, 1);
    if (skips)
      ignored = at::logical_or(ignored, at::lt(given, on_device(context, at::tensor(counts))));
    const Tensor chances = at::log_softmax(logits, 2);
    const auto [loss, alpha] = at::_ctc_loss(chances, labels, lengths, counts, classes - 1);
    out[0].tensor = at::masked_fill(loss, ignored, 0);
    if (out.size() < 2) return;
    Tensor gradient = at::_ctc_loss_backward(at::ones_like(loss), chances, labels, lengths, counts,
                                             loss, alpha, classes - 1);
    // Labels that do not fit leave the chances as they are.
    const Tensor step = at::arange(time, given.options()).reshape({-1, 1, 1});
    const Tensor whole = at::mul(at::exp(chances), at::lt(step, given.reshape({1, -1, 1})));
    gradient = at::where(at::isinf(loss).reshape({1, -1, 1}), whole, gradient);
    out[1].tensor = at::masked_fill(gradient, ignored.reshape({1, -1, 1}), 0);
  };
}

constexpr KernelRow kRows[] = {
    {"BlockLSTM", make_lstm_layer},    {"BlockLSTMV2", make_lstm_layer},
    {"CTCLoss", make_alignment_loss},  {"GRUBlockCell", make_gru_cell},
    {"LSTMBlockCell", make_lstm_cell},
};

}  // namespace

std::span<const KernelRow> recurrent_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
