// The figures of the search in one place, with the source of each. Those without a source were chosen
// when the search was first written, on layered graphs of 800 and 2,500 ops and the papers' training
// steps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace berth::policies::auto_policy {

struct SearchFigures {
  // --- its length -------------------------------------------------------------------------------
  /// Proposals per unit of a chain that is long enough to forget where it started.
  std::int64_t latency_length = 1000;
  std::int64_t throughput_length = 500;
  /// Without a given length: proposals per unit, the least number of proposals, and the largest number
  /// of ops to simulate for them.
  std::int64_t default_moves = 200;
  std::int64_t default_least = 20'000;
  std::int64_t default_ops = 50'000'000;
  /// Solutions kept to start from.
  std::size_t pool = 6;

  // --- heat -------------------------------------------------------------------------------------
  /// The first temperature of a chain of full length, as a share of a unit's mean cost. Loads change
  /// smoothly; runtimes of steps do not.
  double latency_temperature = 0.4;
  double throughput_temperature = 0.06;
  /// Multiples of it that are tried too, with the number of wins of `factors_tried` that they start
  /// with.
  struct Factor {
    double factor;
    int won;
  };
  std::array<Factor, 5> factors = {{{1, 8}, {3, 2}, {0.3, 5}, {10, 1}, {0.1, 3}}};
  int factors_tried = 10;
  /// The last temperature, as a share of the first.
  double cooling = 0.02;
  /// The largest size of a region, as a share of all units.
  double reach = 0.1;

  // --- grains -----------------------------------------------------------------------------------
  /// A chain with fewer proposals per unit begins with coarser units, which are fewer: on 2,500 ops and
  /// 4 devices 380,000 proposals end 4 % above the bound instead of 6 %.
  std::int64_t enough = 150;
  /// It begins with the first grain for which it has this many proposals per unit.
  std::int64_t plenty = 300;
  /// The share of the remaining proposals that each coarser grain gets.
  double coarse_share = 0.4;
  /// In moves: less is not worth contracting a problem for, which takes as long as some of them.
  std::int64_t worth_contracting = 60;
  /// How far a contracted step may be from the exact one. Those of real networks are within a tenth;
  /// those of random graphs, whose parts wait for much that few of their ops need, take up to twice as
  /// long.
  double faithful = 0.12;
  /// No coarser grains are built after this share of the budget: on 10,000 ops the search was behind
  /// its own starts.
  double prepared = 0.7;

  // --- starts -----------------------------------------------------------------------------------
  /// The share of the budget for measuring the speed.
  double warm_up = 0.01;
  /// Shares of the remaining budget for gathering the starts, and for the race among them. With 0.2
  /// for the race the papers' twelve pairs are 1.1 % shorter in the median than with 0.35.
  double gather = 0.1;
  double race = 0.2;
  /// The starts in the race, at most and at least, and the moves that each is to have in a round.
  std::size_t runners = 8;
  std::size_t fewest = 3;
  double worth_running = 40;

  // --- sweeps -----------------------------------------------------------------------------------
  // Brief chains are followed by sweeps over what runs late. Every move of an early unit changes when
  // everything after it runs, so the early part of a step settles long before the late one. Sweeps
  // with twice the share of the proposals that hold five times as much end half a percent worse (on
  // layered_2500_d4 of placeto_sim, twelve seeds of 300,000 proposals).
  int sweeps = 3;
  /// Their share of the proposals if nothing is settled yet; it grows with what is settled. With three
  /// quarters for all, graphs whose devices wait from the start lost 1 %.
  double sweeps_share = 0.1;
  /// Their first temperature, as a share of the chains'.
  double sweep_heat = 0.5;
  /// Units that start before this share of the idle time has passed stay where they are.
  double settled = 0.02;
};

inline constexpr SearchFigures kFigures;

}  // namespace berth::policies::auto_policy
