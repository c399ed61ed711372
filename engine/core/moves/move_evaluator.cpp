#include <utility>

#include "berth/error.h"
#include "berth/sdk/moves.h"
#include "moves/move_strategy.h"

namespace berth {

struct MoveEvaluator::State {
  explicit State(std::shared_ptr<const Simulator> the_simulator)
      : simulator(std::move(the_simulator)),
        strategy(simulator->problem().options().objective == Objective::throughput
                     ? moves::load_moves(simulator->plan())
                     : moves::step_moves(*simulator, simulator->plan())) {}

  std::shared_ptr<const Simulator> simulator;
  std::unique_ptr<moves::MoveStrategy> strategy;
  bool started = false;
  bool proposed = false;
};

MoveEvaluator::MoveEvaluator(std::shared_ptr<const Simulator> simulator)
    : state_(std::make_unique<State>(std::move(simulator))) {}
MoveEvaluator::~MoveEvaluator() = default;
MoveEvaluator::MoveEvaluator(MoveEvaluator&&) noexcept = default;
MoveEvaluator& MoveEvaluator::operator=(MoveEvaluator&&) noexcept = default;

const Problem& MoveEvaluator::problem() const noexcept {
  return state_->simulator->problem();
}

void MoveEvaluator::reset(std::span<const DeviceId> placement) {
  state_->strategy->reset(placement);
  state_->started = true;
  state_->proposed = false;
}

std::span<const DeviceId> MoveEvaluator::placement() const noexcept {
  return state_->strategy->placement();
}
double MoveEvaluator::objective_us() const noexcept {
  return state_->strategy->score().objective_us;
}
std::int64_t MoveEvaluator::excess_bytes() const noexcept {
  return state_->strategy->score().excess_bytes;
}

bool MoveEvaluator::feasible() const {
  if (excess_bytes() != 0) return false;
  if (placement().empty()) return true;
  return problem().separations().empty() || problem().crowded_device(placement()) == kNoDevice;
}

MoveEvaluator::Candidate MoveEvaluator::propose(std::span<const Move> moves, double cutoff_us) {
  if (!state_->started) {
    throw Error(ErrorCode::invalid_argument,
                "moves were proposed before there was a placement; call reset(placement) first");
  }
  state_->proposed = true;
  return state_->strategy->propose(moves, cutoff_us);
}

SearchWork MoveEvaluator::work() const noexcept {
  return state_->strategy->work();
}

std::span<const double> MoveEvaluator::loads_us() {
  return state_->strategy->loads_us();
}

void MoveEvaluator::accept() {
  if (!state_->proposed) return;
  state_->strategy->accept();
  state_->proposed = false;
}

}  // namespace berth
