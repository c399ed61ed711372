// The two policies of DOPPLER (Yao et al., ICLR 2026): SEL chooses the next group among those whose
// inputs are placed, PLC its device.
//
// Published: a message-passing network over the graph, run once per episode, for each of the two; SEL
// sees a group's embedding with those of the critical paths to and from it, PLC the group's with the
// sum over the groups on each device and features of the device; 128 and 64 units, six rounds. Here
// both share one network over the graph, messages are means over parents and over children, paths and
// devices are means, and both heads also see their plainest features directly.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "learning/trained_network.h"
#include "problem_view.h"

namespace berth::doppler {

/// The values of a tensor of single precision, row by row.
[[nodiscard]] std::vector<float> floats(const torch::Tensor& tensor);

struct NetworkShape {
  std::int64_t hidden = 64;  ///< width of a group's embedding
  std::int64_t head = 32;    ///< width of the heads' hidden layers
  std::int64_t rounds = 6;   ///< of message passing
};

/// Outputs of the graph's network for all episodes of a problem.
struct Encoded {
  torch::Tensor select;  ///< [groups] SEL's logits
  torch::Tensor
      own;  ///< [groups, head] what a group brings to PLC's hidden layer as the one to place
  torch::Tensor held;  ///< [groups, head] and as one that a device holds, in their mean
};

/// Episodes of one problem, as they were played: what they saw and did. T = groups.
struct Played {
  torch::Tensor order;     ///< [episodes, T] int64: the groups, in the order of selection
  torch::Tensor device;    ///< [episodes, T] int64, by step
  torch::Tensor ready;     ///< [episodes, T, groups] 1 for what SEL chose among
  torch::Tensor features;  ///< [episodes, T, devices, kDeviceFeatures]
};

struct Scores {
  torch::Tensor log_probability;  ///< [episodes] of all choices
  torch::Tensor entropy;          ///< [episodes] summed over decisions, in nats
};

class Network final : public learning::TrainedNetwork {
 public:
  Network(const NetworkShape& shape, std::uint64_t seed);

  [[nodiscard]] const NetworkShape& shape() const { return shape_; }
  [[nodiscard]] Encoded encode(const ProblemView& view) const;
  /// How likely the choices `selected` and `placed` [episodes, T] were in the states of `played`. Of a
  /// group that PLC placed, `selected` may name another one: what a teacher would have selected.
  [[nodiscard]] Scores score(const ProblemView& view, const Encoded& encoded, const Played& played,
                             const torch::Tensor& selected, const torch::Tensor& placed) const;
  /// Adds the gradient of the sum of `loss(scores, first)` over parts of the episodes of `played`, of which
  /// `first` is the number of the first one in the part. Parts are as large as memory bears: what PLC computes grows
  /// with episodes, groups and devices. Returns the sum.
  double learn(const ProblemView& view, const Played& played, const torch::Tensor& selected,
               const torch::Tensor& placed,
               const std::function<torch::Tensor(const Scores&, std::int64_t first)>& loss,
               const std::function<void()>& check) const;

  /// PLC's head on plain floats, for sampling.
  struct Head {
    std::vector<float> from_features;  ///< [kDeviceFeatures, head]
    std::vector<float> bias, last;     ///< [head]
    std::vector<float> direct;         ///< [kDeviceFeatures]
  };
  [[nodiscard]] Head head() const;

 private:
  NetworkShape shape_;
  torch::Tensor input_, input_bias_, self_, parents_, children_, round_bias_;
  torch::Tensor select_, select_bias_, select_last_, select_direct_;
  torch::Tensor own_, held_, from_features_, place_bias_, place_last_, place_direct_;
};

/// The slope of all rectifiers below 0, as published.
inline constexpr double kSlope = 0.1;
/// The longest path to a sink is given to SEL directly, times so much: ready groups differ little in it.
inline constexpr double kTailScale = 32;
/// C of C * tanh(logit / C): e^(2 C) is within single precision.
inline constexpr double kSelectBound = 40;

}  // namespace berth::doppler
