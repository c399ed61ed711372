#include <doctest/doctest.h>

#include <algorithm>

#include "common/list_scheduling.h"
#include "heft/earliest_finish.h"
#include "plugins/small_problem.h"

using namespace berth;
using namespace berth::policies;
using namespace berth::policies::heft;
using namespace berth::test;

namespace {

/// The example of Topcuoglu, Hariri, Wu (TPDS 2002), figures 2 to 4 and table 2: ten tasks, three
/// processors, transfers that do not wait for each other.
std::shared_ptr<const Problem> published_example() {
  const std::vector<SmallOp> tasks{{{14, 16, 9}},  {{13, 19, 18}}, {{11, 13, 19}}, {{13, 8, 17}},
                                   {{12, 13, 10}}, {{13, 16, 9}},  {{7, 15, 11}},  {{5, 11, 14}},
                                   {{18, 12, 20}}, {{21, 7, 16}}};
  const std::vector<SmallEdge> edges{{0, 1, 18}, {0, 2, 12}, {0, 3, 9},  {0, 4, 11}, {0, 5, 14},
                                     {1, 7, 19}, {1, 8, 16}, {2, 6, 23}, {3, 7, 27}, {3, 8, 23},
                                     {4, 8, 13}, {5, 7, 15}, {6, 9, 17}, {7, 9, 11}, {8, 9, 13}};
  return small_problem({{"p1", "x"}, {"p2", "y"}, {"p3", "z"}}, tasks, edges);
}

double makespan_us(const Schedule& schedule, const Problem& problem) {
  double last_us = 0;
  for (OpId op = 0; op < problem.graph().op_count(); ++op) {
    last_us = std::max(last_us, schedule.end_us(op));
  }
  return last_us;
}

}  // namespace

TEST_CASE("heft: the published example") {
  const auto problem = published_example();
  const std::vector<DeviceId> devices{0, 1, 2};
  const std::vector<double> ranks_us = upward_ranks_us(*problem, MeanTimes(*problem, devices));
  const double published[] = {108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333, 14.667};
  for (std::size_t op = 0; op < 10; ++op) {
    CHECK(ranks_us[op] == doctest::Approx(published[op]).epsilon(1e-4));
  }
  // Tasks 3 and 4 rank equal up to rounding.
  std::vector<OpId> order = by_rank(problem->graph(), ranks_us);
  std::sort(order.begin() + 1, order.begin() + 3);
  CHECK(order == std::vector<OpId>{0, 2, 3, 1, 4, 5, 8, 6, 7, 9});

  const Schedule schedule =
      schedule_by_earliest_finish(*problem, devices, {.contention = false}, {});
  CHECK(makespan_us(schedule, *problem) == 80);
  const GroupPlacement published_devices{2, 0, 2, 1, 2, 1, 2, 0, 1, 1};
  CHECK(schedule.placement() == published_devices);
  CHECK(placed("heft", problem, {{"contention", false}}) ==
        problem->groups().expand(published_devices));
}

TEST_CASE("heft: an op goes into a gap that it does not lengthen") {
  // op0 -> op1 leaves device b waiting for 50 bytes; op2 and op3 rank lower and fit before.
  const auto problem = small_problem(
      {{"a", "x"}, {"b", "y"}}, {{{10, 100}}, {{200, 20}}, {{30, 25}}, {{30, 5}}}, {{0, 1, 50}});
  const Schedule schedule = schedule_by_earliest_finish(*problem, {0, 1}, {}, {});
  CHECK(schedule.placement() == GroupPlacement{0, 1, 1, 1});
  CHECK(schedule.end_us(1) == 80);
  CHECK(schedule.end_us(2) == 25);
  CHECK(schedule.end_us(3) == 30);
}

TEST_CASE("heft: transfers on one engine follow each other where they contend") {
  // op0 feeds three ops with 40 bytes each; together they take 100 on device a.
  const auto problem = small_problem({{"a", "x"}, {"b", "y"}, {"c", "y"}},
                                     {{{1, 1000}}, {{50, 4}}, {{50, 4}}, {{50, 4}}},
                                     {{0, 1, 40}, {0, 2, 40}, {0, 3, 40}});
  const std::vector<DeviceId> devices{0, 1, 2};
  const Schedule alone = schedule_by_earliest_finish(*problem, devices, {.contention = false}, {});
  CHECK(alone.placement() == GroupPlacement{0, 1, 2, 1});
  CHECK(makespan_us(alone, *problem) == 49);
  const Schedule contended = schedule_by_earliest_finish(*problem, devices, {}, {});
  CHECK(contended.placement() == GroupPlacement{0, 1, 0, 1});
  CHECK(makespan_us(contended, *problem) == 85);
  const auto evaluator = make_simulation_evaluator(problem, 1);
  CHECK(evaluator->evaluate(placed("heft", problem)).objective_us == 85);
}

