// Chains of annealing side by side.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "auto/annealer.h"

namespace berth::policies::auto_policy {

struct Task {
  Solution start;
  std::vector<Annealer::Schedule> stages;  ///< one after the other, each from the best so far
  std::uint64_t seed;
};

struct Result {
  Solution best;
  std::vector<std::int64_t> moves;  ///< that were made, by stage
};

/// Runs tasks on a fixed number of threads; the results do not depend on it.
/// [thread-compatible]
class Team {
 public:
  /// `threads` >= 1, the caller's included.
  Team(const std::shared_ptr<const Simulator>& simulator, std::span<const Grain> grains,
       const Structure& structure, int threads);

  /// One result per task. `should_stop` is asked by the calling thread only; tasks then end early.
  [[nodiscard]] std::vector<Result> run(std::span<const Task> tasks,
                                        const std::function<bool()>& should_stop);

  [[nodiscard]] SearchWork work() const noexcept;

 private:
  std::vector<std::unique_ptr<Annealer>> annealers_;  // one per thread
};

}  // namespace berth::policies::auto_policy
