// No heap allocation once a workspace is warm.
#include <doctest/doctest.h>

#include "berth/simulator.h"
#include "support/allocations.h"
#include "support/layered_problem.h"
#include "support/tangled_problem.h"

namespace berth::test {
namespace {

/// Allocations of further calls on each of `placements`, after one call on each.
long warm_allocations(const std::shared_ptr<const Problem>& problem,
                      const std::vector<Placement>& placements) {
  const Simulator simulator(problem);
  Simulator::Workspace workspace;
  Evaluation evaluation;
  long before = 0;
  for (int round = 0; round < 2; ++round) {
    before = allocations;
    for (const Placement& placement : placements) {
      simulator.evaluate(placement, workspace, evaluation);
      (void)simulator.runtime_us(placement, workspace);
    }
  }
  return allocations - before;
}

TEST_CASE("a warm workspace allocates nothing") {
  for (const Semantics semantics : {Semantics::placeto, Semantics::dataflow}) {
    for (const Objective objective : {Objective::latency, Objective::throughput}) {
      for (const int devices : {3, 20}) {
        Random random(static_cast<std::uint64_t>(devices));
        TangledShape shape;
        shape.ops = 300;
        shape.devices = devices;
        const auto problem = tangled_problem(random, semantics, objective, shape);
        std::vector<Placement> placements;
        for (int i = 0; i < 10; ++i) placements.push_back(any_placement(random, *problem));
        CHECK(warm_allocations(problem, placements) == 0);
      }
    }
  }
}

TEST_CASE("one placement is enough to warm a workspace for any other") {
  for (const Semantics semantics : {Semantics::placeto, Semantics::dataflow}) {
    LayeredShape layered;
    layered.ops = 2000;
    layered.ties = true;
    const auto graph = layered_graph(1, layered);
    const auto cluster = equal_devices(4, 5);
    ProblemOptions options;
    options.semantics = semantics;
    const Simulator simulator(std::make_shared<const Problem>(
        graph, cluster, Costs::stated(*graph, *cluster), nullptr, options));
    Simulator::Workspace workspace;
    Evaluation evaluation;
    simulator.evaluate(contiguous_placement(2000, 1), workspace, evaluation);
    Random random(2);
    const Placement other = random_placement(random, 2000, 4);
    const long before = allocations;
    simulator.evaluate(other, workspace, evaluation);
    CHECK(allocations == before);
  }
}

}  // namespace
}  // namespace berth::test
