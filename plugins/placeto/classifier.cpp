#include "classifier.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace berth::placeto {

Classifier::Classifier(const ClassifierShape& shape)
    : shape_(shape), kernels_(kernels()), direct_(shape.candidate_features, 0.0F) {
  if (by_device()) {
    of_device_ =
        layers_.add("classifier.device", shape.pooled + shape.candidate_features, shape.state);
  }
  std::size_t in = shape.state;
  for (std::size_t l = 0; l < shape.hidden_layers; ++l) {
    const bool wide = shape.hidden_layers > 1 && l == 0 && !by_device();
    const std::size_t out = wide ? 2 * shape.state : shape.state;
    hidden_.push_back(layers_.add("classifier." + std::to_string(l), in, out));
    in = out;
  }
  last_ = layers_.add("classifier." + std::to_string(shape.hidden_layers), in,
                      by_device() ? 1 : shape.devices);
}

bool Classifier::has_bias(const DenseLayer& layer) const {
  return !by_device() || layer.packed != of_device_.packed;
}

void Classifier::forward(const Input& input, Tape& tape, float* log_policy) const {
  const std::size_t rows = this->rows(input);
  tape.hidden.resize(hidden_.size());
  for (std::size_t l = 0; l < hidden_.size(); ++l) {
    tape.hidden[l].resize(rows * padded(hidden_[l].out));
  }
  if (by_device()) {
    tape.shared.resize(padded(hidden_[0].out));
    layers_.forward(hidden_[0], input.state, shape_.state, 1, /*relu=*/false, tape.shared.data());
    tape.rows.resize(rows * of_device_.in);
    for (std::size_t m = 0; m < rows; ++m) {
      float* const row = tape.rows.data() + m * of_device_.in;
      std::copy_n(input.by_device + m * shape_.pooled, shape_.pooled, row);
      std::copy_n(input.candidates + m * shape_.candidate_features, shape_.candidate_features,
                  row + shape_.pooled);
    }
    layers_.forward(of_device_, tape.rows.data(), of_device_.in, rows, /*relu=*/true,
                    tape.hidden[0].data(), tape.shared.data());
  } else {
    layers_.forward(hidden_[0], input.state, shape_.state, 1, /*relu=*/true, tape.hidden[0].data());
  }
  for (std::size_t l = 1; l < hidden_.size(); ++l) {
    layers_.forward(hidden_[l], tape.hidden[l - 1].data(), padded(hidden_[l].in), rows,
                    /*relu=*/true, tape.hidden[l].data());
  }
  tape.logits.resize(rows * padded(last_.out));
  layers_.forward(last_, tape.hidden.back().data(), padded(last_.in), rows, /*relu=*/false,
                  tape.logits.data());
  float largest = -std::numeric_limits<float>::infinity();
  for (std::size_t m = 0; m < input.devices; ++m) {
    float& logit = tape.logits[logit_at(m)];
    for (std::size_t i = 0; i < shape_.candidate_features; ++i) {
      logit += input.candidates[m * shape_.candidate_features + i] * direct_[i];
    }
    if (shape_.logit_bound > 0) {
      const auto bound = static_cast<float>(shape_.logit_bound);
      logit = bound * std::tanh(logit);
    }
    if (input.allowed[m] != 0) largest = std::max(largest, logit);
  }
  float sum = 0;
  for (std::size_t m = 0; m < input.devices; ++m) {
    if (input.allowed[m] != 0) sum += std::exp(tape.logits[logit_at(m)] - largest);
  }
  const float log_sum = largest + std::log(sum);
  for (std::size_t m = 0; m < input.devices; ++m) {
    log_policy[m] = input.allowed[m] != 0 ? tape.logits[logit_at(m)] - log_sum
                                          : -std::numeric_limits<float>::infinity();
  }
}

void Classifier::backward(const Input& input, const float* d_logits, Tape& tape, float* gradient,
                          float* d_state, float* d_by_device) const {
  const std::size_t rows = this->rows(input);
  tape.d_logits.assign(rows * padded(last_.out), 0.0F);
  float* const d_direct = gradient + layers_.packed_size();
  for (std::size_t m = 0; m < input.devices; ++m) {
    float d = d_logits[m];
    if (shape_.logit_bound > 0) {
      const auto bound = static_cast<float>(shape_.logit_bound);
      const float logit = tape.logits[logit_at(m)];
      d *= bound - logit * logit / bound;
    }
    tape.d_logits[logit_at(m)] = d;
    for (std::size_t i = 0; i < shape_.candidate_features; ++i) {
      d_direct[i] += d * input.candidates[m * shape_.candidate_features + i];
    }
  }
  std::size_t widest = 0;
  for (const DenseLayer& layer : hidden_) widest = std::max(widest, padded(layer.out));
  tape.d_a.resize(rows * widest);
  tape.d_b.resize(rows * widest);
  float* d = tape.d_a.data();
  float* other = tape.d_b.data();
  layers_.backward(last_, tape.hidden.back().data(), padded(last_.in), rows, tape.d_logits.data(),
                   gradient, d);
  for (std::size_t l = hidden_.size() - 1; l > 0; --l) {
    kernels_.mask(tape.hidden[l].data(), rows * padded(hidden_[l].out), d);
    layers_.backward(hidden_[l], tape.hidden[l - 1].data(), padded(hidden_[l].in), rows, d,
                     gradient, other);
    std::swap(d, other);
  }
  const std::size_t width = padded(hidden_[0].out);
  kernels_.mask(tape.hidden[0].data(), rows * width, d);
  if (by_device()) {
    const std::size_t stride = padded(of_device_.in);
    tape.d_rows.resize(rows * stride);
    layers_.backward(of_device_, tape.rows.data(), of_device_.in, rows, d, gradient,
                     tape.d_rows.data());
    for (std::size_t m = 0; m < rows; ++m) {
      std::copy_n(tape.d_rows.data() + m * stride, shape_.pooled, d_by_device + m * shape_.pooled);
    }
    for (std::size_t m = 1; m < rows; ++m) kernels_.add(d + m * width, width, d);
  }
  layers_.backward(hidden_[0], input.state, shape_.state, 1, d, gradient, d_state);
}

}  // namespace berth::placeto
