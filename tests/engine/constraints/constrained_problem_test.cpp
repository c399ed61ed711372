// What a Problem makes of constraints: groups, costs, memory, validation, bounds.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "berth/evaluator.h"
#include "plugins/small_problem.h"
#include "support/constrained_chain.h"
#include "support/expect_error.h"
#include "support/random_problem.h"

using namespace berth;
using namespace berth::test;

TEST_CASE("Problem under constraints: what groups may run where") {
  const Chain chain;
  const auto problem =
      chain.problem({pin(typed("A"), {"gpu:1"}), colocate({named("a/1"), named("out")}),
                     memory_margin_rule("25%", {"gpu:1"})});
  const auto group = [&](OpId op) { return problem->groups().of(op); };
  CHECK(group(Chain::kA1) == group(Chain::kOut));
  CHECK(problem->groups().count() == 4);
  CHECK(problem->finest_groups()->count() == 4);
  CHECK_FALSE(problem->can_run(group(Chain::kA1), Chain::kGpu0));
  CHECK(problem->can_run(group(Chain::kA1), Chain::kGpu1));
  CHECK(problem->group_cost_us(group(Chain::kA1), Chain::kGpu1) == 2);
  CHECK(problem->group_cost_us(group(Chain::kA1), Chain::kGpu0) == kCannotRun);
  CHECK(problem->cost_us(Chain::kOut, Chain::kGpu0) == kCannotRun);
  CHECK(problem->cost_us(Chain::kIn, Chain::kCpu) == 3);
  CHECK_FALSE(problem->allowed(Chain::kA2, Chain::kCpu));
  CHECK(problem->memory_bytes(Chain::kGpu0) == 1000);
  CHECK(problem->memory_bytes(Chain::kGpu1) == 750);
  // gpu:0 and gpu:1 are of one kind and not of one class.
  CHECK(problem->device_class(Chain::kGpu0) != problem->device_class(Chain::kGpu1));
  CHECK(problem->device_class_count() == 3);

  const Problem free(chain.graph, chain.cluster, chain.costs);
  CHECK(free.constraints() == nullptr);
  CHECK(free.device_class(Chain::kGpu0) == free.device_class(Chain::kGpu1));
  CHECK(free.allowed(Chain::kA1, Chain::kGpu0));
  CHECK(free.memory_bytes(Chain::kGpu1) == 1000);
}

TEST_CASE("Problem under constraints: given groups are made to obey") {
  const Chain chain;
  const auto all_in_one =
      std::make_shared<const Groups>(*chain.graph, std::vector<GroupId>{0, 0, 0, 0, 0, 0});
  // Cut where devices differ, in topological order.
  const auto pinned =
      chain.problem({pin(named("a/1"), {"gpu:0"}), pin(named("a/2"), {"gpu:1"})}, all_in_one);
  CHECK(std::vector<GroupId>(pinned->groups().map().begin(), pinned->groups().map().end()) ==
        std::vector<GroupId>{0, 1, 2, 3, 3, 4});
  const auto apart = chain.problem({separate({named("in/x"), named("out")})}, all_in_one);
  CHECK(apart->groups().of(Chain::kIn) != apart->groups().of(Chain::kOut));
  // Between them b, which could keep neither from the host.
  CHECK(apart->groups().count() == 3);
  // Groups that a rule joins become one, but for b, which the host cannot run.
  const auto two =
      std::make_shared<const Groups>(*chain.graph, std::vector<GroupId>{0, 0, 0, 1, 1, 1});
  const auto joined = chain.problem({colocate({named("in/x"), named("out")})}, two);
  CHECK(std::vector<GroupId>(joined->groups().map().begin(), joined->groups().map().end()) ==
        std::vector<GroupId>{0, 0, 0, 1, 1, 0});
}

TEST_CASE("Problem under constraints: a placement that breaks a rule is told with the rule") {
  const Chain chain;
  const auto problem =
      chain.problem({pin(named("a/1"), {"gpu:0"}), colocate({typed("A"), typed("In")}),
                     separate({named("out"), typed("B")})});
  constexpr DeviceId g0 = Chain::kGpu0, g1 = Chain::kGpu1;
  CHECK_NOTHROW(problem->validate({g0, g0, g0, g0, g0, g1}));
  expect_error(ErrorCode::invalid_argument, {"'in/x'", "not allowed", "'gpu:1'", "pin"}, [&] {
    problem->validate({g1, g1, g1, g0, g0, g1});
  });
  // Rules on one op bind what is co-located with it.
  expect_error(ErrorCode::invalid_argument, {"'a/2'", "not allowed", "'gpu:1'", "pin"}, [&] {
    problem->validate({g0, g0, g1, g0, g0, g1});
  });
  expect_error(ErrorCode::invalid_argument, {"'b/1'", "'out'", "apart", "'gpu:1'", "separate"},
               [&] {
                 problem->validate({g0, g0, g0, g1, g1, g1});
               });
  const auto together = chain.problem({colocate({typed("A")})});
  expect_error(ErrorCode::invalid_argument, {"'a/1'", "'a/2'", "must share", "colocate"}, [&] {
    together->validate({g0, g0, g1, g1, g1, g1});
  });

  // A search may evaluate what is not apart; it is not feasible.
  const auto evaluator = make_simulation_evaluator(problem, 1);
  const Evaluation crowded = evaluator->evaluate({g0, g0, g0, g1, g1, g1});
  CHECK_FALSE(crowded.feasible);
  CHECK(crowded.worst_device == g1);
  CHECK(crowded.excess_bytes == 0);
  CHECK(evaluator->evaluate({g0, g0, g0, g0, g0, g1}).feasible);
  CHECK_THROWS_AS(static_cast<void>(evaluator->evaluate({g1, g1, g1, g0, g0, g1})), Error);
}

