// How often each kind of proposal is made, and which units proposals begin with: what has been
// learned of both within a chain.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "auto/units.h"
#include "berth/sdk/random.h"

namespace berth::policies::auto_policy {

/// How proposals are chosen.
enum class Proposals : std::uint8_t {
  uniform,   ///< kinds in fixed shares, and any unit as often as another
  adaptive,  ///< kinds by how often they improve the placement; half the units limit the objective
  bandit,    ///< kinds and units by what they gain per op that is simulated for them
};

/// What came of a proposal.
struct Outcome {
  bool improved = false;
  double gain_us = 0;  ///< of the energy; below 0 where something worse was accepted
  double ops = 1;      ///< simulated for it; > 0
};

/// Shares of the kinds of proposals. [thread-compatible]
template <std::size_t kKinds>
class KindShares {
 public:
  /// `prior`: improvements in a hundred proposals, as good as measured.
  KindShares(Proposals proposals, const std::array<double, kKinds>& prior)
      : proposals_(proposals), prior_(prior) {
    forget();
  }

  void forget() {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      records_[kind] = {kPriorTried, prior_[kind], 0, 0};
    }
    learned_ = 0;
    share_out();
  }

  [[nodiscard]] std::size_t draw(Random& random) const {
    const double ticket = random.uniform();
    std::size_t kind = 0;
    while (kind + 1 < kKinds && upto_[kind] < ticket) ++kind;
    return kind;
  }

  void learn(std::size_t kind, const Outcome& outcome) {
    if (proposals_ == Proposals::uniform) return;
    Record& record = records_[kind];
    record.tried += 1;
    record.improved += outcome.improved ? 1 : 0;
    record.gain_us += outcome.improved ? outcome.gain_us : 0;
    record.ops += outcome.ops;
    if (++learned_ % kMemory != 0) return;
    share_out();
    for (Record& old : records_) {
      old = {old.tried / 2, old.improved / 2, old.gain_us / 2, old.ops / 2};
    }
  }

 private:
  struct Record {
    double tried, improved, gain_us, ops;
  };
  static constexpr double kPriorTried = 100;
  static constexpr int kMemory = 2048;
  /// No kind is ever given up: what helps changes on the way.
  [[nodiscard]] double least() const { return proposals_ == Proposals::bandit ? 0.005 : 0.03; }

  [[nodiscard]] std::array<double, kKinds> rates() const {
    std::array<double, kKinds> rates;
    if (proposals_ != Proposals::bandit || learned_ == 0) {
      for (std::size_t kind = 0; kind < kKinds; ++kind) {
        rates[kind] = (records_[kind].improved + 0.1) / (records_[kind].tried + 10);
      }
      return rates;
    }
    double gain_us = 0;
    double ops = 0;
    for (const Record& record : records_) {
      gain_us += record.gain_us;
      ops += record.ops;
    }
    // A kind that was hardly tried is taken for an average one.
    constexpr double kPseudo = 20.0 / kMemory;
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      rates[kind] = (records_[kind].gain_us + kPseudo * gain_us + 1e-12) /
                    (records_[kind].ops + kPseudo * ops);
    }
    return rates;
  }

  void share_out() {
    const std::array<double, kKinds> rates = this->rates();
    double sum = 0;
    for (const double rate : rates) sum += rate;
    double upto = 0;
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      upto += least() + (1 - least() * double{kKinds}) * rates[kind] / sum;
      upto_[kind] = upto;
    }
  }

  Proposals proposals_;
  std::array<double, kKinds> prior_;
  std::array<Record, kKinds> records_;
  std::array<double, kKinds> upto_;  // shares, added up
  int learned_ = 0;
};

}  // namespace berth::policies::auto_policy
