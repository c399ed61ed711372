// The plan of a search: which solutions are annealed from which temperature for how long.
//
// A single proposal improves little; what counts is slow annealing. A chain with some hundred
// proposals per unit finds nearly as good placements from any start. A shorter chain must stay near
// a good start. So the search
//   1. adds the starts with layers or coarse units gathered on one device each, which are often
//      better; where the budget is short for latency, it has the best of them race at the coarsest
//      grain: the best start often does not lead furthest;
//   2. anneals in rounds of chains of equal length, as long as the rule above asks for. From its
//      successes it learns which temperatures, and which of the best solutions, to start from. A
//      short budget has one round, whose chains begin with coarser units, which are fewer, and
//      whose steps can be those of a contracted problem (contracted.h), which take a fraction of
//      the time. For latency, sweeps over what runs late follow it.
// All chains of a round end before the next begins, so that the result depends on the seed and the
// number of proposals only.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "auto/team.h"
#include "berth/policy.h"

namespace berth::policies::auto_policy {

struct SearchSettings {
  /// Proposals in all; those on contracted steps count by the share of a step that they take. 0 = as
  /// many as context.budget_s allows.
  std::int64_t moves = 0;
  int threads = 1;
  int chains = 4;  ///< in a round, at most; where time decides, at least one per thread
};

/// [thread-compatible]
class Search {
 public:
  /// `context` must outlive the search; its budget counts from `began`.
  Search(const std::shared_ptr<const Problem>& problem, const SearchSettings& settings,
         const PlaceContext& context, std::chrono::steady_clock::time_point began);

  /// Improves the best few of `starts` until the budget ends or the best meets `bound_us`. Returns
  /// the best solutions found, best first, no two alike and at least one; the starts count among
  /// them. `starts` is not empty.
  [[nodiscard]] std::vector<Solution> run(std::vector<Solution> starts, double bound_us);
  [[nodiscard]] SearchWork work() const noexcept;

 private:
  /// A temperature to anneal from, and how often that has led to something better.
  struct Arm {
    double factor;  ///< of the usual temperature
    int tried;
    int won;
  };

  void warm_up();
  void gather_starts();
  [[nodiscard]] Placement gather_layers(std::span<const DeviceId> start) const;
  void race_starts();
  void anneal_round();
  void sweep(std::int64_t chains);
  /// The share of units that a sweep from there would hold.
  [[nodiscard]] double settled_share(const Solution& solution) const;
  /// The solution of each task; the pool has the best of them.
  std::vector<Solution> run_tasks(std::vector<Task>& tasks, std::span<Arm* const> arms);
  void admit(Solution solution);
  [[nodiscard]] Arm& draw_arm();
  /// How a chain of so many moves spends them.
  [[nodiscard]] std::vector<Annealer::Schedule> stages(std::int64_t moves, const Arm& arm) const;
  /// A schedule for one grain, with exact or contracted steps; `factor` of the temperature that is
  /// usual for its length.
  [[nodiscard]] Annealer::Schedule stage(std::size_t grain, bool contracts, std::int64_t moves,
                                         double factor) const;
  /// The number of slots that share the moves of a round with this many tasks: where time decides, a
  /// thread without a task waits for the others.
  [[nodiscard]] std::size_t slots(std::size_t tasks) const;
  /// The weight of a proposal, in moves.
  [[nodiscard]] double weight(std::size_t grain, bool contracts) const;
  /// Whether a chain has so few proposals that it has to use greedy moves and coarse units.
  [[nodiscard]] bool brief(std::int64_t moves) const;
  [[nodiscard]] bool over() const;
  [[nodiscard]] double seconds() const;  ///< since `began`
  /// Proposals that are left, all threads together; an estimate where time decides.
  [[nodiscard]] std::int64_t moves_left() const;
  [[nodiscard]] bool timed() const noexcept { return total_moves_ == 0; }

  const PlaceContext& context_;
  SearchSettings settings_;
  bool latency_;    // the objective
  bool contracts_;  // whether contracted steps judge the moves of coarser grains
  Structure structure_;
  std::vector<Grain> grains_;  // fine first
  std::shared_ptr<const Simulator> simulator_;
  std::unique_ptr<Team> team_;
  Random random_;
  std::int64_t total_moves_;  // 0: time decides
  std::int64_t moves_made_ = 0;
  std::int64_t length_per_unit_;
  std::int64_t full_length_;  // of a chain that need not care where it started
  int rounds_ = 0;
  std::chrono::steady_clock::time_point began_;
  double moves_per_s_ = 0;  // of the last tasks, all threads together; where time decides
  double bound_us_ = 0;
  std::array<Arm, 5> arms_;     // the first is the usual one
  std::vector<Solution> pool_;  // best first
  /// The best starts, each as it is or gathered; for the race.
  std::vector<Solution> origins_;
};

}  // namespace berth::policies::auto_policy
