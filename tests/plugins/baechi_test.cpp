#include <doctest/doctest.h>

#include "baechi/earliest_task.h"
#include "plugins/small_problem.h"
#include "support/random_problem.h"

using namespace berth;
using namespace berth::policies;
using namespace berth::policies::baechi;
using namespace berth::test;

TEST_CASE("m-topo: devices fill in topological order up to their share and the largest op") {
  const std::vector<SmallDevice> machine{{"cpu", "host", kNoLimit, true}, {"a", "x"}, {"b", "x"}};
  const std::vector<SmallOp> ops(4, {{1, 1}, 10});
  const auto problem = small_problem(machine, ops, {});
  // A share is 40 / 2 + 10 bytes.
  CHECK(placed("m-topo", problem) == Placement{1, 1, 1, 2});
  // 40 / 3 + 10.
  CHECK(placed("m-topo", problem, {{"hosts", true}}) == Placement{0, 0, 1, 1});

  SUBCASE("outputs count too") {
    const auto wide = small_problem({{"a", "x"}, {"b", "x"}}, {{{1}}, {{1}}, {{1}}, {{1}}},
                                    {{0, 1, 30}, {1, 2, 10}, {2, 3, 10}});
    // A share is 50 / 2 + 30 bytes; the last op has none.
    CHECK(placed("m-topo", wide) == Placement{0, 0, 0, 0});
    const auto narrow = small_problem({{"a", "x"}, {"b", "x"}}, {{{1}}, {{1}}, {{1}}, {{1}}},
                                      {{0, 1, 10}, {1, 2, 10}, {2, 3, 10}});
    CHECK(placed("m-topo", narrow) == Placement{0, 0, 1, 1});
  }
}

TEST_CASE("m-etf: what can start first goes first, the higher rank among equals") {
  // Ranks: op0 10, op2 7, op1 5. op1 starts at once where op0 was.
  const auto problem = small_problem({{"a", "x"}, {"b", "x"}}, {{{5}}, {{5}}, {{7}}}, {{0, 1, 10}});
  const Schedule schedule = schedule_earliest_task_first(*problem, {0, 1}, {}, {}, {});
  CHECK(schedule.placement() == GroupPlacement{0, 0, 1});
  CHECK(schedule.end_us(1) == 10);
  CHECK(schedule.end_us(2) == 7);

  SUBCASE("where two devices could start an op at once, it goes where it ends first") {
    const auto uneven = small_problem({{"slow", "x"}, {"fast", "y"}}, {{{9, 2}}}, {});
    CHECK(placed("m-etf", uneven) == Placement{1});
  }
  SUBCASE(
      "where an op also ends at once everywhere, the fastest device in all takes it and what "
      "follows") {
    const std::vector<SmallOp> ops{{{1, 1}}, {{9, 2}}};
    const std::vector<SmallEdge> edges{{0, 1, 100}};
    for (const char* policy : {"m-etf", "m-sct"}) {
      CHECK(placed(policy, small_problem({{"slow", "x"}, {"fast", "y"}}, ops, edges)) ==
            Placement{1, 1});
      CHECK(placed(policy, small_problem({{"fast", "y"}, {"slow", "x"}}, {{{1, 1}}, {{2, 9}}},
                                         edges)) == Placement{0, 0});
    }
  }
  SUBCASE("hosts only where asked in") {
    const auto mixed = small_problem({{"cpu", "host", kNoLimit, true}, {"gpu", "gpu"}},
                                     {{{50, 1}}, {{50, 1}}, {{50, kCannotRun}}}, {});
    CHECK(placed("m-etf", mixed) == Placement{1, 1, 0});
    CHECK(placed("m-etf", mixed, {{"hosts", true}}) == Placement{1, 1, 0});
    const auto plain = small_problem({{"cpu", "host", kNoLimit, true}, {"gpu", "gpu"}},
                                     {{{50, 1}}, {{50, 1}}}, {});
    CHECK(placed("m-etf", plain, {{"hosts", true}}) == Placement{1, 0});
  }
}

