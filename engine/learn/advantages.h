#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "berth/sdk/learning.h"

namespace berth {

/// The advantages of an update's samples: returns of every decision less their baseline. By step, the
/// sample itself is left out of its baseline, so that the estimate stays unbiased; Placeto's
/// released code includes it. Not safe for concurrent calls: it keeps what updates before gained.
class Advantages {
 public:
  /// `options` are kept and must outlive this.
  explicit Advantages(const RefineOptions& options);

  /// One for every decision of every episode, in their order. Valid until the next call.
  const std::vector<double>& of(const Rollout& rollout);
  /// The returns of the last call, without a baseline, in the same order.
  [[nodiscard]] const std::vector<double>& returns() const { return returns_; }

 private:
  /// Sums of returns over the samples of an update that began alike.
  struct Sums {
    std::uint64_t start;
    std::size_t samples;
    std::vector<double> by_step;
  };

  static Sums& sums_of(std::vector<Sums>& all, std::uint64_t start, std::size_t steps);

  void by_step(const Rollout& rollout);
  void against_average(const Rollout& rollout);
  void against_next_best(const Rollout& rollout);
  void subtract_baseline(const Rollout& rollout, const std::vector<Sums>& now, std::size_t steps);
  void normalise();

  const RefineOptions& options_;
  std::deque<std::vector<Sums>> past_;
  double average_;  ///< cost of the samples of updates before
  std::int64_t updates_ = 0;
  std::vector<double> values_, returns_;
};

}  // namespace berth
