// One chain of simulated annealing (Kirkpatrick, Gelatt, Vecchi, Science 1983) over the moves of
// moves.h, with thresholds drawn before a candidate is evaluated, so that hopeless ones are given
// up early.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "auto/contracted.h"
#include "auto/landscape.h"
#include "auto/moves.h"
#include "auto/units.h"
#include "berth/support/score.h"

namespace berth::policies::auto_policy {

/// A placement with its figures, as the search ranks them.
struct Solution {
  Placement placement;
  double objective_us = 0;
  std::int64_t excess_bytes = 0;
  bool refused = false;  ///< by the evaluator, whatever the memory

  [[nodiscard]] bool fits() const noexcept { return excess_bytes == 0 && !refused; }
  [[nodiscard]] bool better_than(const Solution& other) const noexcept {
    return refused != other.refused ? other.refused : better(score(), other.score());
  }
  [[nodiscard]] Score score() const noexcept { return {objective_us, excess_bytes}; }
};

/// Units that chains move.
struct Grain {
  Units units;
  /// Weight of a proposal that a contracted step judges, in exact ones; 0 = contracted steps differ
  /// too much.
  double weight = 0;
  double temperature_us = 0;  ///< of a chain of full length
};

/// [thread-compatible: one per thread. Where a schedule states no time, its result depends on the
/// arguments of `run` alone]
class Annealer {
 public:
  /// `grains` (fine first) and the `structure` of their units must outlive the annealer.
  Annealer(const std::shared_ptr<const Simulator>& simulator, std::span<const Grain> grains,
           const Structure& structure);

  struct Schedule {
    std::size_t grain;   ///< index of what is moved
    bool contracts;      ///< whether steps of a contracted problem judge proposals
    std::int64_t moves;  ///< proposals; an estimate if `seconds` are stated
    double seconds;      ///< that the chain may take, all in all; 0 = as long as `moves` do
    double hottest_us;   ///< first temperature
    double coldest_us;   ///< last one
    double reach;        ///< see Proposer::draw
    /// Whether idle devices are offered ops that wait for other devices. Leave it off when there is
    /// time for hundreds of proposals per unit: these moves are greedy.
    bool fill = false;
    /// Above 0: units that start before this share of all idle time has passed stay where they are
    /// (idleness.h).
    double settled = 0;
    /// The part of the cooling that the chain does.
    double begin = 0;
    double end = 1;
  };
  struct Result {
    Solution best;           ///< of the placements seen, by exact steps; no worse than the start
    std::int64_t moves = 0;  ///< proposals made
  };
  /// Anneals from `start`. Ends early if `stop()` says so, which is asked about every millisecond.
  Result run(const Solution& start, const Schedule& schedule, std::uint64_t seed,
             const std::function<bool()>& stop);

  /// Work of all runs. Proposals that contracted steps judge count as simulated ops alone.
  [[nodiscard]] SearchWork work() const noexcept {
    SearchWork all = landscape_.work();
    return all += beside_;
  }

 private:
  /// The field of a chain: the problem itself, or a contracted one.
  struct Field {
    const Simulator& simulator;
    const Units& units;
    Landscape& landscape;
    Proposer& proposer;
  };
  Result run_contracted(const Solution& start, const Schedule& schedule, std::uint64_t seed,
                        const std::function<bool()>& stop);
  void run_leg(const Schedule& schedule, std::uint64_t seed, const std::function<bool()>& stop,
               Result& result);
  /// From the placement that the landscape has; the number of proposals.
  std::int64_t anneal(Field& field, const Schedule& schedule, std::uint64_t seed,
                      const std::function<bool()>& stop, Solution& best,
                      const std::function<void()>& at_look);
  /// Tells the proposer what limits the objective now.
  void look(Field& field, bool fill);
  /// Whether `moves` keep apart what constraints separate.
  [[nodiscard]] bool keeps_apart(const Field& field, std::span<const Move> moves);
  static void keep_if_better(const Landscape& landscape, Solution& best);

  std::shared_ptr<const Simulator> simulator_;
  std::span<const Grain> grains_;
  const Structure& structure_;
  Landscape landscape_;
  std::vector<Proposer> proposers_;  // by grain
  std::vector<UnitId> hot_;
  SearchWork beside_;  // of others than landscape_
  Placement trial_;
  Simulator::Workspace workspace_;
  Evaluation evaluation_;
};

}  // namespace berth::policies::auto_policy
