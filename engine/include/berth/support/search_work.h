/// @file
/// How much work a search has done, in units that all policies share.
#pragma once

#include <cstdint>

namespace berth {

struct SearchWork {
  /// Placements that were judged, in full or by what a move changes: their figures were obtained,
  /// or it was shown that they are no better than a limit. Estimates of a smaller problem are none.
  std::int64_t evaluations = 0;
  /// Ops whose run was simulated for that and for estimates (throughput: whose loads were summed).
  std::int64_t simulated_ops = 0;

  SearchWork& operator+=(const SearchWork& other) noexcept {
    evaluations += other.evaluations;
    simulated_ops += other.simulated_ops;
    return *this;
  }
};

}  // namespace berth
