// Placements to start from, on problems small enough to place by hand.
#include <doctest/doctest.h>

#include "berth/sdk/environment.h"
#include "plugins/small_problem.h"
#include "support/random_problem.h"

using namespace berth;
using namespace berth::test;

namespace {

const std::vector<SmallDevice> kTwoAndHost = {
    {"cpu", "cpu", kNoLimit, true}, {"a", "gpu"}, {"b", "gpu"}};

}  // namespace

TEST_CASE("contiguous: as many groups in their order on each device that is fast") {
  const SmallOp fast{{50, 10}};
  CHECK(contiguous_placement(*small_problem(kTwoAndHost, {fast, fast, fast, fast}, {})) ==
        GroupPlacement{1, 1, 2, 2});
  const SmallOp on_host_alone{{5, kCannotRun}};
  CHECK(contiguous_placement(*small_problem(kTwoAndHost, {fast, on_host_alone, fast, fast}, {})) ==
        GroupPlacement{1, 0, 2, 2});
  // A host that is less than twice as slow takes its part.
  const SmallOp alike{{15, 10}};
  CHECK(contiguous_placement(*small_problem(kTwoAndHost, {alike, alike, alike}, {})) ==
        GroupPlacement{0, 1, 2});
}

TEST_CASE("earliest: every group goes where it ends first, if those before it were all there is") {
  const SmallOp op{{50, 10}};
  // What 0 sends to 2 takes 100 us, to 3 it takes 5: 2 stays on its device, 3 goes where there is
  // room.
  const std::vector<SmallEdge> edges = {{0, 2, 100}, {0, 3, 5}};
  CHECK(earliest_placement(*small_problem(kTwoAndHost, {op, op, op, op}, edges)) ==
        GroupPlacement{1, 2, 1, 2});
  // All queue on the fast device until the other is as early.
  const std::vector<SmallDevice> unequal = {{"fast", "fast"}, {"slow", "slow"}};
  const SmallOp other{{10, 25}};
  CHECK(earliest_placement(*small_problem(unequal, {other, other, other}, {})) ==
        GroupPlacement{0, 0, 1});
}

TEST_CASE("a partial schedule knows what has been put, and nothing else") {
  const auto problem =
      small_problem({{"a", "gpu"}, {"b", "gpu"}}, {{{10}}, {{20}}, {{30}}}, {{0, 2, 7}, {1, 2, 9}});
  PartialSchedule schedule(*problem);
  CHECK(schedule.ready_us(2, 0) == 0);
  CHECK(schedule.end_us(2, 0) == 30);
  schedule.put(1, 1);
  CHECK(schedule.free_us(1) == 20);
  CHECK(schedule.ready_us(2, 1) == 20);
  CHECK(schedule.ready_us(2, 0) == 29);  // op 0 has not been put
  schedule.put(0, 0);
  schedule.put(2, 0);
  CHECK(schedule.free_us(0) == 59);
  CHECK(schedule.load_us(0) == 40);
  CHECK(schedule.load_us(1) == 20);
}

TEST_CASE("every start is a placement that devices can run") {
  Random random(23);
  for (int i = 0; i < 20; ++i) {
    const auto graph = random_graph(random, {.ops = 20, .colocate_chance = 0.2});
    const auto cluster = random_cluster(random, {.devices = 4, .kinds = 3});
    const auto costs = random_costs(random, *graph, *cluster, 100, 0.6);
    const Problem problem(graph, cluster, costs);
    for (const GroupPlacement& start :
         {zero_placement(problem), contiguous_placement(problem), earliest_placement(problem),
          random_placement(problem, random)}) {
      problem.validate(problem.groups().expand(start));
    }
  }
}
