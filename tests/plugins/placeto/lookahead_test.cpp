// What looking ahead does before anything is learned.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "berth/engine.h"
#include "berth/environment.h"
#include "berth/evaluator.h"
#include "berth/learning.h"
#include "support/paths.h"
#include "support/random_problem.h"

using namespace berth;

namespace {

/// By how much a greedy episode of fresh weights shortens a step.
double gained(const std::shared_ptr<const Problem>& problem, const GroupPlacement& start,
              bool lookahead) {
  Engine engine({test::plugin_folder()});
  const auto made =
      engine.make_policy("placeto", {{"weights", std::string("none")}, {"lookahead", lookahead}});
  const auto evaluator = make_simulation_evaluator(problem, 1);
  Evaluator* const evaluators[] = {evaluator.get()};
  RolloutOptions options;
  options.greedy = true;
  options.initial = {{start}};
  Rollout rollout;
  dynamic_cast<LearnedPolicy&>(*made).rollout(evaluators, options, rollout);
  const auto& states = rollout.episodes.front().evaluations;
  return states.front().objective_us - states.back().objective_us;
}

}  // namespace

TEST_CASE("who looks ahead makes good placements better; who does not begins anew") {
  Random random(31);
  int lost_blind = 0;
  for (int i = 0; i < 8; ++i) {
    CAPTURE(i);
    const auto graph = test::random_graph(random, {.ops = 30});
    const auto cluster = test::random_cluster(random, {.devices = 3});
    const auto costs = test::random_costs(random, *graph, *cluster, 100, 0.0);
    const auto problem = std::make_shared<const Problem>(graph, cluster, costs);
    CHECK(gained(problem, random_placement(*problem, random), true) > 0);
    const GroupPlacement good = earliest_placement(*problem);
    CHECK(gained(problem, good, true) >= 0);
    if (gained(problem, good, false) < 0) ++lost_blind;
  }
  CHECK(lost_blind > 0);
}

TEST_CASE("an episode ends where it is told to, and its best is left") {
  Random random(5);
  const auto graph = test::random_graph(random, {.ops = 40});
  const auto cluster = test::random_cluster(random, {.devices = 3});
  const auto costs = test::random_costs(random, *graph, *cluster, 100, 0.0);
  const auto problem = std::make_shared<const Problem>(graph, cluster, costs);
  Engine engine({test::plugin_folder()});
  const auto made = engine.make_policy("placeto");
  const auto evaluator = make_simulation_evaluator(problem, 2);
  Evaluator* const evaluators[] = {evaluator.get()};
  RolloutOptions options;
  options.samples = 2;
  int asked = 0;
  options.should_stop = [&] { return ++asked > 5; };
  Rollout rollout;
  dynamic_cast<LearnedPolicy&>(*made).rollout(evaluators, options, rollout);
  CHECK(rollout.tape == nullptr);
  CHECK(asked == 6);
  for (const Rollout::Episode& episode : rollout.episodes) {
    if (!episode.best.empty()) CHECK_NOTHROW(problem->validate(episode.best));
  }
  // place() stops there too: long before every group has been looked at.
  asked = 0;
  PlaceContext context;
  context.should_stop = options.should_stop;
  const PlaceResult result = place(*made, *evaluator, context, 1e9);
  CHECK(result.evaluation.feasible);
  CHECK(asked < 20);
}
