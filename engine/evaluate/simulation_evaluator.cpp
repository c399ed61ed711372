#include "evaluate/simulation_evaluator.h"

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "berth/error.h"
#include "berth/support/text.h"

namespace berth {

/// The steps of one sequence, with the scratch memory of whichever thread evaluates it.
class SimulationEvaluator::Sequence final : public PlacementSequence {
 public:
  Sequence(SimulationEvaluator& evaluator, bool tries)
      : evaluator_(evaluator), steps_(evaluator.simulator_, tries) {}

  void start(std::span<const DeviceId> placement, Evaluation& out,
             std::span<double> op_start_us) override {
    steps_.start(placement, evaluator_.scratches_.local(), out, op_start_us);
  }
  void move(std::span<const DeviceId> placement, std::span<const OpId> moved,
            std::span<const OpId> next, Evaluation& out, std::span<double> op_start_us) override {
    steps_.move(placement, moved, next, evaluator_.scratches_.local(), out, op_start_us);
  }
  Score try_move(std::span<const DeviceId> placement, std::span<const OpId> moved,
                 double limit_us) override {
    return steps_.try_move(placement, moved, limit_us, evaluator_.scratches_.local());
  }

 private:
  SimulationEvaluator& evaluator_;
  SuccessiveSteps steps_;
};

SimulationEvaluator::SimulationEvaluator(std::shared_ptr<const Problem> problem, int threads)
    : simulator_(std::move(problem)),
      // More threads than cores gain nothing, and oneTBB would print a warning about them.
      arena_(threads == 0 ? tbb::task_arena::automatic
                          : std::min(threads, tbb::info::default_concurrency())) {}

std::unique_ptr<PlacementSequence> SimulationEvaluator::sequence(bool tries) {
  return std::make_unique<Sequence>(*this, tries);
}

void SimulationEvaluator::evaluate(std::span<const Placement> placements,
                                   std::span<Evaluation> out) {
  if (out.size() != placements.size()) {
    throw Error(ErrorCode::invalid_argument,
                cat("room for ", out.size(), " evaluations of ", placements.size(),
                    " placements; give one for each"));
  }
  validate(placements);
  for_each(placements.size(), [&](std::size_t i) {
    simulator_.evaluate(placements[i], scratches_.local().full, out[i]);
  });
  count(placements.size());
}

void SimulationEvaluator::count(std::size_t evaluations) noexcept {
  evaluations_ += static_cast<std::int64_t>(evaluations);
}

void SimulationEvaluator::for_each(std::size_t count,
                                   const std::function<void(std::size_t)>& body) {
  if (count == 1) {
    body(0);
  } else {
    arena_.execute([&] { tbb::parallel_for(std::size_t{0}, count, body); });
  }
}

void SimulationEvaluator::validate(std::span<const Placement> placements) {
  std::atomic<std::size_t> first_invalid = placements.size();
  for_each(placements.size(), [&](std::size_t i) {
    try {
      problem().validate_but_separations(placements[i]);
    } catch (const Error&) {
      std::size_t known = first_invalid;
      while (i < known && !first_invalid.compare_exchange_weak(known, i)) {
      }
    }
  });
  if (first_invalid < placements.size()) {
    problem().validate_but_separations(placements[first_invalid]);
  }
}

namespace {

/// Passes placements on: what an evaluation gives does not depend on groups.
class RegroupedEvaluator final : public Evaluator {
 public:
  RegroupedEvaluator(Evaluator& evaluator, std::shared_ptr<const Problem> problem)
      : evaluator_(evaluator), problem_(std::move(problem)) {}

  const Problem& problem() const noexcept override { return *problem_; }
  void evaluate(std::span<const Placement> placements, std::span<Evaluation> out) override {
    evaluator_.evaluate(placements, out);
  }
  bool measures() const noexcept override { return evaluator_.measures(); }
  std::int64_t evaluations() const noexcept override { return evaluator_.evaluations(); }
  SuccessiveEvaluator* successive() noexcept override { return evaluator_.successive(); }

 private:
  Evaluator& evaluator_;
  std::shared_ptr<const Problem> problem_;
};

}  // namespace

std::unique_ptr<Evaluator> make_regrouped_evaluator(Evaluator& evaluator,
                                                    std::shared_ptr<const Groups> groups) {
  const Problem& given = evaluator.problem();
  auto problem = std::make_shared<const Problem>(given.shared_graph(), given.shared_cluster(),
                                                 given.shared_costs(), std::move(groups),
                                                 given.options(), given.constraints());
  return std::make_unique<RegroupedEvaluator>(evaluator, std::move(problem));
}

std::unique_ptr<Evaluator> make_simulation_evaluator(std::shared_ptr<const Problem> problem,
                                                     int threads) {
  if (problem == nullptr) {
    throw Error(ErrorCode::invalid_argument, "an evaluator of no problem; give one");
  }
  if (threads < 0) {
    throw Error(ErrorCode::invalid_argument,
                cat(threads, " threads; give a number >= 1, or 0 for all cores"));
  }
  return std::make_unique<SimulationEvaluator>(std::move(problem), threads);
}

}  // namespace berth