TEST_CASE("Problem under constraints: margins decide what fits") {
  const Chain chain;
  const Placement on_gpu0(6, Chain::kGpu0);
  const std::int64_t peak =
      make_simulation_evaluator(chain.problem({}), 1)->evaluate(on_gpu0).peak_bytes[Chain::kGpu0];
  REQUIRE(peak > 100);
  REQUIRE(peak < 1000);
  const auto margin = [&](std::int64_t bytes) {
    return make_simulation_evaluator(chain.problem({memory_margin_rule(std::to_string(bytes), {})}),
                                     1);
  };
  CHECK(margin(1000 - peak)->evaluate(on_gpu0).feasible);
  const Evaluation over = margin(1000 - peak + 1)->evaluate(on_gpu0);
  CHECK_FALSE(over.feasible);
  CHECK(over.excess_bytes == 1);
}

TEST_CASE("Problem under constraints: what one device may not hold is elsewhere") {
  const Chain chain;
  const auto best = [&](std::vector<ConstraintRule> rules) {
    const auto problem = chain.problem(std::move(rules));
    const SingleDevice single = best_single_device(*make_simulation_evaluator(problem, 1));
    REQUIRE(single.device != kNoDevice);
    problem->validate(single.placement);
    return single_device_text(*problem, single);
  };
  CHECK(best({}) == "gpu:0");
  CHECK(best({pin(named("a/1"), {"gpu:1"})}) == "gpu:1");
  CHECK(best({separate({named("a/1"), named("a/2")})}) ==
        "gpu:0 for all that it can run, cpu:0 for 1 op");
  CHECK(best({pin(named("in/x"), {"cpu:0"})}) == "gpu:0 for all that it can run, cpu:0 for 1 op");
}

TEST_CASE("lower_bound under constraints: sees what rules leave of the kinds") {
  const Chain chain;
  const double unbound = lower_bound(*chain.problem({})).us;
  CHECK(unbound == doctest::Approx(6));
  // The host takes 3 us for each of in, a/1 and a/2, then 100 us to send to where b can run.
  CHECK(lower_bound(*chain.problem({pin(like("in.*|a/.*"), {"host"})})).us ==
        doctest::Approx(9 + 100 + 3));
}

TEST_CASE("lower_bound under constraints: below every placement that obeys") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto graph = random_graph(random, {.ops = 5, .edge_chance = 0.4, .max_param_bytes = 100});
    const auto cluster =
        random_cluster(random, {.devices = 3, .kinds = 2, .memory_bytes = 2'000'000});
    const auto costs = random_costs(random, *graph, *cluster, 100, 0.2);
    std::vector<ConstraintRule> rules{memory_margin_rule("20%", {"d1"})};
    for (int i = 0; i < 3; ++i) {
      rules.push_back(forbid(named(graph->op_name(static_cast<OpId>(random.below(5)))),
                             {"d" + std::to_string(random.below(3))}));
    }
    rules.push_back(separate({named(graph->op_name(0)), named(graph->op_name(4))}));
    std::shared_ptr<const Constraints> constraints;
    try {
      constraints = std::make_shared<const Constraints>(*graph, *cluster, *costs, rules);
    } catch (const Error&) {
      continue;
    }
    for (const Objective objective : {Objective::latency, Objective::throughput}) {
      ProblemOptions options;
      options.objective = objective;
      const auto problem =
          std::make_shared<const Problem>(graph, cluster, costs, nullptr, options, constraints);
      const double bound = lower_bound(*problem).us;
      const auto evaluator = make_simulation_evaluator(problem, 1);
      for (int code = 0; code < 3 * 3 * 3 * 3 * 3; ++code) {
        Placement placement;
        for (int rest = code, op = 0; op < 5; ++op, rest /= 3) placement.push_back(rest % 3);
        try {
          problem->validate(placement);
        } catch (const Error&) {
          continue;
        }
        const Evaluation evaluation = evaluator->evaluate(placement);
        if (evaluation.feasible) CHECK(evaluation.objective_us >= bound * (1 - 1e-9));
      }
    }
  }
}

