// The network's head: from the embedding of a state to log pi over devices, and the gradient.
//
// Two forms (A4.3 and beyond):
//   one-hot    logits[m] = perceptron(state); a network is for one number of devices
//   by device  logit of a device = perceptron(state, pooled groups on the device, its own features)
//              + direct . its own features;
//              the same weights for every device, so that one network serves any cluster
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dense_layers.h"

namespace berth::placeto {

struct ClassifierShape {
  std::size_t state = 0;               ///< width of a state's embedding
  std::size_t devices = 0;             ///< one-hot form
  std::size_t pooled = 0;              ///< form by device: width of the pooled groups; 0 = none
  std::size_t candidate_features = 0;  ///< form by device: of a device; 0 = one-hot form
  std::size_t hidden_layers = 1;       ///< >= 1
  double logit_bound = 0;              ///< C of C * tanh(logits); 0 = unbounded
};

/// Immutable but for the weights. [thread-compatible: forward and backward are const]
class Classifier {
 public:
  explicit Classifier(const ClassifierShape& shape);

  /// In the form by device the first one is the hidden layer's part for the device, and has no
  /// bias; then the hidden layers, then the last.
  [[nodiscard]] const std::vector<DenseLayer>& layers() const { return layers_.all(); }
  [[nodiscard]] bool has_bias(const DenseLayer& layer) const;
  void set_layer(const DenseLayer& layer, const float* weight, const float* bias) {
    layers_.set(layer, weight, bias);
  }
  /// `direct`: candidate_features of them.
  void set_direct(std::span<const float> direct) { direct_.assign(direct.begin(), direct.end()); }

  /// Floats of a gradient: all layers packed, then `direct`.
  [[nodiscard]] std::size_t gradient_size() const {
    return layers_.packed_size() + shape_.candidate_features;
  }
  [[nodiscard]] const float* direct_gradient(const float* gradient) const {
    return gradient + layers_.packed_size();
  }

  /// The input for one state.
  struct Input {
    const float* state;
    const float* by_device;       ///< [devices, pooled]
    const float* candidates;      ///< [devices, candidate_features]
    const std::uint8_t* allowed;  ///< [devices]; at least one is
    std::size_t devices;
  };
  /// Intermediate values of one state, reused. [thread-compatible: one per thread]
  struct Tape {
    std::vector<float> rows;                 ///< [devices, device's input], form by device
    std::vector<float> shared;               ///< the first layer's part for the state
    std::vector<std::vector<float>> hidden;  ///< by hidden layer
    std::vector<float> logits;
    std::vector<float> d_logits, d_a, d_b, d_rows;
  };

  /// log pi by device; -infinity if not allowed.
  void forward(const Input& input, Tape& tape, float* log_policy) const;
  /// Adds to `gradient` that of the weights, given that of the logits (bounded ones, where they
  /// are). The tape must hold that very forward. `d_state`: padded(state) floats; `d_by_device` as
  /// in the input.
  void backward(const Input& input, const float* d_logits, Tape& tape, float* gradient,
                float* d_state, float* d_by_device) const;

 private:
  [[nodiscard]] bool by_device() const { return shape_.candidate_features > 0; }
  [[nodiscard]] std::size_t rows(const Input& input) const {
    return by_device() ? input.devices : 1;
  }
  [[nodiscard]] std::size_t logit_at(std::size_t device) const {
    return by_device() ? device * kLane : device;
  }

  ClassifierShape shape_;
  const Kernels& kernels_;
  DenseLayers layers_;
  Perceptron hidden_;
  DenseLayer of_device_{};
  DenseLayer last_{};
  std::vector<float> direct_;
};

}  // namespace berth::placeto
