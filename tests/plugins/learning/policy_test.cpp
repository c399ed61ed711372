// What sequence policies sample, and that they learn from what was measured.
#include <torch/torch.h>

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "berth/engine.h"
#include "berth/error.h"
#include "berth/sdk/environment.h"
#include "berth/sdk/learning.h"
#include "learning/placer.h"
#include "plugins/learning/learned.h"
#include "support/expect_error.h"
#include "support/paths.h"
#include "support/random_problem.h"
#include "support/torch_doctest.h"

using namespace berth;
using namespace berth::learning;
using berth::test::learned;

namespace {

std::shared_ptr<const Problem> random_problem(std::uint64_t seed, int devices, int ops = 30) {
  Random random(seed);
  auto graph = test::random_graph(random, {.ops = ops, .edge_chance = 0.2, .colocate_chance = 0.2});
  auto cluster = test::random_cluster(random, {.devices = devices, .kinds = 2, .host = true});
  auto costs = test::random_costs(random, *graph, *cluster, 100, /*cannot_run_chance=*/0.4);
  return std::make_shared<const Problem>(graph, cluster, costs);
}

std::unique_ptr<Policy> make_small(const std::string& name, const OptionTexts& options = {}) {
  static Engine engine({test::plugin_folder()});
  OptionTexts all{{"hidden", std::int64_t{32}}, {"groups", std::int64_t{40}}};
  for (const auto& [key, value] : options) all[key] = value;
  return engine.make_policy(name, all);
}

}  // namespace

TEST_CASE(
    "probabilities are told for what was drawn, in a batch as alone, and none for the barred") {
  const auto problem = random_problem(3, 4);
  const Problem* const problems[] = {problem.get()};
  const Vocabulary vocabulary(problems, 9);
  const Units units(*problem, vocabulary);
  std::vector<std::int32_t> label(static_cast<std::size_t>(units.count()));
  for (std::size_t i = 0; i < label.size(); ++i) label[i] = static_cast<std::int32_t>(i);
  const Sequence sequence = units.sequence(*problem, label, 40);
  for (const auto& [aligned, persistence] : {std::pair{true, 0.0}, {false, 0.0}, {true, 3.0}}) {
    CAPTURE(aligned);
    CAPTURE(persistence);
    PlacerShape shape;
    shape.vocabulary = vocabulary.size();
    shape.capacity = 40;
    shape.devices = 4;
    shape.hidden = 32;
    shape.temperature = 1;
    shape.aligned = aligned;
    shape.persistence = persistence;
    Parameters parameters;
    Random random(8);
    const Placer placer(shape, parameters, random);
    PlacerDraws draws;
    draws.samples = 5;
    draws.epsilon = 0.1;
    draws.noise = 0.5;
    const PlacerSamples samples = placer.sample(sequence, draws, random);
    const Placer::Scores all = placer.score(sequence, samples.devices);
    for (std::int64_t k = 0; k < draws.samples; ++k) {
      const auto alone = placer.score(sequence, samples.devices.narrow(1, k, 1).contiguous());
      const auto i = static_cast<std::size_t>(k);
      const double told = samples.log_probability[i];
      CHECK(all.log_probability[k].item<double>() == doctest::Approx(told).epsilon(1e-4));
      CHECK(alone.log_probability[0].item<double>() == doctest::Approx(told).epsilon(1e-4));
      CHECK(all.entropy[k].item<double>() == doctest::Approx(samples.entropy[i]).epsilon(1e-4));
    }
    const torch::Tensor chosen_barred = sequence.barred.gather(1, samples.devices);
    CHECK_FALSE(chosen_barred.any().item<bool>());
    draws.greedy = true;
    draws.epsilon = draws.noise = 0;
    const torch::Tensor greedy = placer.sample(sequence, draws, random).devices;
    CHECK((greedy == greedy.narrow(1, 0, 1)).all().item<bool>());
  }
}

TEST_CASE("a persistent placer begins with runs of the sequence") {
  Random graphs(4);
  const auto graph = test::random_graph(graphs, {.ops = 30, .edge_chance = 0.2});
  const auto cluster = test::random_cluster(graphs, {.devices = 3});
  const Problem problem(graph, cluster, test::random_costs(graphs, *graph, *cluster));
  const Problem* const problems[] = {&problem};
  const Vocabulary vocabulary(problems, 9);
  const Units units(problem, vocabulary);
  std::vector<std::int32_t> label(static_cast<std::size_t>(units.count()));
  for (std::size_t i = 0; i < label.size(); ++i) label[i] = static_cast<std::int32_t>(i);
  const Sequence sequence = units.sequence(problem, label, 40);
  // How often a group is not on the device of the one before.
  const auto changes = [&](double persistence) {
    PlacerShape shape;
    shape.vocabulary = vocabulary.size();
    shape.capacity = 40;
    shape.devices = 3;
    shape.hidden = 32;
    shape.persistence = persistence;
    Parameters parameters;
    Random random(8);
    PlacerDraws draws;
    draws.samples = 64;
    const torch::Tensor devices =
        Placer(shape, parameters, random).sample(sequence, draws, random).devices;
    const std::int64_t pairs = sequence.length() - 1;
    return (devices.narrow(0, 1, pairs) != devices.narrow(0, 0, pairs))
        .to(torch::kFloat64)
        .mean()
        .item<double>();
  };
  CHECK(changes(0) > 0.4);   // 2/3 where logits are equal
  CHECK(changes(3) < 0.15);  // 1 / (e^3 + 1) = 0.047
}

