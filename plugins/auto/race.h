// The rounds of a race among starts, by successive halving (Karnin, Koren, Somekh, ICML 2013).
#pragma once

#include <cstddef>
#include <vector>

namespace berth::policies::auto_policy {

struct Round {
  std::size_t runners;
  /// Share of the rest of the search when the round begins. A round that takes longer than it was to
  /// makes the later ones shorter, and hardly the race longer.
  double share;

  [[nodiscard]] std::size_t survivors() const noexcept { return (runners + 1) / 2; }
  [[nodiscard]] bool last() const noexcept { return survivors() == 1; }
};

/// Rounds of equal length that leave one of `runners`, and that take `share` of the search together.
/// None for fewer than two. Requires 0 <= share < 1.
[[nodiscard]] std::vector<Round> rounds_of_race(std::size_t runners, double share);

}  // namespace berth::policies::auto_policy
