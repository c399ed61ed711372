#include "runtime/onnx/gated.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/every_machine.h"
#include "runtime/parallel.h"
#include "runtime/vector_math.h"

namespace berth::runtime::onnx {
namespace {

// --- products ------------------------------------------------------------------------------------

constexpr std::int64_t kLanes = 8, kPanel = 2 * kLanes, kRows = 4;
using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;

/// Adds x [rows, size] by a panel [size, kPanel] to `to`. The sums stay in registers.
template <std::int64_t rows>
[[gnu::always_inline]] inline void add_rows(const float* x, std::int64_t size, const float* panel,
                                            float* to, std::int64_t stride) {
  Lanes sums[rows][2];
  for (std::int64_t r = 0; r < rows; ++r) {
    std::memcpy(&sums[r][0], to + r * stride, sizeof(Lanes));
    std::memcpy(&sums[r][1], to + r * stride + kLanes, sizeof(Lanes));
  }
  for (std::int64_t k = 0; k < size; ++k) {
    Lanes weights[2];
    std::memcpy(&weights[0], panel + k * kPanel, sizeof(Lanes));
    std::memcpy(&weights[1], panel + k * kPanel + kLanes, sizeof(Lanes));
    for (std::int64_t r = 0; r < rows; ++r) {
      sums[r][0] += x[r * size + k] * weights[0];
      sums[r][1] += x[r * size + k] * weights[1];
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    std::memcpy(to + r * stride, &sums[r][0], sizeof(Lanes));
    std::memcpy(to + r * stride + kLanes, &sums[r][1], sizeof(Lanes));
  }
}

BERTH_EVERY_MACHINE void add_panel(const float* x, std::int64_t rows, std::int64_t size,
                                   const float* panel, float* to, std::int64_t stride) {
  for (; rows >= kRows; rows -= kRows, x += kRows * size, to += kRows * stride) {
    add_rows<kRows>(x, size, panel, to, stride);
  }
  if (rows == 3) add_rows<3>(x, size, panel, to, stride);
  if (rows == 2) add_rows<2>(x, size, panel, to, stride);
  if (rows == 1) add_rows<1>(x, size, panel, to, stride);
}

/// Some rows of a matrix [rows, size], packed into panels of kPanel rows, the last filled up with 0.
class Packed {
 public:
  explicit Packed(const Tensor& matrix)
      : rows_(matrix.size(0)),
        size_(matrix.size(1)),
        panels_((rows_ + kPanel - 1) / kPanel),
        numbers_(static_cast<std::size_t>(panels_ * size_ * kPanel)) {
    const Tensor plain = matrix.contiguous();
    const float* const from = plain.data_ptr<float>();
    for (std::int64_t row = 0; row < rows_; ++row) {
      float* const to = numbers_.data() + row / kPanel * size_ * kPanel + row % kPanel;
      for (std::int64_t k = 0; k < size_; ++k) to[k * kPanel] = from[row * size_ + k];
    }
  }

  /// The numbers of a row of results.
  [[nodiscard]] std::int64_t width() const { return panels_ * kPanel; }

  /// Adds x [batch, size] by the rows to `to` [batch, width()].
  void add_product(const float* x, std::int64_t batch, float* to) const {
    constexpr std::int64_t kWorthAThread = 1 << 17;
    const std::int64_t grain = 1 + kWorthAThread / (1 + batch * size_ * kPanel);
    in_parallel(0, panels_, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) {
        add_panel(x, batch, size_, numbers_.data() + p * size_ * kPanel, to + p * kPanel, width());
      }
    });
  }

 private:
  std::int64_t rows_, size_, panels_;
  std::vector<float> numbers_;
};

// --- gates, for one sequence of a batch ----------------------------------------------------------

BERTH_EVERY_MACHINE void pass_lstm(const float* __restrict gates, float* __restrict cell,
                                   float* __restrict hidden, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) {
    const float input = vectors::sigmoid(gates[j]), output = vectors::sigmoid(gates[n + j]);
    const float forget = vectors::sigmoid(gates[2 * n + j]);
    cell[j] = forget * cell[j] + input * vectors::tanh(gates[3 * n + j]);
    hidden[j] = output * vectors::tanh(cell[j]);
  }
}

