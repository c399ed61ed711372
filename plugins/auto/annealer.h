// One chain of simulated annealing (Kirkpatrick, Gelatt, Vecchi, Science 1983) over the moves of
// moves.h, with thresholds drawn before a candidate is evaluated, so that hopeless ones are given
// up early.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "auto/landscape.h"
#include "auto/moves.h"
#include "auto/units.h"

namespace berth::policies::auto_policy {

/// A placement with its figures, as the search ranks them.
struct Solution {
  Placement placement;
  double objective_us = 0;
  std::int64_t excess_bytes = 0;

  [[nodiscard]] bool better_than(const Solution& other) const noexcept {
    if (excess_bytes != other.excess_bytes) return excess_bytes < other.excess_bytes;
    return objective_us < other.objective_us;
  }
};

/// [thread-compatible: one per thread; its result depends on the arguments of `run` alone]
class Annealer {
 public:
  /// `grains` (fine first) must outlive the annealer.
  Annealer(const std::shared_ptr<const Simulator>& simulator, std::span<const Units> grains);

  struct Schedule {
    std::size_t grain;   ///< index of what is moved
    std::int64_t moves;  ///< proposals
    double hottest_us;   ///< first temperature
    double coldest_us;   ///< last one
    double reach;        ///< see Proposer::draw
    /// Whether idle devices are offered ops that wait for other devices. Leave it off when there is
    /// time for hundreds of proposals per unit: these moves are greedy.
    bool fill = false;
    /// Above 0: units that start before this share of all idle time has passed stay where they are
    /// (idleness.h).
    double settled = 0;
  };
  /// Anneals from `start` and returns the best placement seen, no worse than `start`. Ends early if
  /// `stop()` says so, which is asked about every millisecond.
  Solution run(const Solution& start, const Schedule& schedule, std::uint64_t seed,
               const std::function<bool()>& stop);

 private:
  /// Tells the proposer what limits the objective now.
  void look(const Units& units, Proposer& proposer, bool fill);
  void hold_settled(const Units& units, Proposer& proposer, double share) const;
  /// Whether `moves` keep apart what constraints separate.
  [[nodiscard]] bool keeps_apart(std::span<const Move> moves);
  void keep_if_better(Solution& best) const;

  std::shared_ptr<const Simulator> simulator_;
  std::span<const Units> grains_;
  Landscape landscape_;
  std::vector<Proposer> proposers_;  // by grain
  std::vector<UnitId> hot_;
  Placement trial_;
  std::int64_t moves_per_poll_;
};

}  // namespace berth::policies::auto_policy
