// Trained values of a network by name, with the optimiser that changes them.
#pragma once

#include <torch/optim/adam.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/sdk/random.h"
#include "learning/checkpoint.h"

namespace berth::learning {

/// Fills `weights` [.., in] uniformly as of Glorot and Bengio, AISTATS 2010.
void fill_glorot(torch::Tensor& weights, std::int64_t in, std::int64_t out, Random& random);
/// Fills `values` uniformly between -limit and limit.
void fill_uniform(torch::Tensor& values, double limit, Random& random);

/// [thread-compatible]
class Parameters {
 public:
  Parameters() = default;
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  /// Registers `values`, which then require gradients. Returns them.
  torch::Tensor add(std::string name, torch::Tensor values);
  /// Weights [rows, columns] of a product x * weights, filled by fill_glorot.
  torch::Tensor add_weights(std::string name, std::int64_t rows, std::int64_t columns,
                            Random& random);

  [[nodiscard]] std::int64_t count() const;

  /// Clips the gradient to the global norm `max_norm` (0 = not), takes a step of Adam against it
  /// and clears it. Returns its norm before clipping. Throws Error(invalid_argument) where that, or
  /// what the step leads to, is not finite; then the values are what they were.
  double step(double learning_rate, double max_norm);

  /// The values, one after another, without Adam's state.
  [[nodiscard]] std::vector<float> weights() const;
  /// As many as there are; Adam's state stays.
  void set_weights(std::span<const float> weights);
  /// The gradient in the same order; it is then cleared. Values that have none give zeros.
  void take_gradient(std::vector<float>& out);
  void set_gradient(std::span<const float> gradient);

  /// Values, then Adam's moments and step count.
  [[nodiscard]] std::vector<NamedTensor> tensors() const;
  /// `tensors` of the same names and shapes. Throws std::invalid_argument naming what differs or is
  /// not finite; then nothing has changed.
  void set_tensors(std::span<const NamedTensor> tensors);

 private:
  torch::optim::Adam& adam();

  std::vector<std::string> names_;
  std::vector<torch::Tensor> values_;
  std::unique_ptr<torch::optim::Adam> adam_;  ///< made at the first step
};

}  // namespace berth::learning
