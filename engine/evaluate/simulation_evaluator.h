// The evaluator that simulates.
#pragma once

#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/task_arena.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "berth/evaluator.h"
#include "berth/simulator.h"
#include "simulator/successive_steps.h"

namespace berth {

class SimulationEvaluator final : public Evaluator {
 public:
  /// `counted_by`, where given, counts this one's evaluations too.
  SimulationEvaluator(std::shared_ptr<const Problem> problem, int threads,
                      SimulationEvaluator* counted_by = nullptr);

  const Problem& problem() const noexcept override { return *problem_; }
  void evaluate(std::span<const Placement> placements, std::span<Evaluation> out) override;
  std::int64_t evaluations() const noexcept override { return evaluations_; }
  [[nodiscard]] int threads() const noexcept { return threads_; }

  /// The engine's own way in, in three parts: body(i) for i in [0, count), on the threads this
  /// evaluator has;
  void for_each(std::size_t count, const std::function<void(std::size_t)>& body);
  /// placements that follow one another and are known to be valid [thread-safe];
  [[nodiscard]] SuccessiveSteps successive_steps(bool tries) const {
    return SuccessiveSteps(simulator_, tries);
  }
  [[nodiscard]] SuccessiveSteps::Scratch& scratch() { return scratches_.local(); }
  /// and how many there were.
  void count(std::size_t evaluations) noexcept;

 private:
  /// Throws for the first invalid placement, whichever thread comes across one first.
  void validate(std::span<const Placement> placements);

  Simulator simulator_;
  std::shared_ptr<const Problem> problem_;
  tbb::task_arena arena_;
  tbb::enumerable_thread_specific<SuccessiveSteps::Scratch> scratches_;
  std::int64_t evaluations_ = 0;
  int threads_;
  SimulationEvaluator* counted_by_;
};

}  // namespace berth
