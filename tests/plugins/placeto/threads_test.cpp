// Training does not depend on how many threads there are.
#include <doctest/doctest.h>
#include <oneapi/tbb/task_arena.h>

#include <memory>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/evaluator.h"
#include "berth/files.h"
#include "berth/sdk/learning.h"
#include "support/paths.h"
#include "support/random_problem.h"
#include "support/temporary_folder.h"

using namespace berth;

namespace {

/// A few updates over two problems; the trained policy as it is saved.
std::string trained(std::span<const std::shared_ptr<const Problem>> problems,
                    const OptionTexts& options, int threads) {
  Engine engine({test::plugin_folder()});
  const auto made = engine.make_policy("placeto", options);
  auto& policy = dynamic_cast<LearnedPolicy&>(*made);
  std::vector<std::unique_ptr<Evaluator>> owned;
  std::vector<Evaluator*> evaluators;
  for (const auto& problem : problems) {
    owned.push_back(make_simulation_evaluator(problem, threads));
    evaluators.push_back(owned.back().get());
  }
  tbb::task_arena(threads).execute([&] {
    Rollout rollout;
    for (std::uint64_t update = 0; update < 3; ++update) {
      policy.rollout(evaluators, {.samples = 5, .seed = update, .epsilon = 0.1}, rollout);
      std::vector<double> advantages;
      for (const Rollout::Episode& episode : rollout.episodes) {
        for (std::size_t t = 0; t < static_cast<std::size_t>(episode.steps); ++t) {
          advantages.push_back(
              (episode.evaluations[t].objective_us - episode.evaluations[t + 1].objective_us) /
              episode.evaluations[0].objective_us);
        }
      }
      policy.update(rollout, advantages, {.learning_rate = 1e-2, .entropy_weight = 0.1});
    }
  });
  const test::TemporaryFolder folder;
  policy.save(folder / "weights", "");
  return read_file(folder / "weights");
}

}  // namespace

TEST_CASE("training is the same on one thread and on two, to the last bit") {
  Random random(21);
  std::vector<std::shared_ptr<const Problem>> problems;
  for (const int ops : {12, 25}) {
    const auto graph = test::random_graph(random, {.ops = ops});
    const auto cluster = test::random_cluster(random, {.devices = 3});
    const auto costs = test::random_costs(random, *graph, *cluster, 100, 0.0);
    problems.push_back(
        std::make_shared<const Problem>(graph, cluster, costs, nullptr, ProblemOptions{}));
  }
  for (const auto& [devices, lookahead] :
       {std::pair{"features", true}, {"features", false}, {"one_hot", false}}) {
    CAPTURE(devices);
    CAPTURE(lookahead);
    const OptionTexts options{{"weights", std::string("none")},
                              {"devices", std::string(devices)},
                              {"lookahead", lookahead}};
    CHECK(trained(problems, options, 1) == trained(problems, options, 2));
  }
}
