// Chains of auto that contracted and exact steps judge in turn.
#include "auto/annealer.h"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "plugins/small_problem.h"

using namespace berth;
using namespace berth::policies::auto_policy;
using namespace berth::test;

namespace {

/// Two chains of ops that exchange something now and then; four ops in a row of a chain are a unit.
struct Chains {
  static constexpr OpId kOps = 80;
  std::shared_ptr<const Problem> problem;
  std::vector<Grain> grains;
  Structure structure;

  /// Every op has ten bytes of parameters.
  explicit Chains(std::int64_t memory_bytes = kNoLimit, std::int64_t bytes = 1) {
    std::vector<SmallOp> ops;
    std::vector<SmallEdge> edges;
    std::vector<GroupId> unit_of;
    for (OpId op = 0; op < kOps; ++op) {
      ops.push_back({{3.0 + op % 5}, 10});
      unit_of.push_back(op / 8 * 2 + op % 2);
      if (op >= 2) edges.push_back({op - 2, op, 2 * bytes});
      if (op >= 6 && op % 6 == 0) edges.push_back({op - 1, op, bytes});
    }
    problem = small_problem({{"d0", "gpu", memory_bytes}, {"d1", "gpu", memory_bytes}}, ops, edges);
    structure = structure_of(*problem);
    const auto units = std::make_shared<const Groups>(problem->graph(), unit_of);
    grains.push_back({Units(*problem, problem->finest_groups(), {}, structure), 0, 10});
    grains.push_back({Units(*problem, units, {}, structure), kWeight, 10});
  }
  static constexpr double kWeight = 0.5;
};

}  // namespace

TEST_CASE("annealer: contracted and exact steps judge legs in turn, whichever begin") {
  const Chains chains;
  const auto simulator = std::make_shared<const Simulator>(chains.problem);
  const Placement placement(static_cast<std::size_t>(Chains::kOps), 0);
  Simulator::Workspace workspace;
  const double start_us = simulator->runtime_us(placement, workspace);
  const auto run = [&](std::int64_t moves, bool exact_first) {
    Annealer annealer(simulator, chains.grains, chains.structure);
    Annealer::Schedule schedule{};
    schedule.grain = 1;
    schedule.contracts = true;
    schedule.exact_first = exact_first;
    schedule.moves = moves;
    schedule.hottest_us = 5;
    schedule.coldest_us = 0.1;
    schedule.reach = 0.2;
    const Annealer::Result result =
        annealer.run({placement, start_us, 0}, schedule, /*seed=*/7, [] { return false; });
    CHECK(result.moves == moves);
    CHECK(result.best.objective_us < start_us);
    CHECK(result.best.objective_us ==
          doctest::Approx(simulator->runtime_us(result.best.placement, workspace)));
    return annealer.work().evaluations;
  };
  // One leg of 200 proposals on contracted steps, of which the best is confirmed, or of 100 exact ones.
  CHECK(run(200, false) < 10);
  CHECK(run(200, true) > 30);
  CHECK(run(200, true) <= 101);
  // Two legs: 120 exact ones in both orders.
  for (const bool exact_first : {false, true}) {
    CHECK(run(480, exact_first) > 30);
    CHECK(run(480, exact_first) < 130);
  }
}

// Links are so slow that all ops should be on one device, which does not hold them; both devices have room at first.
TEST_CASE("annealer: a chain that begins with room keeps nothing that does not fit") {
  const Chains chains(/*memory_bytes=*/700, /*bytes=*/8);
  const auto simulator = std::make_shared<const Simulator>(chains.problem);
  Placement halves;
  for (OpId op = 0; op < Chains::kOps; ++op) halves.push_back(op / 8 % 2);
  Simulator::Workspace workspace;
  Evaluation evaluation;
  simulator->evaluate(Placement(halves.size(), 0), workspace, evaluation);
  REQUIRE(evaluation.excess_bytes > 0);
  const double together_us = evaluation.objective_us;
  simulator->evaluate(halves, workspace, evaluation);
  REQUIRE(evaluation.excess_bytes == 0);
  REQUIRE(evaluation.peak_bytes[0] < 560);
  REQUIRE(evaluation.peak_bytes[1] < 560);
  REQUIRE(evaluation.objective_us > together_us);
  for (const bool contracts : {false, true}) {
    for (const std::size_t grain : {0, 1}) {
      if (contracts && grain == 0) continue;
      Annealer annealer(simulator, chains.grains, chains.structure);
      Annealer::Schedule schedule{};
      schedule.grain = grain;
      schedule.contracts = contracts;
      schedule.roomy = true;
      schedule.moves = 2000;
      schedule.hottest_us = 5;
      schedule.coldest_us = 0.1;
      schedule.reach = 0.5;
      const Solution start{halves, evaluation.objective_us, 0};
      const Solution best = annealer.run(start, schedule, /*seed=*/3, [] { return false; }).best;
      CHECK(best.excess_bytes == 0);
      Evaluation exact;
      simulator->evaluate(best.placement, workspace, exact);
      CHECK(exact.excess_bytes == 0);
      CHECK(best.objective_us == exact.objective_us);
      CHECK(best.objective_us <= start.objective_us);
    }
  }
}
