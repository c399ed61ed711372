// The policy network: the embedding of embedding.h, the classifier of classifier.h, and their
// training.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "classifier.h"
#include "embedding.h"
#include "learning/network_policy.h"

namespace berth::placeto {

using learning::NamedTensor;

struct NetworkShape {
  EmbeddingShape embedding;
  std::size_t devices = 0;             ///< one-hot form: of the clusters it is for
  std::size_t candidate_features = 0;  ///< form by device: per (group, device); 0 = one-hot form
  /// Addend of fresh weights to a device's logit per unit of each of its features; empty = nothing.
  std::vector<float> prior;
  std::size_t hidden_layers = 1;  ///< of the classifier; in the paper 1, in its code by default 2
  double logit_bound = 0;         ///< C of C * tanh(logits); 0 = unbounded, as published
};

/// A state in which a device is to be chosen.
struct Decision {
  StateView state;
  const float* candidates;      ///< [devices, candidate_features]
  const std::uint8_t* allowed;  ///< [devices]; at least one is
};

/// [thread-compatible: several threads inside; log_policy is const]
class Network final : public learning::Network {
 public:
  /// Weights uniform as of Glorot and Bengio (AISTATS 2010), biases 0, as in the released code.
  Network(const NetworkShape& shape, std::uint64_t seed);
  ~Network() override;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] const NetworkShape& shape() const;
  [[nodiscard]] std::int64_t parameter_count() const override;

  /// log pi by device; -infinity if not allowed.
  void log_policy(const Decision& decision, float* out) const;

  /// Adds to the gradient that of sum over decisions of -advantage * log pi(action) -
  /// entropy_weight * H, with H = -sum p ln(p + 1e-3) as in the released code. Returns that sum.
  /// Neither depends on the number of threads.
  double accumulate(std::span<const Decision> decisions, std::span<const std::int32_t> actions,
                    std::span<const double> advantages, double entropy_weight);

  double step(double learning_rate, double max_norm) override;
  [[nodiscard]] std::vector<float> weights() const override;
  void set_weights(std::span<const float> weights) override;
  void take_gradient(std::vector<float>& out) override;
  void set_gradient(std::span<const float> gradient) override;
  [[nodiscard]] std::vector<NamedTensor> tensors() const override;
  void set_tensors(std::span<const NamedTensor> tensors) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::placeto
