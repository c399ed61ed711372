/// @file
/// How much work a lower bound is worth. Bounds steer no search: they say how good a placement is.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "berth/evaluator.h"
#include "berth/export.h"
#include "berth/outcome.h"
#include "berth/policy.h"

namespace berth {

/// A strong bound takes about a second for a graph of 10,000 ops, most of it to refute shorter steps.
enum class BoundEffort { none, quick, strong };
/// "none", "quick" or "strong". Throws Error(invalid_argument) for another name.
[[nodiscard]] BERTH_EXPORT BoundEffort bound_effort_from_name(std::string_view name);
[[nodiscard]] BERTH_EXPORT std::string_view bound_effort_name(BoundEffort effort) noexcept;
/// strong_lower_bound, which alone may be told to stop, lower_bound, or 0 us for none.
[[nodiscard]] BERTH_EXPORT LowerBound lower_bound(const Problem& problem, BoundEffort effort,
                                                  const std::function<bool()>& should_stop = {});
/// When to end the bound of what a search of this budget found: where `asked` says so (empty = never),
/// and from now on after the budget's time, or a second if that is longer.
[[nodiscard]] BERTH_EXPORT std::function<bool()> bound_stop(std::function<bool()> asked,
                                                            double budget_s);

/// place (policy.h), with a bound of this effort in the result.
[[nodiscard]] BERTH_EXPORT PlaceResult place(Policy& policy, Evaluator& evaluator,
                                             PlaceContext context, double budget_s,
                                             BoundEffort effort);
/// simulated_outcome (outcome.h), with a bound of this effort.
[[nodiscard]] BERTH_EXPORT Outcome simulated_outcome(std::shared_ptr<const Problem> problem,
                                                     Origin origin, Placement placement,
                                                     BoundEffort effort);

}  // namespace berth
