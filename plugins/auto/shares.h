// How often each kind of proposal is made: what a chain has learned so far.
//
// A choice of kinds and units by gain per simulated op, and one without regard to success, gave the same steps as this
// one on 170 pairs of graph and seed (scripts/experiments/results/guide.md).
#pragma once

#include <array>
#include <cstddef>

#include "berth/sdk/random.h"

namespace berth::policies::auto_policy {

/// Shares of the kinds of proposals, by how often they improve the placement. [thread-compatible]
template <std::size_t kKinds>
class KindShares {
 public:
  /// `prior`: improvements in a hundred proposals, as good as measured.
  explicit KindShares(const std::array<double, kKinds>& prior) : prior_(prior) { forget(); }

  void forget() {
    for (std::size_t kind = 0; kind < kKinds; ++kind) records_[kind] = {kPriorTried, prior_[kind]};
    learned_ = 0;
    share_out();
  }

  [[nodiscard]] std::size_t draw(Random& random) const {
    const double ticket = random.uniform();
    std::size_t kind = 0;
    while (kind + 1 < kKinds && upto_[kind] < ticket) ++kind;
    return kind;
  }

  void learn(std::size_t kind, bool improved) {
    records_[kind].tried += 1;
    records_[kind].improved += improved ? 1 : 0;
    if (++learned_ % kMemory != 0) return;
    share_out();
    for (Record& old : records_) old = {old.tried / 2, old.improved / 2};
  }

 private:
  struct Record {
    double tried, improved;
  };
  static constexpr double kPriorTried = 100;
  static constexpr int kMemory = 2048;
  /// No kind is ever given up: what helps changes on the way.
  static constexpr double kLeast = 0.03;

  void share_out() {
    std::array<double, kKinds> rates;
    double sum = 0;
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      rates[kind] = (records_[kind].improved + 0.1) / (records_[kind].tried + 10);
      sum += rates[kind];
    }
    double upto = 0;
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      upto += kLeast + (1 - kLeast * double{kKinds}) * rates[kind] / sum;
      upto_[kind] = upto;
    }
  }

  std::array<double, kKinds> prior_;
  std::array<Record, kKinds> records_;
  std::array<double, kKinds> upto_;  // shares, added up
  int learned_ = 0;
};

}  // namespace berth::policies::auto_policy
