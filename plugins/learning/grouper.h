// Divides units into groups, where that is learned too.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "berth/sdk/random.h"
#include "learning/group_features.h"
#include "learning/parameters.h"

namespace berth::learning {

/// A network that gives every unit a group, all independently. [thread-compatible]
class Grouper {
 public:
  virtual ~Grouper() = default;
  /// Features of the units, [units, width]; made once per problem.
  [[nodiscard]] virtual torch::Tensor features(const Problem& problem,
                                               const Units& units) const = 0;
  /// log pi [units, groups], differentiable.
  [[nodiscard]] virtual torch::Tensor log_policy(const torch::Tensor& features) const = 0;
};

/// Makes a grouper for sequences of at most `capacity` groups, with its values in `parameters`.
using GrouperMaker = std::function<std::unique_ptr<Grouper>(
    const Vocabulary& vocabulary, std::int64_t capacity, Parameters& parameters, Random& random)>;

}  // namespace berth::learning
