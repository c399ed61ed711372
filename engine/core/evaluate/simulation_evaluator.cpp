#include "evaluate/simulation_evaluator.h"

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth {

/// Every placement is evaluated in full: the published rule of memory looks back on the whole step,
/// and the throughput of a placement takes no steps.
class SimulationEvaluator::FullSteps final : public PlacementSequence {
 public:
  explicit FullSteps(SimulationEvaluator& evaluator) : evaluator_(evaluator) {}

  void start(std::span<const DeviceId> placement, Evaluation& out,
             std::span<double> op_start_us) override {
    evaluator_.simulator_.evaluate(placement, evaluator_.scratches_.local().full, out, op_start_us);
    simulated_ops_ += evaluator_.problem().graph().op_count();
  }
  void move(std::span<const DeviceId> placement, std::span<const OpId>, std::span<const OpId>,
            Evaluation& out, std::span<double> op_start_us) override {
    start(placement, out, op_start_us);
  }
  Score try_move(std::span<const DeviceId> placement, std::span<const OpId>,
                 double limit_us) override {
    auto& scratch = evaluator_.scratches_.local();
    Evaluation& tried = scratch.evaluation;
    evaluator_.simulator_.evaluate(placement, scratch.full, tried);
    simulated_ops_ += evaluator_.problem().graph().op_count();
    return {tried.objective_us < limit_us ? tried.objective_us : kCannotRun, tried.excess_bytes};
  }
  std::int64_t take_simulated_ops() noexcept override { return std::exchange(simulated_ops_, 0); }

 private:
  SimulationEvaluator& evaluator_;
  std::int64_t simulated_ops_ = 0;
};

/// Every step goes on from the one before, with the scratch memory of whichever thread evaluates it.
class SimulationEvaluator::SuccessiveSteps final : public PlacementSequence {
 public:
  SuccessiveSteps(SimulationEvaluator& evaluator, bool tries)
      : evaluator_(evaluator),
        step_(evaluator.simulator_, evaluator.step_facts_,
              {.spacing = std::max(kLeastSpacing, evaluator.simulator_.plan().op_count / kPauses),
               .anywhere = tries,
               .reports = true}) {}

  void start(std::span<const DeviceId> placement, Evaluation& out,
             std::span<double> op_start_us) override {
    step_.reset(placement, evaluator_.scratches_.local(),
                {.op_start_us = op_start_us.data(), .evaluation = &out});
  }
  void move(std::span<const DeviceId> placement, std::span<const OpId> moved,
            std::span<const OpId> next, Evaluation& out, std::span<double> op_start_us) override {
    list_moves(placement, moved);
    step_.move(moves_, evaluator_.scratches_.local(),
               {.next = next, .op_start_us = op_start_us.data(), .evaluation = &out});
  }
  Score try_move(std::span<const DeviceId> placement, std::span<const OpId> moved,
                 double limit_us) override {
    list_moves(placement, moved);
    const MoveEvaluator::Candidate tried =
        step_.propose(moves_, limit_us, evaluator_.scratches_.local());
    return tried.rejected ? Score{kCannotRun, 0} : static_cast<const Score&>(tried);
  }
  std::int64_t take_simulated_ops() noexcept override {
    const std::int64_t all = step_.work().simulated_ops;
    return all - std::exchange(taken_ops_, all);
  }

 private:
  /// A pause costs as much as 50 to 500 ops, by how many transfers wait and tensors are held.
  static constexpr std::uint32_t kPauses = 16;
  static constexpr std::uint32_t kLeastSpacing = 128;

  void list_moves(std::span<const DeviceId> placement, std::span<const OpId> moved) {
    moves_.clear();
    for (const OpId op : moved) moves_.push_back({op, placement[at(op)]});
  }

  SimulationEvaluator& evaluator_;
  moves::IncrementalStep<moves::DataflowRules> step_;
  std::vector<Move> moves_;
  std::int64_t taken_ops_ = 0;
};

SimulationEvaluator::SimulationEvaluator(std::shared_ptr<const Problem> problem, int threads)
    : simulator_(std::move(problem)),
      // More threads than cores gain nothing, and oneTBB would print a warning about them.
      arena_(threads == 0 ? tbb::task_arena::automatic
                          : std::min(threads, tbb::info::default_concurrency())) {}

std::unique_ptr<PlacementSequence> SimulationEvaluator::sequence(bool tries) {
  const ProblemOptions& options = problem().options();
  if (options.semantics != Semantics::dataflow || options.objective != Objective::latency) {
    return std::make_unique<FullSteps>(*this);
  }
  std::call_once(step_facts_made_, [this] {
    step_facts_ = std::make_shared<const moves::StepFacts>(simulator_.plan());
  });
  return std::make_unique<SuccessiveSteps>(*this, tries);
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
  const auto count = static_cast<std::int64_t>(placements.size());
  work_ += {count, count * problem().graph().op_count()};
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
  std::int64_t simulated_ops() const noexcept override { return evaluator_.simulated_ops(); }
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
