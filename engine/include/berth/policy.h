#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/evaluator.h"
#include "berth/export.h"
#include "berth/options.h"
#include "berth/problem.h"

namespace berth {

/// What a policy is given beside the problem and the evaluator.
struct PlaceContext {
  std::uint64_t seed = 0;  ///< the only source of randomness
  /// Asked now and then by policies that search; true = return the best so far, now. Covers both
  /// the time budget and Ctrl-C. Never empty when a policy is called through `place`.
  std::function<bool()> should_stop;
  /// The whole time budget, for policies that plan ahead; infinity = none, so that a policy that
  /// could search for ever needs an end of its own. should_stop says when it is over. Set by
  /// `place`.
  double budget_s = std::numeric_limits<double>::infinity();
  /// Placements to start from, such as the samples of another policy; a policy may ignore them.
  /// Each is valid (Problem::validate); whether it fits in memory is open.
  std::vector<Placement> initial;
  /// Where the policy stands: the best objective so far and a short text. May be empty.
  std::function<void(double best_us, const std::string& text)> progress;
  /// Written by a policy that proves one: a lower bound of the objective over all feasible
  /// placements (of ops, not of its groups), and by what argument. 0 = none. `place` reports it
  /// where it is larger than those it knows.
  LowerBound proven;
};

class Policy;

/// Makes an installed policy by name, as Engine::make_policy does and with its errors: not_found
/// for a name that is not installed. [thread-safe]
using PolicyMaker =
    std::function<std::unique_ptr<Policy>(std::string_view name, const OptionTexts& options)>;

/// Finds a placement. [thread-compatible]
class BERTH_EXPORT Policy {
 public:
  virtual ~Policy();

  /// Hands over the means to run other policies; Engine::make_policy calls it once on every policy
  /// it makes. The default ignores it. `make` may be kept as long as the policy lives.
  virtual void use_policies(PolicyMaker make);

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
/// its contract gives an Error naming it; proving a bound above what it returns breaks it too.
/// `budget_s` infinity = none; should_stop of `context` is wrapped so that it also covers the
/// budget. Placements of `context.initial` are validated first.
[[nodiscard]] BERTH_EXPORT PlaceResult place(Policy& policy, Evaluator& evaluator,
                                             PlaceContext context, double budget_s);

}  // namespace berth
