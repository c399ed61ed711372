// What looking ahead does before anything is learned.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "berth/engine.h"
#include "berth/evaluator.h"
#include "berth/sdk/environment.h"
#include "berth/sdk/learning.h"
#include "support/expect_error.h"
#include "support/paths.h"
#include "support/random_problem.h"
#include "support/temporary_folder.h"

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

TEST_CASE("the weights that come with Berth serve who looks ahead; who does not begins anew") {
  Random random(31);
  const auto graph = test::random_graph(random, {.ops = 12});
  const auto cluster = test::random_cluster(random, {.devices = 3});
  const auto problem = std::make_shared<const Problem>(
      graph, cluster, test::random_costs(random, *graph, *cluster, 100, 0.0));
  const auto evaluator = make_simulation_evaluator(problem, 1);
  Engine engine({test::plugin_folder()});
  const test::TemporaryFolder folder;
  for (const bool lookahead : {true, false}) {
    const auto made = engine.make_policy("placeto", {{"lookahead", lookahead}});
    problem->validate(made->place(*evaluator, {}).placement);
    auto& policy = dynamic_cast<LearnedPolicy&>(*made);
    policy.save(folder.path() / "weights", "");
    const auto other = engine.make_policy("placeto", {{"lookahead", !lookahead}});
    test::expect_error(ErrorCode::incompatible, {"option 'lookahead'"}, [&] {
      dynamic_cast<LearnedPolicy&>(*other).load(folder.path() / "weights");
    });
  }
}

TEST_CASE("an episode counts what is measured for it, alternatives too") {
  Random random(17);
  const auto graph = test::random_graph(random, {.ops = 20});
  const auto cluster = test::random_cluster(random, {.devices = 4});
  const auto costs = test::random_costs(random, *graph, *cluster, 100, 0.0);
  const auto problem = std::make_shared<const Problem>(graph, cluster, costs);
  Engine engine({test::plugin_folder()});
  for (const bool lookahead : {true, false}) {
    CAPTURE(lookahead);
    const auto made =
        engine.make_policy("placeto", {{"weights", std::string("none")}, {"lookahead", lookahead}});
    const auto evaluator = make_simulation_evaluator(problem, 1);
    Evaluator* const evaluators[] = {evaluator.get()};
    Rollout rollout;
    const auto before = evaluator->evaluations();
    dynamic_cast<LearnedPolicy&>(*made).rollout(evaluators, {.samples = 3}, rollout);
    std::int64_t measured = 0;
    for (const Rollout::Episode& episode : rollout.episodes) {
      measured += episode.measured;
      // The start, then three alternatives of each group but none where nobody looks.
      const int looked = lookahead ? 3 * problem->groups().count() : 0;
      CHECK(episode.measured >= 1 + looked);
      CHECK(episode.measured <= 1 + looked + problem->groups().count());
    }
    CHECK(measured == evaluator->evaluations() - before);
  }
}

TEST_CASE("one look at hundreds of devices ends where it is told to") {
  Random random(3);
  const auto graph = test::random_graph(random, {.ops = 3});
  const auto cluster = test::random_cluster(random, {.devices = 512});
  const auto costs = test::random_costs(random, *graph, *cluster, 100, 0.0);
  const auto problem = std::make_shared<const Problem>(graph, cluster, costs);
  Engine engine({test::plugin_folder()});
  const auto made = engine.make_policy("placeto", {{"weights", std::string("none")}});
  const auto evaluator = make_simulation_evaluator(problem, 1);
  Evaluator* const evaluators[] = {evaluator.get()};
  RolloutOptions options;
  int asked = 0;
  options.should_stop = [&] { return ++asked == 100; };
  Rollout rollout;
  dynamic_cast<LearnedPolicy&>(*made).rollout(evaluators, options, rollout);
  CHECK(asked == 100);  // of 512 before the first decision
  CHECK(rollout.tape == nullptr);
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
