// How moves are evaluated under one objective.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "berth/sdk/moves.h"
#include "simulator/plan.h"

namespace berth::moves {

class MoveStrategy {
 public:
  virtual ~MoveStrategy() = default;

  virtual void reset(std::span<const DeviceId> placement) = 0;
  virtual MoveEvaluator::Candidate propose(std::span<const Move> moves, double cutoff_us) = 0;
  virtual void accept() = 0;
  /// Loads of the last candidate by device; empty if there are none.
  virtual std::span<const double> loads_us() { return {}; }

  /// The kept placement, by op.
  [[nodiscard]] virtual const std::vector<DeviceId>& placement() const noexcept = 0;
  /// Its score.
  [[nodiscard]] virtual const Score& score() const noexcept = 0;
  [[nodiscard]] virtual const SearchWork& work() const noexcept = 0;
};

/// Objective throughput.
[[nodiscard]] std::unique_ptr<MoveStrategy> load_moves(const simulator::Plan& plan);
/// Objective latency.
[[nodiscard]] std::unique_ptr<MoveStrategy> step_moves(const Simulator& simulator,
                                                       const simulator::Plan& plan);

}  // namespace berth::moves
