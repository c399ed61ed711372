/// @file
/// Lower bounds that are worth a wait.
#pragma once

#include <vector>

#include "berth/evaluator.h"
#include "berth/export.h"

namespace berth {

/// lower_bounds, and the longest step that a binary search over its length refutes (latency only).
/// Takes up to some seconds for graphs of ten thousand ops and more; the same bounds whatever the
/// time it takes. Largest first.
[[nodiscard]] BERTH_EXPORT std::vector<LowerBound> strong_lower_bounds(const Problem& problem);
/// The largest of them.
[[nodiscard]] BERTH_EXPORT LowerBound strong_lower_bound(const Problem& problem);

}  // namespace berth
