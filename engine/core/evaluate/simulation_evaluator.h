// The evaluator that simulates.
#pragma once

#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/task_arena.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "berth/evaluator.h"
#include "berth/simulator.h"
#include "moves/incremental_step.h"

namespace berth {

class SimulationEvaluator final : public Evaluator, public SuccessiveEvaluator {
 public:
  SimulationEvaluator(std::shared_ptr<const Problem> problem, int threads);

  const Problem& problem() const noexcept override { return simulator_.problem(); }
  void evaluate(std::span<const Placement> placements, std::span<Evaluation> out) override;
  std::int64_t evaluations() const noexcept override { return work_.evaluations; }
  std::int64_t simulated_ops() const noexcept override { return work_.simulated_ops; }

  SuccessiveEvaluator* successive() noexcept override { return this; }
  std::unique_ptr<PlacementSequence> sequence(bool tries) override;
  void for_each(std::size_t count, const std::function<void(std::size_t)>& body) override;
  void count(const SearchWork& work) noexcept override { work_ += work; }

 private:
  class FullSteps;
  class SuccessiveSteps;

  /// Throws for the first invalid placement, whichever thread comes across one first.
  void validate(std::span<const Placement> placements);

  Simulator simulator_;
  tbb::task_arena arena_;
  /// For `dataflow` semantics and the objective latency alone; null until a sequence is asked for.
  std::shared_ptr<const moves::StepFacts> step_facts_;
  std::once_flag step_facts_made_;
  tbb::enumerable_thread_specific<moves::IncrementalStep<moves::DataflowRules>::Scratch> scratches_;
  SearchWork work_;
};

}  // namespace berth
