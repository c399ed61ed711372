#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
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
    validate(placements);
    for_each(placements.size(), [&](std::size_t i) {
      simulator_.evaluate(placements[i], workspaces_.local(), out[i]);
    });
    evaluations_ += static_cast<std::int64_t>(placements.size());
  }

  std::int64_t evaluations() const noexcept override { return evaluations_; }

 private:
  template <typename Body>
  void for_each(std::size_t count, const Body& body) {
    if (count == 1) {
      body(0);
    } else {
      arena_.execute([&] { tbb::parallel_for(std::size_t{0}, count, body); });
    }
  }

  /// Throws for the first invalid placement, whichever thread comes across one first.
  void validate(std::span<const Placement> placements) {
    std::atomic<std::size_t> first_invalid = placements.size();
    for_each(placements.size(), [&](std::size_t i) {
      try {
        problem_->validate_but_separations(placements[i]);
      } catch (const Error&) {
        std::size_t known = first_invalid;
        while (i < known && !first_invalid.compare_exchange_weak(known, i)) {
        }
      }
    });
    if (first_invalid < placements.size())
      problem_->validate_but_separations(placements[first_invalid]);
  }

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
