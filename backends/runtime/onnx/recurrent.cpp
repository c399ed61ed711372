// RNN, GRU and LSTM with every option of theirs, one step after the other.
#include <ATen/Functions.h>

#include "berth/error.h"
#include "runtime/integers.h"
#include "runtime/onnx/activations.h"
#include "runtime/onnx/gated.h"
#include "runtime/onnx/quantized.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"
#include "runtime/products.h"

namespace berth::runtime::onnx {
namespace {

std::vector<Activation> activations_of(const Instruction& op, std::vector<std::string> names,
                                       std::size_t directions) {
  if (const auto* const stated = op.attribute<std::vector<std::string>>("activations")) {
    names = *stated;
  } else {
    const std::vector<std::string> one = names;
    for (std::size_t d = 1; d < directions; ++d) names.insert(names.end(), one.begin(), one.end());
  }
  const auto* const alphas = op.attribute<std::vector<double>>("activation_alpha");
  const auto* const betas = op.attribute<std::vector<double>>("activation_beta");
  // A function without parameters takes none from these lists.
  const auto take = [](const std::vector<double>* list, std::size_t& next, double& to) {
    if (list != nullptr && next < list->size()) to = (*list)[next++];
  };
  std::size_t next_alpha = 0, next_beta = 0;
  std::vector<Activation> made;
  for (const std::string& name : names) {
    Activation& one = made.emplace_back(activation_named(name));
    if (one.parameters > 0) take(alphas, next_alpha, one.alpha);
    if (one.parameters > 1) take(betas, next_beta, one.beta);
  }
  return made;
}

// --- cells ---------------------------------------------------------------------------------------

// One direction's weights, as its cell multiplies with them.
struct Weights {
  Tensor input;       // [gates * hidden, input]
  Tensor recurrent;   // [gates * hidden, hidden]
  Tensor input_bias;  // [gates * hidden], undefined = none
  Tensor recurrent_bias;
  Tensor peepholes;  // LSTM: [3 * hidden], undefined = none
};

struct State {
  Tensor hidden;
  Tensor cell;  // LSTM
};

struct Options {
  double clip = 0;  // 0 = none
  bool linear_before_reset = false;
  bool input_forget = false;
  bool quantizes = false;  // what the weights are multiplied with
  std::int64_t hidden = 0;
};

// Rounds x as the op that quantizes it does.
Tensor rounded(const Tensor& x, const Options& options) {
  if (!options.quantizes) return x;
  const Dynamic made = dynamically_quantized(x);
  return dequantize(made.values, made.scale, made.zero);
}

Tensor clipped(const Tensor& x, const Options& options) {
  return options.clip > 0 ? at::clamp(x, -options.clip, options.clip) : x;
}

// `projected`: the step's input times the input weights, with their bias.
using Cell = State (*)(const Tensor& projected, const State& before, const Weights& weights,
                       const Activation* activations, const Options& options);

State rnn_cell(const Tensor& projected, const State& before, const Weights& weights,
               const Activation* activations, const Options& options) {
  const Tensor sum =
      at::add(projected, linear(before.hidden, weights.recurrent, weights.recurrent_bias));
  return {activations[0](clipped(sum, options)), {}};
}

// Gates: update z, reset r, hidden h.
State gru_cell(const Tensor& projected, const State& before, const Weights& weights,
               const Activation* activations, const Options& options) {
  const std::int64_t n = options.hidden;
  const auto recurrent = [&](const Tensor& x, std::int64_t from, std::int64_t count) {
    const Tensor& bias = weights.recurrent_bias;
    return linear(x, weights.recurrent.narrow(0, from, count),
                  bias.defined() ? bias.narrow(0, from, count) : bias);
  };
  const Tensor gates = activations[0](
      clipped(at::add(projected.narrow(1, 0, 2 * n), recurrent(before.hidden, 0, 2 * n)), options));
  const Tensor update = gates.narrow(1, 0, n);
  const Tensor reset = gates.narrow(1, n, n);
  const Tensor passed = options.linear_before_reset
                            ? at::mul(reset, recurrent(before.hidden, 2 * n, n))
                            : recurrent(at::mul(reset, before.hidden), 2 * n, n);
  const Tensor now =
      activations[1](clipped(at::add(projected.narrow(1, 2 * n, n), passed), options));
  return {at::add(at::mul(at::rsub(update, 1), now), at::mul(update, before.hidden)), {}};
}

// Gates: input i, output o, forget f, cell c.
State lstm_cell(const Tensor& projected, const State& before, const Weights& weights,
                const Activation* activations, const Options& options) {
  const std::int64_t n = options.hidden;
  const Tensor sums = at::add(projected, linear(rounded(before.hidden, options), weights.recurrent,
                                                weights.recurrent_bias));
  const auto gate = [&](std::int64_t i, std::int64_t peephole, const Tensor& cell) {
    Tensor sum = sums.narrow(1, i * n, n);
    if (weights.peepholes.defined()) {
      sum = at::add(sum, at::mul(weights.peepholes.narrow(0, peephole * n, n), cell));
    }
    return activations[0](clipped(sum, options));
  };
  const Tensor input = gate(0, 0, before.cell);
  const Tensor forget = options.input_forget ? at::rsub(input, 1) : gate(2, 2, before.cell);
  const Tensor candidate = activations[1](clipped(sums.narrow(1, 3 * n, n), options));
  const Tensor cell = at::add(at::mul(forget, before.cell), at::mul(input, candidate));
  const Tensor output = gate(1, 1, cell);
  return {at::mul(output, activations[2](cell)), cell};
}

// --- sequences -----------------------------------------------------------------------------------

// Steps beyond a sequence's end do not count: the state stays, the output is 0.
State masked(const State& now, const State& before, const Tensor& alive) {
  State kept;
  kept.hidden = at::where(alive, now.hidden, before.hidden);
  if (now.cell.defined()) kept.cell = at::where(alive, now.cell, before.cell);
  return kept;
}

struct DirectionResult {
  Tensor outputs;  // [time, batch, hidden]
  State last;
};

// Whether it is an LSTM or a GRU as all frameworks have them.
bool is_usual(Cell cell, const Weights& weights, const Activation* activations,
              const Options& options) {
  const auto names = [&](std::initializer_list<const char*> wanted) {
    return std::equal(wanted.begin(), wanted.end(), activations,
                      [](const char* name, const Activation& one) { return one.name == name; });
  };
  if (options.clip > 0 || options.input_forget || options.quantizes ||
      weights.peepholes.defined()) {
    return false;
  }
  return cell == lstm_cell  ? names({"Sigmoid", "Tanh", "Tanh"})
         : cell == gru_cell ? names({"Sigmoid", "Tanh"})
                            : false;
}

DirectionResult run_direction(Cell cell, const Tensor& x, const Tensor& lengths, bool backward,
                              State state, const Weights& weights, const Activation* activations,
                              const Options& options) {
  if (is_usual(cell, weights, activations, options)) {
    GatedLayer layer{
        cell == lstm_cell,  options.linear_before_reset, weights.input, weights.recurrent,
        weights.input_bias, weights.recurrent_bias,      state.hidden,  state.cell};
    if (is_gated_on_cpu(x, layer)) {
      const Tensor outputs = run_gated(x, lengths, backward, layer);
      return {outputs, {layer.hidden, layer.cell}};
    }
  }
  const std::int64_t steps = x.size(0);
  const Tensor projected = linear(rounded(x, options), weights.input, weights.input_bias);
  std::vector<Tensor> outputs(static_cast<std::size_t>(steps));
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t t = backward ? steps - 1 - i : i;
    State now = cell(projected.select(0, t), state, weights, activations, options);
    Tensor output = now.hidden;
    if (lengths.defined()) {
      const Tensor alive = at::gt(lengths, t).unsqueeze(1);
      now = masked(now, state, alive);
      output = at::where(alive, output, at::zeros_like(output));
    }
    state = now;
    outputs[static_cast<std::size_t>(t)] = output;
  }
  return {steps > 0 ? at::stack(outputs) : at::empty({0, x.size(1), options.hidden}, x.options()),
          state};
}

struct Recurrent {
  Cell cell = nullptr;
  std::int64_t gates = 1;
  std::size_t activations_per_direction = 1;
  std::vector<Activation> activations;
  Options options;
  bool batch_first = false;
  bool forward = true;
  bool backward = false;

