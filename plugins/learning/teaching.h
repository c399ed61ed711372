// Which of an update's samples teach.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>

namespace berth::learning {

/// Those whose advantage is not 0; where the entropy counts, all. Where the best alone teach, few are:
/// sampling takes a fraction of the time of learning, so that leaving the rest out allows more samples. The
/// entropy needs all of them: estimated from those that teach it did worse (`hdp` on chains of ops, and a
/// policy that is certain of one placement gets away from it by its entropy alone). [thread-safe: immutable]
class Teaching {
 public:
  /// Teaches by the first `samples` advantages, one per sample.
  Teaching(std::span<const double> advantages, std::int64_t samples, double entropy_weight);

  [[nodiscard]] std::int64_t count() const noexcept { return advantages_.size(0); }
  /// [count] single precision.
  [[nodiscard]] const torch::Tensor& advantages() const noexcept { return advantages_; }
  /// The part of `values`, whose axis `axis` is the samples.
  [[nodiscard]] torch::Tensor of(const torch::Tensor& values, std::int64_t axis) const;

 private:
  torch::Tensor rows_;  ///< undefined: all
  torch::Tensor advantages_;
};

}  // namespace berth::learning
