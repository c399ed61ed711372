// Finds a good placement to start the search from: the better it is, the more the bounds cut off.
#pragma once

#include <cstdint>

#include "berth/evaluator.h"
#include "berth/policy.h"
#include "exact/search.h"

namespace berth::policies::exact {

struct LocalLimits {
  std::int64_t evaluations;  ///< placements to try
  double enough_us;          ///< nothing is looked for below it
};

/// Moves single groups while that helps. It starts from the context's initial placements (a group
/// whose ops are apart there goes where its first op is), then from contiguous parts of an order
/// along paths for each number of devices, then from random changes of the best so far. It ends at a
/// limit or when the context says stop. Returns no placement if none that it tried was feasible.
[[nodiscard]] Incumbent local_search(const ExactModel& model, Evaluator& evaluator,
                                     const LocalLimits& limits, const PlaceContext& context);

}  // namespace berth::policies::exact
