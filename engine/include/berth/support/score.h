/// @file
/// How good a placement is, in the two figures by which searches rank placements.
#pragma once

#include <cstdint>

namespace berth {

/// The objective of a placement, and by how much the device that exceeds its memory by most does.
struct Score {
  double objective_us = 0;
  std::int64_t excess_bytes = 0;  ///< 0 = everything fits

  friend bool operator==(const Score&, const Score&) = default;
};

/// Whether `a` ranks before `b`: the smaller excess first, then the smaller objective.
[[nodiscard]] inline bool better(const Score& a, const Score& b) noexcept {
  if (a.excess_bytes != b.excess_bytes) return a.excess_bytes < b.excess_bytes;
  return a.objective_us < b.objective_us;
}

}  // namespace berth
