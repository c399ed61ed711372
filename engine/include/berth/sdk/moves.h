/// @file
/// The cost of a change of a placement, without evaluating the whole placement again. This is
/// the inner step of every local search.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "berth/export.h"
#include "berth/simulator.h"
#include "berth/support/search_work.h"
#include "berth/types.h"

namespace berth {

/// `op` moves to `to`, which may be where it already is.
struct Move {
  OpId op;
  DeviceId to;
};

/// Keeps one placement evaluated, and evaluates moves away from it.
///
/// Neither placements nor moves are validated (see Problem::validate). A device that cannot run its
/// op is undefined behaviour. The caller keeps co-location and separations (SeparationTracker).
///
/// **Exactness.** For latency, every figure equals that of Simulator::evaluate to the last bit. For
/// throughput, loads are sums without rounding, so they depend on the placement alone and not on
/// the moves that led to it. They differ from Simulator::evaluate by the rounding of its sums,
/// about 1e-12 relative.
///
/// After one reset and the largest set of moves seen so far, nothing is allocated.
/// [thread-compatible: all evaluators may share one simulator]
class BERTH_EXPORT MoveEvaluator {
 public:
  explicit MoveEvaluator(std::shared_ptr<const Simulator> simulator);
  ~MoveEvaluator();
  MoveEvaluator(MoveEvaluator&&) noexcept;
  MoveEvaluator& operator=(MoveEvaluator&&) noexcept;

  [[nodiscard]] const Problem& problem() const noexcept;

  /// Evaluates `placement`, a device per op, in full and keeps it.
  void reset(std::span<const DeviceId> placement);

  /// The figures of the kept placement. Before the first reset: empty, 0, feasible, 0.
  [[nodiscard]] std::span<const DeviceId> placement() const noexcept;
  [[nodiscard]] double objective_us() const noexcept;
  [[nodiscard]] bool feasible() const;
  /// How much the most overfull device exceeds its memory; 0 if none does.
  [[nodiscard]] std::int64_t excess_bytes() const noexcept;

  struct Candidate : Score {
    /// The objective was proven to be at least the cutoff. objective_us is then a lower bound of
    /// it, also at least the cutoff, and excess_bytes is 0: it was not computed.
    bool rejected = false;
  };
  /// The figures of the placement with all of `moves` made: the members of a group, for example, or
  /// both sides of a swap. If an op occurs twice, its last move counts. With a finite `cutoff_us`,
  /// evaluation stops as soon as the candidate is proven to be no better than that. The kept
  /// placement does not change. Throws Error(invalid_argument) before the first reset.
  Candidate propose(std::span<const Move> moves,
                    double cutoff_us = std::numeric_limits<double>::infinity());

  /// Work of all calls so far: a placement per reset and per candidate that differs from
  /// the kept placement.
  [[nodiscard]] SearchWork work() const noexcept;

  /// Throughput: the load of every device under the last proposed candidate, or under the kept
  /// placement if nothing was proposed since the last accept or reset. Latency: empty. Valid until
  /// the next call.
  [[nodiscard]] std::span<const double> loads_us();

  /// Makes the last proposed candidate the kept placement. A rejected candidate is first evaluated
  /// in full. Does nothing if nothing was proposed since the last accept or reset.
  void accept();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth
