#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "berth/evaluator.h"
#include "berth/export.h"
#include "berth/problem.h"

namespace berth {

/// What a policy is given beside the problem and the evaluator.
struct PlaceContext {
  std::uint64_t seed = 0;  ///< the only source of randomness
  /// Asked now and then by policies that search; true = return the best so far, now. Covers both
  /// the time budget and Ctrl-C. Never empty when a policy is called through `place`.
  std::function<bool()> should_stop;
  /// Where the policy stands: the best objective so far and a short text. May be empty.
  std::function<void(double best_us, const std::string& text)> progress;
};

/// Finds a placement. [thread-compatible]
class BERTH_EXPORT Policy {
 public:
  virtual ~Policy();

  /// A placement that Problem::validate accepts: one device per op, kinds and co-location kept. It
  /// fits in memory where the policy can see to that; where the policy knows that nothing it can
  /// produce fits, it throws Error(infeasible) saying what is short. Same problem, options and
  /// seed: same placement, on any number of threads.
  virtual Placement place(const Problem& problem, Evaluator& evaluator, PlaceContext& context) = 0;
};

/// A placement with everything a person asks of it next.
struct PlaceResult {
  Placement placement;
  Evaluation evaluation;
  SingleDevice best_single;  ///< always evaluated, for comparison
  LowerBound bound;
  std::int64_t evaluations = 0;  ///< placements the policy had evaluated
  double wall_s = 0;

  /// objective / bound - 1; 0 is proven optimal. Infinity where the bound is 0.
  [[nodiscard]] double gap() const noexcept {
    return bound.us > 0 ? evaluation.objective_us / bound.us - 1
                        : std::numeric_limits<double>::infinity();
  }
};

/// Runs `policy`, checks what it returns (Problem::validate) and measures it. A policy that breaks
/// its contract gives an Error naming it. `budget_s` infinity = none; should_stop of `context` is
/// wrapped so that it also covers the budget.
[[nodiscard]] BERTH_EXPORT PlaceResult place(Policy& policy, Evaluator& evaluator,
                                             PlaceContext context, double budget_s);

}  // namespace berth
