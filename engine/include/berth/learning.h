// Policies with weights: sampling placements, learning from their measurements, saving.
//
// One update of REINFORCE, whoever writes the loop:
//
//   policy.rollout(evaluators, options, rollout);   // sample and measure
//   advantages = ...rollout.evaluation(e, t)...     // reward, return, baseline: the caller's
//   policy.update(rollout, advantages, {lr, entropy});
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/environment.h"
#include "berth/evaluator.h"
#include "berth/export.h"
#include "berth/policy.h"

namespace berth {

struct RolloutOptions {
  int samples = 1;      ///< episodes per problem, >= 1
  bool greedy = false;  ///< the most likely device at every decision instead of a draw
  std::uint64_t seed = 0;
  /// Chance that a decision is drawn uniformly instead (epsilon-greedy; A2.6), 0 to 1.
  double epsilon = 0;
  /// Policies with a network over sequences: Gaussian noise on the logits, with this many times
  /// their root mean square as its standard deviation (C1), >= 0.
  double noise = 0;
  /// Policies that place one group per step: the order of visits.
  Traversal traversal = Traversal::topological;
  /// ... and where episodes start, per problem a list; sample i of a problem starts from entry
  /// i mod size. Empty = drawn uniformly for every episode.
  std::vector<std::vector<GroupPlacement>> initial;
};

/// Sampled decisions with their measurements. Reused from call to call: nothing is allocated once
/// warm. Filled by a policy, read by whoever computes rewards.
class BERTH_EXPORT Rollout {
 public:
  struct Episode {
    std::size_t problem = 0;  ///< index into the evaluators of the call
    /// Measured decisions. A policy that decides a whole placement at once has one; its
    /// probability is that of all that was drawn for it.
    std::int32_t steps = 0;
    std::int32_t measured = 0;  ///< placements that were measured for this episode alone
    /// [0, steps]: before the first, and after each. Where nothing is placed before the first: of
    /// the best single device, or of the zero placement where none holds everything.
    std::vector<Evaluation> evaluations;
    /// [steps] of what was chosen, by the policy itself: without epsilon and noise.
    std::vector<double> log_probability;
    std::vector<double> entropy;  ///< [steps] of the policy's distribution
    Placement best;               ///< by objective among feasible ones, else by excess
    Evaluation best_evaluation;
    Placement last;
  };

  std::vector<Episode> episodes;
  /// What the policy needs to learn from this rollout.
  std::shared_ptr<void> tape;
};

struct UpdateOptions {
  double learning_rate = 1e-3;
  double entropy_weight = 0;  ///< beta of A2.3
  double max_norm = 1.25;     ///< the global L2 norm of the gradient is clipped to it; 0 = not
};

struct UpdateReport {
  double loss = 0;           ///< the sum that was differentiated
  double entropy = 0;        ///< mean over decisions
  double gradient_norm = 0;  ///< before clipping
};

/// A policy that learns. [thread-compatible; uses several threads inside]
class BERTH_EXPORT LearnedPolicy : public Policy {
 public:
  ~LearnedPolicy() override;

  /// Samples `options.samples` episodes for each problem, all together. Same weights, problems and
  /// options: same rollout, on any number of threads. Throws Error(unsupported) for a problem this
  /// policy cannot serve (another number of devices than its weights are for, ...).
  virtual void rollout(std::span<Evaluator* const> evaluators, const RolloutOptions& options,
                       Rollout& out) = 0;

  /// One step of Adam along sum over decisions of `advantage * log pi + entropy_weight * H`, with
  /// gradients summed, not averaged (A2.3, F-11). `advantages`: every decision of every episode, in
  /// order. Throws Error(invalid_argument) where their number is wrong or one is not finite; then
  /// nothing has changed.
  virtual UpdateReport update(const Rollout& rollout, std::span<const double> advantages,
                              const UpdateOptions& options) = 0;

  /// Everything learned, the optimiser's state and `note` (the caller's own state, any text):
  /// training resumed from it continues bit for bit. The file is written whole or not at all.
  virtual void save(const std::filesystem::path& file, const std::string& note) const = 0;
  /// Returns the note. Throws Error naming the file and what is wrong with it (truncated, of
  /// another policy or version, of other options); then nothing has changed.
  virtual std::string load(const std::filesystem::path& file) = 0;

  /// Number of trained values.
  [[nodiscard]] virtual std::int64_t parameter_count() const = 0;
};

}  // namespace berth
