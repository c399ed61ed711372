// A bandit over units: which ones proposals begin with, by what came of such proposals lately.
#pragma once

#include <cstdint>
#include <vector>

#include "auto/units.h"
#include "berth/sdk/random.h"

namespace berth::policies::auto_policy {

/// Draws units in proportion to what proposals that began with them have gained per simulated op.
/// Most units have had no proposal or one, so the estimate of a unit is drawn to that of its
/// clusters, level by level, and the coarsest ones' to that of all units. What was learned fades.
/// [thread-compatible]
class UnitBandit {
 public:
  explicit UnitBandit(const Units& units);

  void forget();
  /// A proposal that began with `unit` took `ops` simulated ops, > 0, and gained `gain_us` >= 0.
  void learn(UnitId unit, double gain_us, double ops);
  /// One of `movable`, which is the same between two calls of forget; kNoUnit while nothing is known
  /// of any.
  [[nodiscard]] UnitId draw(const std::vector<UnitId>& movable, Random& random);
  static constexpr UnitId kNoUnit = -1;

  /// By unit: gain per simulated op, as far as it is known. All 0 if there was none.
  [[nodiscard]] std::vector<double> rates() const;

 private:
  const Units& units_;
  std::vector<double> gain_us_;  // by unit
  std::vector<double> ops_;      // by unit
  std::vector<double> upto_;     // by movable unit: rates, added up; empty = unknown
  std::int64_t learned_ = 0;
  bool stale_ = false;
};

}  // namespace berth::policies::auto_policy