TEST_CASE("coarsen under constraints: groups that can be placed, apart, and no more than asked") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto graph =
        random_graph(random, {.ops = 60, .edge_chance = 0.1, .colocate_chance = 0.1});
    const auto cluster = random_cluster(random, {.devices = 4, .kinds = 2});
    const auto costs = random_costs(random, *graph, *cluster);
    const auto op_name = [&] { return graph->op_name(static_cast<OpId>(random.below(60))); };
    const std::vector<ConstraintRule> rules{
        pin(named(op_name()), {"d0"}), pin(named(op_name()), {"d1"}),
        separate({named(op_name()), named(op_name()), named(op_name())}),
        colocate({named(op_name()), named(op_name())})};
    std::shared_ptr<const Constraints> constraints;
    try {
      constraints = std::make_shared<const Constraints>(*graph, *cluster, *costs, rules);
    } catch (const Error&) {
      continue;
    }
    const auto groups = coarsen(*graph, *costs, 8, constraints.get());
    CHECK(groups->count() <= 10);
    const Problem problem(graph, cluster, costs, groups, {}, constraints);
    // Nothing was left for the problem to mend
    // (numbers may differ where two groups have the same mean position).
    CHECK(problem.groups().count() == groups->count());
    for (OpId op = 0; op < graph->op_count(); ++op) {
      const OpId first = groups->members(groups->of(op)).front();
      CHECK(problem.groups().of(op) == problem.groups().of(first));
    }
  }
}

TEST_CASE("a regrouped evaluator has the constraints of the problem") {
  const Chain chain;
  const auto problem = chain.problem({pin(named("a/1"), {"gpu:1"})});
  const auto evaluator = make_simulation_evaluator(problem, 1);
  const auto groups = coarsen(*chain.graph, *chain.costs, 2);
  const auto regrouped = make_regrouped_evaluator(*evaluator, groups);
  const Problem& other = regrouped->problem();
  CHECK(other.constraints() == problem->constraints());
  const GroupId pinned = other.groups().of(Chain::kA1);
  CHECK(other.can_run(pinned, Chain::kGpu1));
  CHECK_FALSE(other.can_run(pinned, Chain::kGpu0));
}

TEST_CASE("coarsening within zones merges nothing of two zones, and obeys constraints") {
  Random random(3);
  for (int i = 0; i < 10; ++i) {
    CAPTURE(i);
    const auto graph =
        random_graph(random, {.ops = 60, .edge_chance = 0.1, .colocate_chance = 0.1});
    const auto cluster = random_cluster(random, {.devices = 3, .kinds = 2});
    const auto costs = random_costs(random, *graph, *cluster, 100, 0.2);
    const auto base = colocation_groups(*graph);
    std::vector<std::int32_t> zone_of;
    for (GroupId group = 0; group < base->count(); ++group) {
      zone_of.push_back(static_cast<std::int32_t>(random.below(4)) * 1000);
    }
    const auto groups = coarsen_zones(*graph, *costs, base, 8, zone_of, nullptr);
    CHECK(groups->count() < base->count());
    const Problem problem(graph, cluster, costs, groups);
    for (OpId op = 0; op < graph->op_count(); ++op) {
      const OpId first = groups->members(groups->of(op)).front();
      CHECK(zone_of[at(base->of(op))] == zone_of[at(base->of(first))]);
      for (DeviceId device = 0; device < 3; ++device) {
        CHECK((problem.cost_us(op, device) < kCannotRun) ==
              (problem.cost_us(first, device) < kCannotRun));
      }
    }
    expect_error(ErrorCode::invalid_argument, {"1 zones for"}, [&] {
      static_cast<void>(
          coarsen_zones(*graph, *costs, base, 8, std::vector<std::int32_t>(1), nullptr));
    });
  }
  // Where nothing else is in the way, as many as are asked for; a zone has one at least.
  std::vector<SmallEdge> edges;
  for (OpId op = 1; op < 40; ++op) edges.push_back({op - 1, op, 8});
  const auto row =
      small_problem({{"a", "gpu"}, {"b", "gpu"}}, std::vector<SmallOp>(40, SmallOp{{10}}), edges);
  std::vector<std::int32_t> quarters;
  for (GroupId group = 0; group < 40; ++group) quarters.push_back(group / 10);
  for (const GroupId count : {1, 4, 6, 40}) {
    CHECK(coarsen_zones(row->graph(), row->costs(), row->shared_groups(), count, quarters, nullptr)
              ->count() == std::max(count, 4));
  }
  const Chain chain;
  const Constraints apart(
      *chain.graph, *chain.cluster, *chain.costs,
      {separate({named("in/x"), named("out")}), forbid(named("a/2"), {"gpu:0"})});
  const std::vector<std::int32_t> one_zone(at(apart.classes()->count()), 7);
  const auto groups =
      coarsen_zones(*chain.graph, *chain.costs, apart.classes(), 1, one_zone, &apart);
  CHECK(groups->of(Chain::kIn) != groups->of(Chain::kOut));
  CHECK(groups->of(Chain::kA1) != groups->of(Chain::kA2));
}
