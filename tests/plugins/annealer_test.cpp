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

  Chains() {
    std::vector<SmallOp> ops;
    std::vector<SmallEdge> edges;
    std::vector<GroupId> unit_of;
    for (OpId op = 0; op < kOps; ++op) {
      ops.push_back({{3.0 + op % 5}});
      unit_of.push_back(op / 8 * 2 + op % 2);
      if (op >= 2) edges.push_back({op - 2, op, 2});
      if (op >= 6 && op % 6 == 0) edges.push_back({op - 1, op, 1});
    }
    problem = small_problem({{"d0", "gpu"}, {"d1", "gpu"}}, ops, edges);
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
