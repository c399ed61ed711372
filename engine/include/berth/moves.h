// What a change of a placement would cost, without evaluating the placement anew: the inner step of
// every local search.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "berth/export.h"
#include "berth/simulator.h"
#include "berth/types.h"

namespace berth {

/// `op` goes to `to`, which may be where it is.
struct Move {
  OpId op;
  DeviceId to;
};

/// Keeps one placement evaluated and tells what moves would make of it.
///
/// Neither placements nor moves are validated (Problem::validate does that): a device that cannot
/// run an op is undefined behaviour, co-location and separations (SeparationTracker) are the
/// caller's to keep.
///
/// Exactness. Latency: every figure is Simulator::evaluate's, to the last bit. Throughput: loads
/// are sums without rounding, so they depend on the placement alone and not on the moves that led
/// to it; they differ from Simulator::evaluate's by the rounding of its sums (1e-12 relative).
///
/// Once warm (a reset, and as many moves at once as ever), nothing is allocated.
/// [thread-compatible: one per thread; all may share one simulator]
class BERTH_EXPORT MoveEvaluator {
 public:
  explicit MoveEvaluator(std::shared_ptr<const Simulator> simulator);
  ~MoveEvaluator();
  MoveEvaluator(MoveEvaluator&&) noexcept;
  MoveEvaluator& operator=(MoveEvaluator&&) noexcept;

  [[nodiscard]] const Problem& problem() const noexcept;

  /// Starts from `placement`, a device per op: a full evaluation.
  void reset(std::span<const DeviceId> placement);

  /// The figures of the placement kept. Before the first reset: empty, 0, feasible, 0.
  [[nodiscard]] std::span<const DeviceId> placement() const noexcept;
  [[nodiscard]] double objective_us() const noexcept;
  [[nodiscard]] bool feasible() const;
  /// By how much the device that exceeds its memory by most does; 0 where none does.
  [[nodiscard]] std::int64_t excess_bytes() const noexcept;

  struct Candidate {
    double objective_us;
    std::int64_t excess_bytes;  ///< 0 where rejected: not looked at
    /// The objective is proven to be no less than the cutoff; objective_us is then a lower bound
    /// of it that is no less than the cutoff either.
    bool rejected;
  };
  /// What the placement would be worth with all `moves` made (the members of a group, both sides of
  /// a swap; where an op occurs twice, the last one counts). With a finite `cutoff_us` a candidate
  /// that cannot come below is given up as soon as that is proven. The placement kept stays as it
  /// is. Throws Error(invalid_argument) before the first reset.
  Candidate propose(std::span<const Move> moves,
                    double cutoff_us = std::numeric_limits<double>::infinity());

  /// Throughput: the load of every device under the last candidate proposed, or of the placement
  /// kept where nothing was proposed since the last accept or reset. Latency: empty. Valid until
  /// the next call.
  [[nodiscard]] std::span<const double> loads_us();

  /// Makes the last candidate proposed the placement kept, rejected or not (one that was rejected
  /// is then evaluated in full). Does nothing where nothing was proposed since the last accept or
  /// reset.
  void accept();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth
