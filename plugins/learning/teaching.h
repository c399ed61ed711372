// Which of an update's samples teach.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>

namespace berth::learning {

/// Samples whose advantage is not 0. Where the best of them alone teach, most are: sampling takes a
/// fraction of the time of learning, so that leaving these out allows more samples. [thread-safe: immutable]
class Teaching {
 public:
  /// Of the first `samples` advantages, one per sample.
  Teaching(std::span<const double> advantages, std::int64_t samples);

  [[nodiscard]] std::int64_t count() const noexcept { return advantages_.size(0); }
  /// [count] single precision.
  [[nodiscard]] const torch::Tensor& advantages() const noexcept { return advantages_; }
  /// All samples for each of these: what is summed over these times this estimates the sum over all.
  [[nodiscard]] double share() const noexcept { return share_; }
  /// The part of `values`, whose axis `axis` is the samples.
  [[nodiscard]] torch::Tensor of(const torch::Tensor& values, std::int64_t axis) const;

 private:
  torch::Tensor rows_;  ///< undefined: all
  torch::Tensor advantages_;
  double share_ = 1;
};

}  // namespace berth::learning