/// The reset gate's share of the state.
BERTH_EVERY_MACHINE void reset(const float* __restrict gates, const float* __restrict hidden,
                               float* __restrict to, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) to[j] = vectors::sigmoid(gates[n + j]) * hidden[j];
}

/// The reset gate scales the product with the state.
BERTH_EVERY_MACHINE void pass_gru(const float* __restrict gates, const float* __restrict candidate,
                                  const float* __restrict product, float* __restrict hidden,
                                  std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) {
    const float update = vectors::sigmoid(gates[j]), kept = vectors::sigmoid(gates[n + j]);
    const float now = vectors::tanh(candidate[j] + kept * product[j]);
    hidden[j] = (1 - update) * now + update * hidden[j];
  }
}

/// The candidate has the product with the reset state in it.
BERTH_EVERY_MACHINE void pass_reset_gru(const float* __restrict gates,
                                        const float* __restrict candidate, float* __restrict hidden,
                                        std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) {
    const float update = vectors::sigmoid(gates[j]), now = vectors::tanh(candidate[j]);
    hidden[j] = (1 - update) * now + update * hidden[j];
  }
}

// --- steps ---------------------------------------------------------------------------------------

/// The numbers that the steps of one direction write over and over.
class Steps {
 public:
  Steps(const GatedLayer& layer, std::int64_t batch)
      : n_(layer.recurrent.size(1)),
        batch_(batch),
        is_lstm_(layer.is_lstm),
        linear_(layer.linear_before_reset),
        main_(layer.recurrent.narrow(0, 0, (is_lstm_ ? 4 : 2) * n_)),
        candidate_(layer.recurrent.narrow(0, is_lstm_ ? 0 : 2 * n_, is_lstm_ ? 0 : n_)),
        gates_(size(batch * main_.width())),
        product_(size(batch * candidate_.width())),
        reset_(size(is_lstm_ || linear_ ? 0 : batch * n_)),
        hidden(layer.hidden.clone(at::MemoryFormat::Contiguous)),
        cell(is_lstm_ ? layer.cell.clone(at::MemoryFormat::Contiguous) : Tensor()) {
    if (!is_lstm_ && linear_ && layer.recurrent_bias.defined()) {
      bias_ = layer.recurrent_bias.narrow(0, 2 * n_, n_).contiguous();
    }
  }

  /// One step, given the inputs' share of its gates, [batch, width], for the sequences that go on.
  void run(const float* projected, std::int64_t width, const std::vector<bool>& alive) {
    const std::int64_t used = (is_lstm_ ? 4 : 2) * n_;
    float* const state = hidden.data_ptr<float>();
    for (std::int64_t b = 0; b < batch_; ++b) {
      std::copy_n(projected + b * width, used, gates_.data() + b * main_.width());
    }
    main_.add_product(state, batch_, gates_.data());
    if (!is_lstm_) make_product(projected, width, state);
    for (std::int64_t b = 0; b < batch_; ++b) {
      if (!alive[size(b)]) continue;
      const float* const gates = gates_.data() + b * main_.width();
      const float* const product = product_.data() + b * candidate_.width();
      if (is_lstm_) {
        pass_lstm(gates, cell.data_ptr<float>() + b * n_, state + b * n_, n_);
      } else if (linear_) {
        pass_gru(gates, projected + b * width + used, product, state + b * n_, n_);
      } else {
        pass_reset_gru(gates, product, state + b * n_, n_);
      }
    }
  }

 private:
  static std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

