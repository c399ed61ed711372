#include "berth/evaluator.h"

#include "berth/bounds.h"

namespace berth {

Evaluator::~Evaluator() = default;
PlacementSequence::~PlacementSequence() = default;
SuccessiveEvaluator::~SuccessiveEvaluator() = default;

Evaluation Evaluator::evaluate(const Placement& placement) {
  Evaluation evaluation;
  evaluate(std::span(&placement, 1), std::span(&evaluation, 1));
  return evaluation;
}

const LowerBound& Evaluator::bound() {
  if (!bound_) bound_ = measures() ? LowerBound{} : strong_lower_bound(problem());
  return *bound_;
}

}  // namespace berth
