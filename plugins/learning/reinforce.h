// What a learned policy does with one problem when asked for a placement: greedy passes, and, where
// updates are allowed, REINFORCE on that very problem. Training with rewards and schedules of one's
// own is Lua's (scripts/berth/train.lua).
#pragma once

#include "berth/learning.h"

namespace berth::learning {

struct RefineOptions {
  int passes = 4;            ///< greedy passes at most, each from where the last one ended
  std::int64_t updates = 0;  ///< of the weights
  int samples = 16;          ///< episodes per update
  double learning_rate = 3e-3;
  double entropy = 0;
};

/// The best placement seen, those of PlaceContext::initial among them: by objective among those
/// that fit in memory. Greedy passes start from the best single device (where none holds
/// everything, from one device after another) and go on from the best so far; with updates they are
/// made again at the end. should_stop is asked at least once per pass. The reward of a decision is
/// the decrease of the logarithm of the cost. Its baseline is the mean at the same step over the
/// other samples and the updates before. Both follow Placeto (Addanki et al., NeurIPS 2019, section
/// on training), whose released code can take the logarithm. Discounted and normalised advantages
/// are not part of the published method.
[[nodiscard]] Placement refine(LearnedPolicy& policy, Evaluator& evaluator,
                               const PlaceContext& context, const RefineOptions& options);

}  // namespace berth::learning
