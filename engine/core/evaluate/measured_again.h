// Measured placements are measured again before one of them is the answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "berth/evaluator.h"
#include "berth/policy.h"

namespace berth {

/// The evaluator of a search that measures: keeps the best few of what it is asked for.
class Finalists final : public Evaluator {
 public:
  explicit Finalists(Evaluator& evaluator) : evaluator_(evaluator) {}

  const Problem& problem() const noexcept override { return evaluator_.problem(); }
  bool measures() const noexcept override { return evaluator_.measures(); }
  std::int64_t evaluations() const noexcept override { return evaluator_.evaluations(); }
  std::int64_t simulated_ops() const noexcept override { return evaluator_.simulated_ops(); }
  SuccessiveEvaluator* successive() noexcept override { return evaluator_.successive(); }
  using Evaluator::evaluate;
  void evaluate(std::span<const Placement> placements, std::span<Evaluation> out) override;

  /// Valid placements that fit, no two alike, the best first. Empty where the search measured fewer than
  /// two: it chose by other means.
  [[nodiscard]] std::vector<Placement> best() const;

 private:
  struct Seen {
    Placement placement;
    std::vector<double> us;  ///< as often as it was measured
    double median_us = 0;
  };
  void note(const Placement& placement, const Evaluation& evaluation);

  Evaluator& evaluator_;
  std::vector<Seen> seen_;  ///< the best first
  Placement first_;
  bool several_ = false;
};

/// Measures a result's placements again, in turn, so that what slows the machine down meets all alike, and gives it
/// the medians and a note. A search calls best what was lucky: runtimes of one placement differ by up to a factor of
/// two on a busy machine. With `finalists` (see Finalists) the best of these, of the answer and of one device answers;
/// without, the answer stands. Whoever stops it has the figures that there are.
void measure_again(Evaluator& evaluator, std::span<const Placement> finalists,
                   const std::function<bool()>& should_stop, PlaceResult& result);

}  // namespace berth
