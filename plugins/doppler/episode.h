// Episodes of DOPPLER: a group is selected among those whose inputs are placed, then gets its device,
// until all have one. The states that the policies see are those of a list schedule in that order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "berth/sdk/random.h"
#include "network.h"
#include "problem_view.h"

namespace berth::doppler {

struct EpisodeOptions {
  bool greedy = false;
  double epsilon = 0;    ///< of a uniform choice instead, in both decisions
  bool teacher = false;  ///< the critical-path heuristic plays, but for `epsilon`
};

/// One episode, written to the rows of `index` in a Played; see there. [thread-compatible]
class Player {
 public:
  /// References are kept.
  Player(const ProblemView& view, const Encoded& encoded, const Network::Head& head,
         Played& played);

  struct Outcome {
    GroupPlacement placement;
    double log_probability = 0;  ///< of all choices under the policies, without epsilon
    double entropy = 0;          ///< summed over decisions, in nats
    /// The teacher's choice in every state: the ready group with the longest path to a
    /// sink, and the device where the group that was selected ends first.
    std::vector<std::int64_t> taught_group, taught_device;
  };
  /// `check` is called now and then; it may throw to end the episode.
  Outcome play(std::int64_t index, const EpisodeOptions& options, Random& random,
               const std::function<void()>& check);

 private:
  struct State;
  void observe(State& state, GroupId group, float* features) const;
  void log_policy(const State& state, GroupId group, const float* features, float* log_pi) const;

  const ProblemView& view_;
  const Network::Head& head_;
  Played& played_;
  std::vector<float> select_, own_, held_;
};

/// Room for so many episodes.
[[nodiscard]] Played make_played(const ProblemView& view, std::int64_t episodes);

}  // namespace berth::doppler
