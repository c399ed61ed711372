// Latency: see incremental_step.h.
#include <algorithm>

#include "moves/incremental_step.h"
#include "moves/move_strategy.h"

namespace berth::moves {
namespace {

/// A step is paused so often. More pauses let a candidate start later and stop earlier, but every
/// accepted one records them again: on graphs of 13,000 ops, 64 take a tenth to a third less time
/// than 256 where one proposal of ten is accepted, and as much where hardly any is.
constexpr std::uint32_t kPauses = 64;
constexpr std::uint32_t kLeastSpacing = 16;

template <typename Rules>
class StepMoves final : public MoveStrategy {
 public:
  StepMoves(const Simulator& simulator, const simulator::Plan& plan)
      : step_(simulator, std::make_shared<const StepFacts>(plan),
              {.spacing = std::max(kLeastSpacing, plan.op_count / kPauses)}) {}

  void reset(std::span<const DeviceId> placement) override { step_.reset(placement, scratch_); }
  MoveEvaluator::Candidate propose(std::span<const Move> moves, double cutoff_us) override {
    return step_.propose(moves, cutoff_us, scratch_);
  }
  void accept() override { step_.accept(scratch_); }
  const std::vector<DeviceId>& placement() const noexcept override { return step_.placement(); }
  const Score& score() const noexcept override { return step_.score(); }
  const SearchWork& work() const noexcept override { return step_.work(); }

 private:
  IncrementalStep<Rules> step_;
  typename IncrementalStep<Rules>::Scratch scratch_;
};

}  // namespace

std::unique_ptr<MoveStrategy> step_moves(const Simulator& simulator, const simulator::Plan& plan) {
  if (plan.placeto) return std::make_unique<StepMoves<PlacetoRules>>(simulator, plan);
  return std::make_unique<StepMoves<DataflowRules>>(simulator, plan);
}

}  // namespace berth::moves
