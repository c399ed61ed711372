#include "baechi/favourite_children.h"

#include <doctest/doctest.h>

#include "common/spread.h"
#include "plugins/small_problem.h"
#include "support/random_problem.h"

using namespace berth;
using namespace berth::policies;
using namespace berth::policies::baechi;
using namespace berth::test;

namespace {

std::vector<OpId> favourites_of(const Problem& problem, GroupId max_nodes = 1000,
                                const PlaceContext& context = {}) {
  return favourite_children(problem, MeanTimes(problem, spread_devices(problem, true)), max_nodes,
                            context);
}

}  // namespace

TEST_CASE("favourite children: the transfer that the step would wait for") {
  const std::vector<SmallDevice> machine{{"a", "x"}, {"b", "x"}};
  SUBCASE("a fork: the heavier branch") {
    const auto problem = small_problem(machine, {{{10}}, {{10}}, {{10}}}, {{0, 1, 3}, {0, 2, 8}});
    CHECK(favourites_of(*problem) == std::vector<OpId>{2, kNoOp, kNoOp});
  }
  SUBCASE("a fork: the longer branch, though its tensor is lighter") {
    const auto problem = small_problem(machine, {{{10}}, {{10}}, {{90}}}, {{0, 1, 8}, {0, 2, 3}});
    CHECK(favourites_of(*problem) == std::vector<OpId>{2, kNoOp, kNoOp});
  }
  SUBCASE("a join: one parent alone has it as its favourite") {
    const auto problem = small_problem(machine, {{{10}}, {{30}}, {{10}}}, {{0, 2, 5}, {1, 2, 5}});
    CHECK(favourites_of(*problem) == std::vector<OpId>{kNoOp, 2, kNoOp});
  }
  SUBCASE("a chain") {
    const auto problem = small_problem(machine, {{{10}}, {{10}}, {{10}}}, {{0, 1, 5}, {1, 2, 5}});
    CHECK(favourites_of(*problem) == std::vector<OpId>{1, 2, kNoOp});
  }
}

TEST_CASE("favourite children: at most one each way, whatever the graph") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    const auto graph =
        random_graph(random, {.ops = 60, .edge_chance = 0.1, .reach = 10, .max_bytes = 1 << 20});
    const auto cluster = random_cluster(random, {.devices = 3});
    const Problem problem(graph, cluster, random_costs(random, *graph, *cluster));
    std::vector<int> parents(60, 0);
    for (const OpId child : favourites_of(problem)) {
      if (child != kNoOp) ++parents[static_cast<std::size_t>(child)];
    }
    for (const int count : parents) CHECK(count <= 1);
  }
}

TEST_CASE("favourite children: large graphs are coarsened, a stopped solver prefers none") {
  const auto problem = small_problem({{"a", "x"}, {"b", "x"}}, std::vector<SmallOp>(6, {{10}}),
                                     {{0, 1, 900}, {1, 2, 5}, {2, 3, 900}, {3, 4, 5}, {4, 5, 900}});
  CHECK(favourites_of(*problem, 3) == std::vector<OpId>{1, 2, 3, 4, 5, kNoOp});
  PlaceContext stop;
  stop.should_stop = [] { return true; };
  CHECK(favourites_of(*problem, 3, stop) == std::vector<OpId>{1, kNoOp, 3, kNoOp, 5, kNoOp});
  CHECK(favourites_of(*problem, 1000, stop) == std::vector<OpId>(6, kNoOp));
}

TEST_CASE("m-sct: bad options") {
  const auto problem = small_problem({{"a", "x"}}, {{{1}}}, {});
  CHECK(complaint_of("m-sct", problem, ErrorCode::invalid_argument,
                     {{"lp_nodes", std::int64_t{0}}}) ==
        "policy 'm-sct': option 'lp_nodes' takes an integer from 1 to 1000000; got '0'");
}
