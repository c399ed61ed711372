// What a learned policy does with one problem when asked for a placement: greedy passes, and, where
// updates are allowed, REINFORCE on that very problem. Training with rewards and schedules of one's
// own is Lua's (scripts/berth/train.lua).
#pragma once

#include "berth/learning.h"

namespace berth::learning {

struct RefineOptions {
  int passes = 4;            ///< greedy passes at most, each from where the last one ended
  std::int64_t updates = 0;  ///< of the weights
  int samples = 8;           ///< episodes per update
  double learning_rate = 1e-3;
  double entropy = 0;
};

/// The best placement seen: by objective among those that fit in memory. It starts from the best
/// single device (where none holds everything, from one device after another) and takes at least
/// one look at should_stop per pass. The reward of a decision is by how much it lowers the
/// logarithm of the cost (A2.1 with F-12), its baseline the mean at the same step over the other
/// samples and the updates before (A2.4).
[[nodiscard]] Placement refine(LearnedPolicy& policy, Evaluator& evaluator, PlaceContext& context,
                               const RefineOptions& options);

}  // namespace berth::learning
