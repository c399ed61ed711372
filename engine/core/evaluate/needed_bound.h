// The bound that says how good a placement is.
#pragma once

#include <functional>

#include "berth/bound_effort.h"
#include "berth/bounds.h"
#include "berth/evaluator.h"

namespace berth {

/// Sums in different orders apart, `evaluation` is as low as the bound.
[[nodiscard]] bool reaches(const Evaluation& evaluation, const LowerBound& bound);

/// A bound of this effort, or the quick one where that proves already that no placement is better.
/// The strong one is the evaluator's, who keeps it. 0 us if runtimes are measured.
[[nodiscard]] LowerBound needed_bound(Evaluator& evaluator, const Evaluation& evaluation,
                                      BoundEffort effort,
                                      const std::function<bool()>& should_stop = {});

}  // namespace berth