  /// The sum of a GRU's candidate, or its product with the state.
  void make_product(const float* projected, std::int64_t width, const float* state) {
    for (std::int64_t b = 0; b < batch_; ++b) {
      float* const product = product_.data() + b * candidate_.width();
      if (!linear_) {
        std::copy_n(projected + b * width + 2 * n_, n_, product);
        reset(gates_.data() + b * main_.width(), state + b * n_, reset_.data() + b * n_, n_);
      } else if (bias_.defined()) {
        std::copy_n(bias_.data_ptr<float>(), n_, product);
      } else {
        std::fill_n(product, n_, 0.0F);
      }
    }
    candidate_.add_product(linear_ ? state : reset_.data(), batch_, product_.data());
  }

  std::int64_t n_, batch_;
  bool is_lstm_, linear_;
  Packed main_, candidate_;
  std::vector<float> gates_, product_, reset_;
  Tensor bias_;

 public:
  Tensor hidden, cell;  // [batch, hidden]
};

/// All biases, [gates * hidden], but a GRU's that is scaled by its reset gate; undefined = none.
Tensor sum_of_biases(const GatedLayer& layer) {
  if (!layer.recurrent_bias.defined()) return layer.input_bias;
  Tensor other = layer.recurrent_bias;
  if (!layer.is_lstm && layer.linear_before_reset) {
    other = other.clone();
    other.narrow(0, 2 * layer.recurrent.size(1), layer.recurrent.size(1)).zero_();
  }
  return layer.input_bias.defined() ? at::add(layer.input_bias, other) : other;
}

/// The inputs' share of all gates with their biases: [time, batch, gates * hidden or, behind these, more].
Tensor projected(const Tensor& x, const GatedLayer& layer) {
  const Packed weights(layer.input);
  const Tensor inputs = x.contiguous();
  const Tensor sums = at::zeros({x.size(0), x.size(1), weights.width()}, x.options());
  const Tensor bias = sum_of_biases(layer);
  if (bias.defined()) sums.narrow(2, 0, bias.size(0)).copy_(bias);
  weights.add_product(inputs.data_ptr<float>(), x.size(0) * x.size(1), sums.data_ptr<float>());
  return sums;
}

}  // namespace

bool is_gated_on_cpu(const Tensor& x, const GatedLayer& layer) {
  constexpr std::int64_t kLeastRows =
      8;  // fewer than these are multiplied sooner than weights are packed
  if (x.size(0) * x.size(1) < kLeastRows || x.numel() == 0 || layer.hidden.numel() == 0) {
    return false;
  }
  const Tensor tensors[] = {
      x,         layer.input, layer.recurrent, layer.input_bias, layer.recurrent_bias, layer.hidden,
      layer.cell};
  return std::ranges::all_of(tensors, [](const Tensor& tensor) {
    return !tensor.defined() || (tensor.is_cpu() && tensor.scalar_type() == at::kFloat);
  });
}

Tensor run_gated(const Tensor& x, const Tensor& lengths, bool backward, GatedLayer& layer) {
  const std::int64_t steps = x.size(0), batch = x.size(1), n = layer.recurrent.size(1);
  const Tensor inputs = projected(x, layer);
  const std::int64_t width = inputs.size(2);
  const Tensor outputs = at::empty({steps, batch, n}, x.options());
  const Ints ends = lengths.defined() ? ints_of(lengths) : Ints();
  std::vector<bool> alive(static_cast<std::size_t>(batch), true);
  Steps all(layer, batch);
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t t = backward ? steps - 1 - i : i;
    for (std::size_t b = 0; b < ends.size(); ++b) alive[b] = ends[b] > t;
    all.run(inputs.data_ptr<float>() + t * batch * width, width, alive);
    float* const output = outputs.data_ptr<float>() + t * batch * n;
    std::copy_n(all.hidden.data_ptr<float>(), batch * n, output);
    for (std::size_t b = 0; b < ends.size(); ++b) {
      if (!alive[b]) std::fill_n(output + static_cast<std::int64_t>(b) * n, n, 0.0F);
    }
  }
  layer.hidden = all.hidden;
  layer.cell = all.cell;
  return outputs;
}

}  // namespace berth::runtime::onnx