TEST_CASE("heft: transfers follow each other on a link, and not on two links with an engine each") {
  const SmallDevice a{.name = "a", .kind = "x", .engine_per_link = true};
  const auto problem =
      small_problem({a, {"b", "y"}, {"c", "y"}}, {{{1, 1000}}, {{50, 4}}, {{50, 4}}, {{50, 4}}},
                    {{0, 1, 40}, {0, 2, 40}, {0, 3, 40}});
  const Schedule schedule = schedule_by_earliest_finish(*problem, {0, 1, 2}, {}, {});
  CHECK(schedule.placement() == GroupPlacement{0, 1, 2, 0});
  CHECK(makespan_us(schedule, *problem) == 51);
  const auto evaluator = make_simulation_evaluator(problem, 1);
  CHECK(evaluator->evaluate(placed("heft", problem)).objective_us == 51);
}

TEST_CASE("heft: a tensor is sent once per device") {
  GraphBuilder builder("fan");
  TensorInfo info;
  info.bytes = 40;
  for (int i = 0; i < 3; ++i) builder.add_op("op" + std::to_string(i), "Op");
  const TensorId tensor = builder.add_output(0, info);
  builder.add_input(1, tensor);
  builder.add_input(2, tensor);
  const auto machine = small_problem({{"a", "x"}, {"b", "y"}}, {{{1, 1}}}, {});
  const Problem problem(
      builder.build(), machine->shared_cluster(),
      std::make_shared<const Costs>(std::vector<std::vector<double>>{{1, 100, 100}, {1000, 10, 10}},
                                    std::vector<std::int64_t>(), "test"));
  const Schedule schedule = schedule_by_earliest_finish(problem, {0, 1}, {}, {});
  CHECK(schedule.placement() == GroupPlacement{0, 1, 1});
  CHECK(makespan_us(schedule, problem) == 61);
}

TEST_CASE("heft: memory, kinds and hosts") {
  SUBCASE("parameters fill a device") {
    const auto problem = small_problem({{"a", "x", 100}, {"b", "y", 100}},
                                       {{{1, 9}, 60}, {{1, 9}, 30}, {{1, 9}, 30}}, {});
    CHECK(placed("heft", problem) == Placement{0, 0, 1});
  }
  SUBCASE("outputs fill a device: the evaluator tells") {
    // op0 and op1 are quicker on a, but both outputs wait there for op2.
    const auto problem = small_problem({{"a", "x", 100}, {"b", "y", 200}},
                                       {{{1, 2}}, {{1, 9}}, {{1, 9}}}, {{0, 2, 60}, {1, 2, 60}});
    const auto evaluator = make_simulation_evaluator(problem, 1);
    CHECK(evaluator->evaluate(placed("heft", problem)).feasible);
    CHECK(placed("heft", problem, {{"repair", false}}) == Placement{0, 0, 0});
  }
  SUBCASE("a host only where it is asked in, or alone able") {
    const auto problem = small_problem({{"cpu", "host", kNoLimit, true}, {"gpu", "gpu"}},
                                       {{{5, 9}}, {{5, kCannotRun}}}, {});
    CHECK(placed("heft", problem, {{"hosts", true}}) == Placement{0, 0});
    CHECK(placed("heft", problem, {{"hosts", false}}) == Placement{1, 0});
  }
}

TEST_CASE("heft: stopped early, the rest goes where it can run") {
  std::vector<SmallOp> ops(2000, {{kCannotRun, 1}});
  const auto problem = small_problem({{"a", "x"}, {"b", "y"}}, ops, {});
  PlaceContext context;
  context.should_stop = [] { return true; };
  const Schedule schedule = schedule_by_earliest_finish(*problem, {0, 1}, {}, context);
  CHECK_FALSE(schedule.placed(1999));
  CHECK(schedule.placement() == GroupPlacement(2000, 1));
}
