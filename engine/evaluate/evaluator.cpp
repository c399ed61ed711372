#include "berth/evaluator.h"

namespace berth {

Evaluator::~Evaluator() = default;
PlacementSequence::~PlacementSequence() = default;
SuccessiveEvaluator::~SuccessiveEvaluator() = default;

Evaluation Evaluator::evaluate(const Placement& placement) {
  Evaluation evaluation;
  evaluate(std::span(&placement, 1), std::span(&evaluation, 1));
  return evaluation;
}

}  // namespace berth
