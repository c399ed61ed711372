// The placer of Mirhoseini et al., "Device Placement Optimization with Reinforcement Learning",
// ICML 2017, which their hierarchical successor (ICLR 2018) shares. A bidirectional LSTM reads the
// groups. An LSTM with attention places them one after the other; its input is the device of the
// group before. What the papers leave out follows TensorFlow's hierarchical_controller.py.
//
//   types, shapes, neighbours -> embedding -> encoder -> keys --------+
//                                               |                     v
//                        device before -> LSTM cell -> query -> attention -> context -> logits
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "berth/sdk/random.h"
#include "learning/group_features.h"
#include "learning/parameters.h"

namespace berth::learning {

struct PlacerShape {
  std::int64_t vocabulary = 0;  ///< embeddings of op types
  std::int64_t capacity = 0;    ///< groups that a sequence may have
  std::int64_t devices = 0;
  std::int64_t hidden = 256;  ///< of the decoder, and of the encoder's two directions together; a
                              ///< multiple of 16
  double temperature = 10;    ///< logits are divided by it, > 0
  double tanh_constant = 5;   ///< C of C * tanh(logits), >= 0; 0 = unbounded
  /// The cell also sees what the encoder made of the group that it places.
  bool aligned = true;
  /// Logarithm of the odds, where nothing else is known, that a group goes to the device of the
  /// group before rather than to any other, >= 0: a weight that is learned from there on.
  /// Placements then begin as a few runs of the sequence rather than as a device for each group by
  /// itself. 0 = there is no such weight, as published.
  double persistence = 0;
};

struct PlacerDraws {
  std::int64_t samples = 1;
  bool greedy = false;
  double epsilon = 0;  ///< as RolloutOptions; neither changes the probabilities that are told
  double noise = 0;    ///< as RolloutOptions
  /// As RolloutOptions, asked at every group: true throws Ended. May be empty.
  std::function<bool()> should_stop = {};
};

/// Placements of one sequence.
struct PlacerSamples {
  torch::Tensor devices;                ///< [length, samples] int64
  std::vector<double> log_probability;  ///< [samples] of the whole placement
  std::vector<double> entropy;          ///< [samples] summed over the groups
};

/// [thread-compatible; uses several threads inside]
class Placer {
 public:
  /// Adds its values to `parameters`, which must outlive it.
  Placer(const PlacerShape& shape, Parameters& parameters, Random& random);

  [[nodiscard]] const PlacerShape& shape() const { return shape_; }

  /// All samples together; each draws from a generator of its own, split from `random`.
  [[nodiscard]] PlacerSamples sample(const Sequence& sequence, const PlacerDraws& draws,
                                     Random& random) const;

  struct Scores {
    torch::Tensor log_probability;  ///< [samples], differentiable
    torch::Tensor entropy;          ///< [samples], differentiable
  };
  /// Scores placements as `sample` gave them, under the weights as they are now.
  [[nodiscard]] Scores score(const Sequence& sequence, const torch::Tensor& devices) const;

 private:
  struct Encoded;
  [[nodiscard]] Encoded encode(const Sequence& sequence, std::int64_t samples) const;
  [[nodiscard]] torch::Tensor bound(const torch::Tensor& logits) const;

  PlacerShape shape_;
  struct Direction {
    torch::Tensor input, recurrent, bias;
  };
  torch::Tensor type_table_, input_table_, output_table_;
  Direction forward_, backward_, decoder_;
  torch::Tensor aligned_;
  torch::Tensor device_table_;  ///< the last row stands before the first group
  torch::Tensor key_, query_, score_;
  torch::Tensor logits_hidden_, logits_context_, logits_bias_;
  torch::Tensor persistence_;  ///< [1], undefined if there is none
};

}  // namespace berth::learning
