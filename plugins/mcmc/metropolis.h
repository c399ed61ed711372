// A Markov chain over placements.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "berth/evaluator.h"
#include "berth/policy.h"
#include "berth/sdk/moves.h"
#include "berth/sdk/random.h"
#include "berth/support/score.h"

namespace berth::policies::mcmc {

struct ChainRules {
  /// Acceptance exp(-beta * relative worsening): at 10,000, a placement that is 0.01 % worse is
  /// taken with probability 1/e.
  double beta = 10000;
  std::int64_t moves = 3000;  ///< proposals at most
};

/// The best of all placements that a chain visited, by (excess_bytes, objective_us).
struct ChainBest {
  GroupPlacement placement;
  Score score;
};

/// Judges single moves of a placement.
class Judge {
 public:
  virtual ~Judge() = default;
  /// Starts at `placement`.
  virtual Score start(const Placement& placement) = 0;
  /// The score that a move would have; kCannotRun where it is proven to be at least `cutoff_us`.
  virtual Score propose(std::span<const Move> moves, double cutoff_us) = 0;
  /// Makes the move that was proposed last.
  virtual void accept() = 0;
};

/// Simulates moves, which must outlive it.
[[nodiscard]] std::unique_ptr<Judge> simulating_judge(MoveEvaluator& moves);
/// Asks an evaluator, which must outlive it, for every placement: one that measures, for example.
[[nodiscard]] std::unique_ptr<Judge> asking_judge(Evaluator& evaluator);

/// The search of FlexFlow (Jia, Zaharia, Aiken, "Beyond data and model parallelism for deep neural
/// networks", MLSys 2019, section 6.2) over devices of groups: a random group proposes to go to a
/// random other device of `devices` that can run it, and a proposal is accepted as Metropolis and
/// Hastings do. It ends after `rules.moves` proposals, or when half of them brought nothing better.
/// Memory comes first: a move that overflows more is never accepted, one that overflows less
/// always. Groups that only one of `devices` can run stay where they are.
///
/// The random number of a proposal is drawn before its cost is known, so the evaluator may give up
/// on it as soon as it is proven too dear.
[[nodiscard]] ChainBest run_chain(Judge& judge, const Problem& problem,
                                  const std::vector<DeviceId>& devices, GroupPlacement start,
                                  ChainRules rules, Random random, const PlaceContext& context);

}  // namespace berth::policies::mcmc