TEST_CASE("an episode is one decision, and its evaluation that of its placement") {
  for (const char* name : {"seq2seq", "hdp"}) {
    CAPTURE(std::string(name));
    const auto policy = make_small(name);
    const auto first = random_problem(5, 3), second = random_problem(6, 3, 20);
    const auto a = make_simulation_evaluator(first, 1), b = make_simulation_evaluator(second, 2);
    Evaluator* const evaluators[] = {a.get(), b.get()};
    RolloutOptions options;
    options.samples = 6;
    options.seed = 9;
    Rollout rollout, again;
    learned(*policy).rollout(evaluators, options, rollout);
    learned(*policy).rollout(evaluators, options, again);
    REQUIRE(rollout.episodes.size() == 12);
    bool differ = false;
    for (std::size_t e = 0; e < rollout.episodes.size(); ++e) {
      const Rollout::Episode& episode = rollout.episodes[e];
      const Problem& problem = e < 6 ? *first : *second;
      CHECK(episode.problem == e / 6);
      CHECK(episode.steps == 1);
      CHECK(episode.measured == 1);
      CHECK_NOTHROW(problem.validate(episode.last));
      CHECK(evaluators[e / 6]->evaluate(episode.last).runtime_us ==
            episode.evaluations[1].runtime_us);
      const SingleDevice single = best_single_device(*evaluators[e / 6]);
      const Placement reference = single.device == kNoDevice
                                      ? problem.groups().expand(zero_placement(problem))
                                      : single.placement;
      CHECK(episode.evaluations[0].runtime_us == evaluators[e / 6]->evaluate(reference).runtime_us);
      CHECK(episode.last == again.episodes[e].last);
      CHECK(episode.log_probability == again.episodes[e].log_probability);
      differ = differ || episode.last != rollout.episodes[e / 6 * 6].last;
    }
    CHECK(differ);
  }
}

TEST_CASE("what paid becomes likelier, what did not less likely") {
  for (const char* name : {"seq2seq", "hdp"}) {
    CAPTURE(std::string(name));
    const auto policy = make_small(name);
    const auto evaluator = make_simulation_evaluator(random_problem(7, 3), 1);
    Evaluator* const evaluators[] = {evaluator.get()};
    RolloutOptions options;
    Rollout rollout;
    learned(*policy).rollout(evaluators, options, rollout);
    const Placement target = rollout.episodes[0].last;
    UpdateOptions update;
    update.learning_rate = 1e-2;
    const double loss = learned(*policy).update(rollout, std::vector{1.0}, update).loss;
    CHECK(loss == doctest::Approx(-rollout.episodes[0].log_probability[0]).epsilon(1e-3));

    // Whatever the step takes: what pays is every op on the device that it had there.
    options.samples = 16;
    double first = 0, last = 0;
    for (int i = 0; i < 80; ++i) {
      options.seed = static_cast<std::uint64_t>(i);
      learned(*policy).rollout(evaluators, options, rollout);
      std::vector<double> alike;
      for (const Rollout::Episode& episode : rollout.episodes) {
        alike.push_back(0);
        for (std::size_t op = 0; op < target.size(); ++op) {
          alike.back() +=
              episode.last[op] == target[op] ? 1.0 / static_cast<double>(target.size()) : 0;
        }
      }
      const double mean = std::accumulate(alike.begin(), alike.end(), 0.0) / 16;
      if (i == 0) first = mean;
      last = mean;
      for (double& value : alike) value -= mean;
      learned(*policy).update(rollout, alike, update);
    }
    CAPTURE(first);
    CHECK(first < 0.8);
    CHECK(last > first + (1 - first) / 3);
  }
}

TEST_CASE("seq2seq: groups beyond the length of a sequence are placed together") {
  const auto evaluator = make_simulation_evaluator(random_problem(5, 3), 1);
  Evaluator* const evaluators[] = {evaluator.get()};
  Rollout rollout;
  const auto policy = make_small("seq2seq", {{"groups", std::int64_t{4}}});
  learned(*policy).rollout(evaluators, {}, rollout);
  CHECK_NOTHROW(evaluator->problem().validate(rollout.episodes.front().last));
}

TEST_CASE("what a sequence policy cannot serve is an error that says what to do") {
  const auto evaluator = make_simulation_evaluator(random_problem(5, 3), 1);
  Evaluator* const evaluators[] = {evaluator.get()};
  Rollout rollout;
  for (const char* name : {"seq2seq", "hdp"}) {
    CAPTURE(std::string(name));
    const auto policy = make_small(name);
    learned(*policy).rollout(evaluators, {}, rollout);
    const auto wider = make_simulation_evaluator(random_problem(5, 4), 1);
    Evaluator* const others[] = {wider.get()};
    test::expect_error(ErrorCode::unsupported, {"for 3 devices and the cluster has 4"},
                       [&] { learned(*policy).rollout(others, {}, rollout); });
    // Op types it has not seen share an embedding.
    const auto strange = make_simulation_evaluator(random_problem(77, 3), 1);
    Evaluator* const unseen[] = {strange.get()};
    CHECK_NOTHROW(learned(*policy).rollout(unseen, {}, rollout));
    test::expect_error(ErrorCode::invalid_argument,
                       {"'hidden' takes an integer from 32 to 4096, a multiple of 32"}, [&] {
                         make_small(name, {{"hidden", std::int64_t{33}}});
                       });
    test::expect_error(ErrorCode::invalid_argument,
                       {"'groups' takes an integer from 2 to 4096; got '1'"}, [&] {
                         make_small(name, {{"groups", std::int64_t{1}}});
                       });
    test::expect_error(ErrorCode::invalid_argument, {"'temperature' takes a number > 0"}, [&] {
      make_small(name, {{"temperature", 0.0}});
    });
  }
}
