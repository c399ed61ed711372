#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <utility>

#include "berth/error.h"
#include "berth/evaluator.h"
#include "support/text.h"

namespace berth {
namespace {

class SimulationEvaluator final : public Evaluator {
 public:
  SimulationEvaluator(std::shared_ptr<const Problem> problem, int threads)
      : simulator_(problem),
        problem_(std::move(problem)),
        // More threads than cores gain nothing, and oneTBB would print a warning about them.
        arena_(threads == 0 ? tbb::task_arena::automatic
                            : std::min(threads, tbb::info::default_concurrency())) {}

  const Problem& problem() const noexcept override { return *problem_; }

  void evaluate(std::span<const Placement> placements, std::span<Evaluation> out) override {
    if (out.size() != placements.size()) {
      throw Error(ErrorCode::invalid_argument,
                  cat("room for ", out.size(), " evaluations of ", placements.size(),
                      " placements; give one for each"));
    }
    for (const Placement& placement : placements) problem_->validate(placement);
    const auto evaluate_one = [&](std::size_t i) {
      simulator_.evaluate(placements[i], workspaces_.local(), out[i]);
    };
    if (placements.size() == 1) {
      evaluate_one(0);
    } else {
      arena_.execute([&] { tbb::parallel_for(std::size_t{0}, placements.size(), evaluate_one); });
    }
    evaluations_ += static_cast<std::int64_t>(placements.size());
  }

  std::int64_t evaluations() const noexcept override { return evaluations_; }

 private:
  Simulator simulator_;
  std::shared_ptr<const Problem> problem_;
  tbb::task_arena arena_;
  tbb::enumerable_thread_specific<Simulator::Workspace> workspaces_;
  std::int64_t evaluations_ = 0;
};

}  // namespace

std::unique_ptr<Evaluator> make_simulation_evaluator(std::shared_ptr<const Problem> problem,
                                                     int threads) {
  if (threads < 0) {
    throw Error(ErrorCode::invalid_argument,
                cat(threads, " threads; give a number >= 1, or 0 for all cores"));
  }
  return std::make_unique<SimulationEvaluator>(std::move(problem), threads);
}

}  // namespace berth
