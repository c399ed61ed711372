// The smaller problems that auto searches on.
#include "auto/contracted.h"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "plugins/small_problem.h"
#include "support/random_problem.h"

using namespace berth;
using namespace berth::policies::auto_policy;
using namespace berth::test;

namespace {

struct Case {
  std::shared_ptr<const Problem> problem;
  std::shared_ptr<const Groups> units;  // through which cycles lead
  Placement placement;
};

/// A graph with signals, shared parameters and classes, and units that are unions of classes.
Case random_case(std::uint64_t seed, Semantics semantics, GroupId unit_count) {
  Random random(seed);
  const auto graph = random_graph(random, {.ops = 60,
                                           .edge_chance = 0.08,
                                           .colocate_chance = 0.3,
                                           .max_bytes = 100000,
                                           .max_param_bytes = 5000});
  const auto cluster = random_cluster(random, {.devices = 3});
  const auto costs = random_costs(random, *graph, *cluster, 100);
  ProblemOptions options;
  options.semantics = semantics;
  const auto problem = std::make_shared<const Problem>(graph, cluster, costs, nullptr, options);
  const auto classes = problem->finest_groups();
  std::vector<GroupId> unit_of_class;
  GroupPlacement devices;
  for (GroupId c = 0; c < classes->count(); ++c) {
    unit_of_class.push_back(unit_count > 0 ? static_cast<GroupId>(random.below(unit_count)) : c);
    devices.push_back(static_cast<DeviceId>(random.below(3)));
  }
  std::vector<GroupId> unit_of;
  for (OpId op = 0; op < graph->op_count(); ++op) {
    unit_of.push_back(unit_of_class[static_cast<std::size_t>(classes->of(op))]);
  }
  return {problem, std::make_shared<const Groups>(*graph, unit_of), classes->expand(devices)};
}

}  // namespace

TEST_CASE("contracted: what a unit has on one device moves together, and placements convert") {
  int smaller = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const Case sample = random_case(seed, Semantics::dataflow, 5);
    const Simulator simulator(sample.problem);
    // That there are no cycles is what lets the contracted graph be built.
    const Contracted contracted(simulator, *sample.units, sample.placement);
    const OpId ops = sample.problem->graph().op_count();
    smaller += contracted.problem()->graph().op_count() < ops ? 1 : 0;
    CHECK(contracted.expand(contracted.shrink(sample.placement)) == sample.placement);
    const auto moved = contracted.problem()->finest_groups();
    int wrong = 0;
    for (OpId op = 0; op < ops; ++op) {
      for (OpId other = 0; other < op; ++other) {
        const bool one_unit = sample.units->of(op) == sample.units->of(other);
        const bool one_device = sample.placement[static_cast<std::size_t>(op)] ==
                                sample.placement[static_cast<std::size_t>(other)];
        const bool together =
            moved->of(contracted.part_of(op)) == moved->of(contracted.part_of(other));
        wrong += together != (one_unit && one_device) ? 1 : 0;
      }
    }
    CHECK(wrong == 0);
  }
  CHECK(smaller > 20);
}

TEST_CASE("contracted: with a part for every op, all figures are the problem's") {
  for (const Semantics semantics : {Semantics::dataflow, Semantics::placeto}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      CAPTURE(seed);
      const Case sample = random_case(seed, semantics, 0);
      const Problem& problem = *sample.problem;
      std::vector<GroupId> alone;
      for (OpId op = 0; op < problem.graph().op_count(); ++op) alone.push_back(op);
      const Contracted contracted(problem, Groups(problem.graph(), alone));
      REQUIRE(contracted.problem()->graph().op_count() == problem.graph().op_count());
      Simulator::Workspace workspace;
      Evaluation original;
      Evaluation small;
      Simulator(sample.problem).evaluate(sample.placement, workspace, original);
      Simulator(contracted.problem())
          .evaluate(contracted.shrink(sample.placement), workspace, small);
      CHECK(small.runtime_us == doctest::Approx(original.runtime_us).epsilon(1e-9));
      for (std::size_t d = 0; d < small.busy_us.size(); ++d) {
        CHECK(small.busy_us[d] == doctest::Approx(original.busy_us[d]).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("contracted: on one device a step takes as long, and holds the same parameters") {
  for (const Semantics semantics : {Semantics::dataflow, Semantics::placeto}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      CAPTURE(seed);
      const Case sample = random_case(seed, semantics, 8);
      const Contracted contracted(*sample.problem, *sample.units);
      const Placement all(static_cast<std::size_t>(sample.problem->graph().op_count()), 1);
      const StepTrace original = Simulator(sample.problem).trace(all);
      const StepTrace small = Simulator(contracted.problem()).trace(contracted.shrink(all));
      CHECK(small.runtime_us == doctest::Approx(original.runtime_us).epsilon(1e-9));
      // The parts hold what lives through the step as they hold parameters.
      std::int64_t held = original.devices[1].param_bytes;
      for (OpId op = 0; op < sample.problem->graph().op_count(); ++op) {
        held += sample.problem->lasting_bytes(op);
      }
      CHECK(small.devices[1].param_bytes == held);
    }
  }
}

TEST_CASE("contracted: what constraints demand is demanded of the parts") {
  const auto free = small_problem({{"a", "x", 100}, {"b", "x", 100}, {"c", "x", 100}},
                                  {{{1}}, {{2}}, {{3}}}, {{0, 1, 1}, {1, 2, 1}});
  ConstraintRule pin;
  pin.ops.emplace_back().name = free->graph().op_name(1);
  pin.devices = {"b", "c"};
  const auto constraints = std::make_shared<const Constraints>(
      free->graph(), free->cluster(), free->costs(),
      std::vector<ConstraintRule>{pin, memory_margin_rule("10%", {"c"})});
  const Problem problem(free->shared_graph(), free->shared_cluster(), free->shared_costs(), nullptr,
                        {}, constraints);
  const Contracted contracted(problem, *problem.finest_groups());
  for (OpId op = 0; op < 3; ++op) {
    for (DeviceId device = 0; device < 3; ++device) {
      CHECK(contracted.problem()->allowed(contracted.part_of(op), device) ==
            problem.allowed(op, device));
    }
  }
  CHECK(contracted.problem()->memory_bytes(2) == 90);
}

TEST_CASE("gather: a group goes where it computes longest") {
  const auto problem = small_problem({{"a", "x"}, {"b", "x"}}, {{{5}}, {{2}}, {{2}}, {{1}}}, {});
  const Groups groups(problem->graph(), {0, 0, 0, 1});
  CHECK(gather(*problem, groups, Placement{0, 1, 1, 1}) == Placement{0, 0, 0, 1});
}