TEST_CASE("m-etf: a full device is passed over; members of a group follow the first") {
  const auto problem = small_problem({{"a", "x", 100}, {"b", "x", 100}},
                                     {{{1}, 90}, {{1}, 60}, {{1}, 30}}, {{0, 1, 0}, {1, 2, 0}});
  CHECK(placed("m-etf", problem) == Placement{0, 1, 1});

  GraphBuilder builder("classes");
  for (int i = 0; i < 4; ++i) builder.add_op("op" + std::to_string(i), "Op");
  builder.set_colocation(0, "one");
  builder.set_colocation(3, "one");
  const auto machine = small_problem({{"a", "x"}, {"b", "x"}}, {{{1}}}, {});
  const Problem classes(
      builder.build(), machine->shared_cluster(),
      std::make_shared<const Costs>(std::vector<std::vector<double>>{{5, 4, 3, 2}},
                                    std::vector<std::int64_t>(), "test"));
  const Schedule schedule = schedule_earliest_task_first(classes, {0, 1}, {}, {}, {});
  CHECK(classes.groups().expand(schedule.placement()) == Placement{0, 1, 1, 0});
  CHECK(schedule.end_us(3) == 7);
}

TEST_CASE("m-sct: a device waits for its last op's favourite child") {
  // op0 on a, op1 on b. At 10 device a could start op3, which takes long; at 17 it could start op2,
  // which would wait for op0's 50 bytes elsewhere.
  const auto problem = small_problem({{"a", "x"}, {"b", "x"}}, {{{10}}, {{12}}, {{10}}, {{100}}},
                                     {{0, 2, 50}, {1, 2, 5}, {0, 3, 40}});
  const std::vector<DeviceId> devices{0, 1};
  const Schedule etf = schedule_earliest_task_first(*problem, devices, {}, {}, {});
  CHECK(etf.placement() == GroupPlacement{0, 1, 1, 0});
  CHECK(etf.end_us(2) == 70);
  CHECK(etf.end_us(3) == 110);
  const std::vector<OpId> favourites{2, kNoOp, kNoOp, kNoOp};
  const Schedule sct = schedule_earliest_task_first(*problem, devices, {}, favourites, {});
  CHECK(sct.placement() == GroupPlacement{0, 1, 0, 0});
  CHECK(sct.end_us(2) == 27);
  CHECK(sct.end_us(3) == 127);

  SUBCASE("but an urgent op, whose inputs would be anywhere by then, may go before") {
    const auto urgent =
        small_problem({{"a", "x"}, {"b", "x"}}, {{{10}}, {{12}}, {{10}}, {{100}}, {{3}}},
                      {{0, 2, 50}, {1, 2, 5}, {0, 3, 40}});
    const Schedule schedule =
        schedule_earliest_task_first(*urgent, devices, {}, {2, kNoOp, kNoOp, kNoOp, kNoOp}, {});
    CHECK(schedule.end_us(4) == 13);
    CHECK(schedule.end_us(2) == 27);
  }
}

TEST_CASE("earliest task first: what it says fits, fits") {
  int fitting = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const auto graph = random_graph(
        random,
        {.ops = 40, .edge_chance = 0.15, .reach = 6, .max_bytes = 1000, .max_param_bytes = 500});
    const auto cluster = random_cluster(
        random, {.devices = 4,
                 .kinds = 2,
                 .memory_bytes = 3000 + static_cast<std::int64_t>(random.below(12000))});
    const auto costs = random_costs(random, *graph, *cluster);
    for (const Semantics semantics : {Semantics::dataflow, Semantics::placeto}) {
      ProblemOptions options;
      options.semantics = semantics;
      const auto problem = std::make_shared<const Problem>(graph, cluster, costs, nullptr, options);
      const Schedule schedule =
          schedule_earliest_task_first(*problem, {0, 1, 2, 3}, {.output_share = 1}, {}, {});
      if (!schedule.fits()) continue;
      ++fitting;
      const auto evaluator = make_simulation_evaluator(problem, 1);
      CHECK(evaluator->evaluate(problem->groups().expand(schedule.placement())).feasible);
    }
  }
  CHECK(fitting > 20);
  CHECK(fitting < 110);
}
