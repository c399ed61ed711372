#include <doctest/doctest.h>

#include "plugins/small_problem.h"

using namespace berth;
using namespace berth::test;

TEST_CASE("single: the fastest device that holds everything") {
  const std::vector<SmallOp> ops{{{3, 1, 2}, 10}, {{3, 1, 2}, 10}};
  SUBCASE("the fastest") {
    const auto problem = small_problem({{"a", "x"}, {"b", "y"}, {"c", "z"}}, ops, {{0, 1, 5}});
    CHECK(placed("single", problem) == Placement{1, 1});
  }
  SUBCASE("not one that is too small") {
    const auto problem = small_problem({{"a", "x"}, {"b", "y", 15}, {"c", "z"}}, ops, {{0, 1, 5}});
    CHECK(placed("single", problem) == Placement{2, 2});
  }
  SUBCASE("none: each device's shortage is told") {
    const auto problem = small_problem({{"a", "x", 15}, {"b", "y", 12}, {"c", "z", 5}}, ops, {});
    const std::string message = complaint_of("single", problem, ErrorCode::infeasible);
    CHECK(
        message ==
        "no single device holds the graph: with a, it lacks 5 B; with b, it lacks 8 B; with c, it "
        "lacks 15 B; use a policy that spreads it, such as topo");
    // There is nothing to spread it over.
    CHECK(
        complaint_of("single", small_problem({{"a", "x", 15}}, ops, {}), ErrorCode::infeasible) ==
        "no single device holds the graph: with a, it lacks 5 B; give the machine more memory, or "
        "more devices");
  }
}

TEST_CASE("single: ops that the device cannot run go elsewhere") {
  const auto problem =
      small_problem({{"cpu", "x", kNoLimit, true}, {"gpu", "y"}},
                    {{{50, 1}}, {{50, kCannotRun}}, {{50, 1}}}, {{0, 1, 1}, {1, 2, 1}});
  CHECK(placed("single", problem) == Placement{1, 0, 1});
}

TEST_CASE("single: a device by name") {
  const auto problem = small_problem({{"cpu", "x", kNoLimit, true}, {"gpu", "y"}},
                                     {{{50, 1}}, {{50, 1}}}, {{0, 1, 1}});
  CHECK(placed("single", problem, {{"device", std::string("cpu")}}) == Placement{0, 0});
  CHECK(complaint_of("single", problem, ErrorCode::invalid_argument,
                     {{"device", std::string("tpu")}}) ==
        "policy single: no device 'tpu' in cluster 'small', which has cpu, gpu");
}
