// A network all of whose values are Parameters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learning/network_policy.h"
#include "learning/parameters.h"

namespace berth::learning {

class TrainedNetwork : public Network {
 public:
  [[nodiscard]] std::int64_t parameter_count() const override { return parameters.count(); }
  [[nodiscard]] std::vector<NamedTensor> tensors() const override { return parameters.tensors(); }
  void set_tensors(std::span<const NamedTensor> tensors) override {
    parameters.set_tensors(tensors);
  }
  double step(double learning_rate, double max_norm) override {
    return parameters.step(learning_rate, max_norm);
  }
  [[nodiscard]] std::vector<float> weights() const override { return parameters.weights(); }
  void set_weights(std::span<const float> weights) override { parameters.set_weights(weights); }
  void take_gradient(std::vector<float>& out) override { parameters.take_gradient(out); }
  void set_gradient(std::span<const float> gradient) override { parameters.set_gradient(gradient); }

 protected:
  Parameters parameters;
};

}  // namespace berth::learning
