#include "evaluate/needed_bound.h"

namespace berth {

bool reaches(const Evaluation& evaluation, const LowerBound& bound) {
  constexpr double kRounding = 1e-9;
  return evaluation.feasible && evaluation.objective_us <= bound.us * (1 + kRounding);
}

LowerBound needed_bound(Evaluator& evaluator, const Evaluation& evaluation, BoundEffort effort,
                        const std::function<bool()>& should_stop) {
  if (evaluator.measures() || effort == BoundEffort::none) return {};
  LowerBound quick = lower_bound(evaluator.problem());
  if (effort == BoundEffort::quick || reaches(evaluation, quick)) return quick;
  return evaluator.bound(should_stop);
}

}  // namespace berth