  // Inputs: X, W, R, B?, sequence_lens?, initial_h?, initial_c?, P? (the last two: LSTM); where they are
  // quantized the scale and zero point of W and then of R, and both have their gates last.
  void operator()(KernelContext& /*context*/, Inputs in, Outputs out) const {
    const Tensor& given = tensor_at(in, 0);
    const Tensor x = batch_first ? given.transpose(0, 1) : given;
    Options sized = options;
    sized.hidden = tensor_at(in, 2).size(options.quantizes ? 1 : 2);
    Tensor lengths = optional_at(in, 4);
    if (lengths.defined()) {
      check_within(lengths, 0, x.size(0), "sequence length");
      lengths = lengths.to(x.device());
    }
    std::vector<DirectionResult> results;
    const std::int64_t directions = (forward ? 1 : 0) + (backward ? 1 : 0);
    for (std::int64_t d = 0; d < directions; ++d) {
      results.push_back(run_direction(
          cell, x, lengths, backward && (d == 1 || !forward), start(in, d, x, sized),
          weights(in, d), &activations[static_cast<std::size_t>(d) * activations_per_direction],
          sized));
    }
    write(results, out);
  }

 private:
  [[nodiscard]] Tensor weight(Inputs in, std::size_t i, std::size_t scale, std::int64_t d) const {
    const Tensor stored = tensor_at(in, i).select(0, d);
    if (!options.quantizes) return stored;
    return dequantize(stored, tensor_at(in, scale).select(0, d),
                      tensor_at(in, scale + 1).select(0, d))
        .t();
  }

