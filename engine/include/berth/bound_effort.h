/// @file
/// How much work a lower bound is worth. Bounds steer no search: they say how good a placement is.
#pragma once

#include <memory>
#include <string_view>

#include "berth/evaluator.h"
#include "berth/export.h"
#include "berth/outcome.h"
#include "berth/policy.h"

namespace berth {

/// For a graph of 10,000 ops a strong one takes about a second, most of it to refute shorter steps. A
/// thorough one shaves too, which takes some seconds more: on graphs of some hundred ops it may find
/// a tenth more, on larger ones little.
enum class BoundEffort { none, quick, strong, thorough };
/// "none", "quick", "strong" or "thorough". Throws Error(invalid_argument) for another name.
[[nodiscard]] BERTH_EXPORT BoundEffort bound_effort_from_name(std::string_view name);
[[nodiscard]] BERTH_EXPORT std::string_view bound_effort_name(BoundEffort effort) noexcept;
/// thorough_lower_bound, strong_lower_bound, lower_bound, or none: 0 us.
[[nodiscard]] BERTH_EXPORT LowerBound lower_bound(const Problem& problem, BoundEffort effort);

/// place (policy.h), with a bound of this effort in the result.
[[nodiscard]] BERTH_EXPORT PlaceResult place(Policy& policy, Evaluator& evaluator,
                                             PlaceContext context, double budget_s,
                                             BoundEffort effort);
/// simulated_outcome (outcome.h), with a bound of this effort.
[[nodiscard]] BERTH_EXPORT Outcome simulated_outcome(std::shared_ptr<const Problem> problem,
                                                     Origin origin, Placement placement,
                                                     BoundEffort effort);

}  // namespace berth
