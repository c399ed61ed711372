#include <doctest/doctest.h>

#include <vector>

#include "berth/evaluator.h"
#include "berth/sdk/environment.h"
#include "berth/support/index.h"
#include "plugins/small_problem.h"
#include "support/random_problem.h"

using namespace berth;
using namespace berth::test;

namespace {

double step_us(const std::shared_ptr<const Problem>& problem, const Placement& placement) {
  problem->validate(placement);
  return make_simulation_evaluator(problem, 1)->evaluate(placement).objective_us;
}

/// Chains beside each other whose ops send much: each belongs on a device of its own, and a single op
/// that leaves its chain makes the step longer.
std::shared_ptr<const Problem> chains(OpId count, OpId length) {
  std::vector<SmallEdge> edges;
  for (OpId op = 0; op < count * length; ++op) {
    if ((op + 1) % length != 0) edges.push_back({op, op + 1, 1000});
  }
  return small_problem({{"a", "gpu"}, {"b", "gpu"}, {"c", "gpu"}},
                       std::vector<SmallOp>(at(count * length), SmallOp{{10}}), edges);
}

}  // namespace

TEST_CASE("lookahead: whole chains move where no single op can") {
  const auto problem = chains(3, 24);
  CHECK(step_us(problem, placed("lookahead", problem, {{"neighbourhood", "0"}})) == 240);
}

TEST_CASE("lookahead: neighbourhoods make the coarse placement better, and the seed decides") {
  Random random(4);
  int better = 0;
  for (int i = 0; i < 6; ++i) {
    CAPTURE(i);
    const auto graph = random_graph(random, {.ops = 70, .edge_chance = 0.05});
    const auto cluster = random_cluster(random, {.devices = 3, .kinds = 2, .host = true});
    const auto costs = random_costs(random, *graph, *cluster, 100, 0.1);
    const auto problem = std::make_shared<const Problem>(graph, cluster, costs);
    const double coarse_us =
        step_us(problem, placed("lookahead", problem, {{"neighbourhood", "0"}}));
    const Placement found = placed("lookahead", problem, {});
    CHECK(step_us(problem, found) <= coarse_us);
    if (step_us(problem, found) < coarse_us) ++better;
    CHECK(placed("lookahead", problem, {}) == found);
    // No worse than what it begins with.
    const Placement plain = problem->groups().expand(contiguous_placement(*problem));
    CHECK(coarse_us <= step_us(problem, plain));
  }
  CHECK(better >= 3);
}

TEST_CASE("lookahead: a placement that is given is not made worse") {
  const auto problem = chains(3, 24);
  Placement given;
  for (OpId op = 0; op < 72; ++op) given.push_back(op / 24);
  Engine engine({test::plugin_folder()});
  const auto policy = engine.make_policy("lookahead", {});
  const auto evaluator = make_simulation_evaluator(problem, 1);
  PlaceContext context;
  context.initial = {given};
  CHECK(step_us(problem, policy->place(*evaluator, context).placement) == 240);
}