  [[nodiscard]] Weights weights(Inputs in, std::int64_t d) const {
    Weights made;
    made.input = weight(in, 1, 8, d);
    made.recurrent = weight(in, 2, 10, d);
    const Tensor bias = optional_at(in, 3);
    if (bias.defined()) {
      const std::int64_t half = bias.size(1) / 2;
      made.input_bias = bias.select(0, d).narrow(0, 0, half);
      made.recurrent_bias = bias.select(0, d).narrow(0, half, half);
    }
    if (gates == 4 && has(in, 7)) made.peepholes = tensor_at(in, 7).select(0, d);
    return made;
  }

  [[nodiscard]] State start(Inputs in, std::int64_t d, const Tensor& x,
                            const Options& sized) const {
    const auto state_at = [&](std::size_t i) {
      const Tensor stated = optional_at(in, i);
      if (!stated.defined()) return at::zeros({x.size(1), sized.hidden}, x.options());
      return stated.select(batch_first ? 1 : 0, d);
    };
    return {state_at(5), gates == 4 ? state_at(6) : Tensor()};
  }

  void write(const std::vector<DirectionResult>& results, Outputs out) const {
    std::vector<Tensor> outputs, hidden, cells;
    for (const DirectionResult& result : results) {
      outputs.push_back(result.outputs);
      hidden.push_back(result.last.hidden);
      cells.push_back(result.last.cell);
    }
    const std::int64_t state_axis = batch_first ? 1 : 0;
    // [time, directions, batch, hidden], or [batch, time, directions, hidden]
    const Tensor all = at::stack(outputs, 1);
    out[0].tensor = batch_first ? all.permute({2, 0, 1, 3}) : all;
    if (out.size() > 1) out[1].tensor = at::stack(hidden, state_axis);
    if (out.size() > 2 && gates == 4) out[2].tensor = at::stack(cells, state_axis);
  }
};

Kernel make_recurrent(const Instruction& op, Cell cell, std::int64_t gates,
                      const std::vector<std::string>& activations) {
  Recurrent made;
  made.cell = cell;
  made.gates = gates;
  const std::string direction = text_attribute(op, "direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    refuse_attribute("direction", direction);
  }
  made.forward = direction != "reverse";
  made.backward = direction != "forward";
  const std::size_t directions = direction == "bidirectional" ? 2 : 1;
  made.activations_per_direction = activations.size();
  made.activations = activations_of(op, activations, directions);
  if (made.activations.size() != activations.size() * directions) {
    refuse_attribute("activations", "a list of " + std::to_string(made.activations.size()));
  }
  made.options.clip = float_attribute(op, "clip", 0);
  made.options.linear_before_reset = int_attribute(op, "linear_before_reset", 0) != 0;
  made.options.input_forget = int_attribute(op, "input_forget", 0) != 0;
  made.options.quantizes = op.type == "com.microsoft.DynamicQuantizeLSTM";
  made.batch_first = int_attribute(op, "layout", 0) != 0;
  return widened(made);
}

Kernel make_lstm(const KernelRequest& request) {
  return make_recurrent(request.instruction, lstm_cell, 4, {"Sigmoid", "Tanh", "Tanh"});
}

constexpr KernelRow kRows[] = {
    {"GRU",
     [](const KernelRequest& request) {
       return make_recurrent(request.instruction, gru_cell, 3, {"Sigmoid", "Tanh"});
     }},
    {"LSTM", make_lstm},
    {"RNN",
     [](const KernelRequest& request) {
       return make_recurrent(request.instruction, rnn_cell, 1, {"Tanh"});
     }},
    {"com.microsoft.DynamicQuantizeLSTM", make_lstm},
};

}  // namespace

std::span<const KernelRow> recurrent_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
