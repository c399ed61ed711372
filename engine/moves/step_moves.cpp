#include "berth/simulator.h"
#include "moves/method.h"

namespace berth::moves {
namespace {

class StepMoves final : public Method {
 public:
  explicit StepMoves(const Simulator& simulator) : simulator_(simulator) {}

  void reset(std::span<const DeviceId> placement) override {
    placement_.assign(placement.begin(), placement.end());
    candidate_ = placement_;
    evaluate();
    worth_ = {evaluation_.objective_us, evaluation_.excess_bytes};
    changed_.clear();
  }

  MoveEvaluator::Candidate propose(std::span<const Move> moves, double cutoff_us) override {
    for (const OpId op : changed_) {
      candidate_[static_cast<std::size_t>(op)] = placement_[static_cast<std::size_t>(op)];
    }
    changed_.clear();
    for (const Move& move : moves) {
      candidate_[static_cast<std::size_t>(move.op)] = move.to;
      changed_.push_back(move.op);
    }
    evaluate();
    const bool rejected = evaluation_.objective_us >= cutoff_us;
    return {evaluation_.objective_us, rejected ? 0 : evaluation_.excess_bytes, rejected};
  }

  void accept() override {
    for (const OpId op : changed_) {
      placement_[static_cast<std::size_t>(op)] = candidate_[static_cast<std::size_t>(op)];
    }
    changed_.clear();
    worth_ = {evaluation_.objective_us, evaluation_.excess_bytes};
  }

 private:
  void evaluate() { simulator_.evaluate(candidate_, workspace_, evaluation_); }

  const Simulator& simulator_;
  Simulator::Workspace workspace_;
  Evaluation evaluation_;
  std::vector<DeviceId> candidate_;
  std::vector<OpId> changed_;
};

}  // namespace

std::unique_ptr<Method> step_moves(const Simulator& simulator, const simulator::Plan& /*plan*/) {
  return std::make_unique<StepMoves>(simulator);
}

}  // namespace berth::moves
