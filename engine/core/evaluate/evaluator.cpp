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
  if (bound_ && bound_->cut_short) bound_.reset();
  return bound({});
}

const LowerBound& Evaluator::bound(const std::function<bool()>& should_stop) {
  if (!bound_) bound_ = measures() ? LowerBound{} : strong_lower_bound(problem(), should_stop);
  return *bound_;
}

}  // namespace berth
