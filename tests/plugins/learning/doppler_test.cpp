// DOPPLER: what it samples, what its networks say of it, and what imitation teaches.
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "berth/engine.h"
#include "berth/sdk/learning.h"
#include "berth/support/index.h"
#include "episode.h"
#include "network.h"
#include "problem_view.h"
#include "support/expect_error.h"
#include "support/paths.h"
#include "support/random_problem.h"
#include "support/temporary_folder.h"
#include "support/torch_doctest.h"

using namespace berth;
using namespace berth::doppler;

namespace {

const NetworkShape kShape{16, 8, 2};

std::shared_ptr<const Problem> random_problem(std::uint64_t seed, int devices, OpId ops = 30) {
  Random random(seed);
  auto graph = test::random_graph(random, {.ops = ops, .edge_chance = 0.2, .colocate_chance = 0.2});
  auto cluster = test::random_cluster(random, {.devices = devices, .kinds = 2, .host = true});
  auto costs = test::random_costs(random, *graph, *cluster, 100, /*cannot_run_chance=*/0.3);
  return std::make_shared<const Problem>(graph, cluster, costs);
}

/// Weights that are not what a network begins with, so that every part of it has a say.
std::unique_ptr<Network> stirred_network(std::uint64_t seed) {
  auto network = std::make_unique<Network>(kShape, seed);
  std::vector<float> weights = network->weights();
  Random random(seed + 1);
  for (float& weight : weights) weight += static_cast<float>(0.4 * (random.uniform() - 0.5));
  network->set_weights(weights);
  return network;
}

struct Play {
  Play(const ProblemView& view, const Network& network, std::int64_t episodes,
       const EpisodeOptions& options, std::uint64_t seed)
      : played(make_played(view, episodes)) {
    const torch::NoGradGuard no_gradient;
    const Encoded encoded = network.encode(view);
    const Network::Head head = network.head();
    Player player(view, encoded, head, played);
    Random random(seed);
    for (std::int64_t e = 0; e < episodes; ++e) {
      outcomes.push_back(player.play(e, options, random, [] {}));
    }
  }
  Played played;
  std::vector<Player::Outcome> outcomes;
};

std::int64_t entry(const torch::Tensor& rows, std::int64_t episode, std::int64_t step) {
  return rows.data_ptr<std::int64_t>()[episode * rows.size(1) + step];
}

}  // namespace

TEST_CASE("doppler: the probabilities that are sampled are those that are learned from") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    const auto problem =
        random_problem(seed, 1 + static_cast<int>(seed % 5), seed % 4 == 3 ? 2 : 30);
    const ProblemView view(*problem);
    const auto network = stirred_network(seed);
    const Play play(view, *network, 3, {.epsilon = seed % 2 == 0 ? 0 : 0.5}, seed);
    const Scores scores = network->score(view, network->encode(view), play.played,
                                         play.played.order, play.played.device);
    for (std::size_t e = 0; e < 3; ++e) {
      const auto& outcome = play.outcomes[e];
      CHECK(scores.log_probability[static_cast<std::int64_t>(e)].item<double>() ==
            doctest::Approx(outcome.log_probability).epsilon(1e-4));
      CHECK(scores.entropy[static_cast<std::int64_t>(e)].item<double>() ==
            doctest::Approx(outcome.entropy).epsilon(1e-4));
    }
  }
}

TEST_CASE("doppler: what is learned part by part is what is learned from all at once") {
  constexpr std::int64_t kEpisodes = 5;
  for (const int devices : {2, 80}) {  // in one part, and in several
    CAPTURE(devices);
    const auto problem = random_problem(2, devices, 150);
    const ProblemView view(*problem);
    const auto network = stirred_network(2);
    const Play play(view, *network, kEpisodes, {}, 2);
    const torch::Tensor weight = torch::arange(1, kEpisodes + 1, torch::kFloat32);
    const auto loss = [&](const Scores& scores, std::int64_t first) {
      const torch::Tensor own = weight.narrow(0, first, scores.log_probability.size(0));
      return (own * scores.log_probability).sum() + scores.entropy.sum();
    };
    const Played& played = play.played;
    const torch::Tensor whole =
        loss(network->score(view, network->encode(view), played, played.order, played.device), 0);
    whole.backward();
    std::vector<float> expected, actual;
    network->take_gradient(expected);
    int parts = 0;
    const double sum =
        network->learn(view, played, played.order, played.device, loss, [&] { ++parts; });
    network->take_gradient(actual);
    CHECK((parts > 2) == (devices > 2));  // asked twice in each
    CHECK(sum == doctest::Approx(whole.item<double>()).epsilon(1e-5));
    REQUIRE(actual.size() == expected.size());
    double most = 0, difference = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      most = std::max(most, std::abs(static_cast<double>(expected[i])));
      difference = std::max(difference, std::abs(static_cast<double>(actual[i] - expected[i])));
    }
    CHECK(most > 0);
    CHECK(difference < 1e-4 * most);
  }
}

TEST_CASE("doppler: every group is placed once, after what it waits for, where it can run") {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    CAPTURE(seed);
    const auto problem = random_problem(seed, 4);
    const ProblemView view(*problem);
    const auto network = stirred_network(seed);
    if (seed >= 12) {  // weights that overflow: probabilities are NaN
      std::vector<float> weights = network->weights();
      for (float& weight : weights) weight *= 1e30F;
      network->set_weights(weights);
    }
    const EpisodeOptions options{.greedy = seed % 2 == 0, .epsilon = seed % 3 == 0 ? 0.3 : 0};
    const Play play(view, *network, 2, options, seed);
    for (std::int64_t e = 0; e < 2; ++e) {
      std::vector<bool> placed(view.groups);
      for (std::int64_t t = 0; t < play.played.order.size(1); ++t) {
        const auto group = static_cast<GroupId>(entry(play.played.order, e, t));
        const auto device = static_cast<DeviceId>(entry(play.played.device, e, t));
        CHECK_FALSE(placed[berth::at(group)]);
        placed[berth::at(group)] = true;
        CHECK(problem->can_run(group, device));
        CHECK(play.outcomes[berth::at(e)].placement[group] == device);
        for (const Groups::Edge& edge : problem->groups().in_edges(group)) {
          if (edge.src < group) CHECK(placed[berth::at(edge.src)]);
        }
      }
    }
  }
}

TEST_CASE("doppler: the teacher takes the longest path to the sink, where the group ends first") {
  const auto problem = random_problem(3, 4);
  const ProblemView view(*problem);
  const Play play(view, Network(kShape, 1), 1, {.teacher = true}, 1);
  PartialSchedule schedule(*problem);
  std::vector<std::int32_t> waits_for = view.waits_for;
  for (std::int64_t t = 0; t < play.played.order.size(1); ++t) {
    const auto group = static_cast<GroupId>(entry(play.played.order, 0, t));
    const auto device = static_cast<DeviceId>(entry(play.played.device, 0, t));
    CHECK(waits_for[berth::at(group)] == 0);
    for (GroupId other = 0; other < problem->groups().count(); ++other) {
      if (waits_for[berth::at(other)] == 0)
        CHECK(view.facts.tail[berth::at(group)] >= view.facts.tail[berth::at(other)]);
    }
    for (DeviceId other = 0; other < problem->cluster().device_count(); ++other) {
      CHECK(schedule.end_us(group, device) <= schedule.end_us(group, other));
    }
    schedule.put(group, device);
    waits_for[berth::at(group)] = -1;
    for (const GroupId waiting : view.waiting[berth::at(group)]) --waits_for[berth::at(waiting)];
  }
}

namespace {

/// Of the decisions of greedy episodes, the share that the teacher would have taken.
double agreement(LearnedPolicy& policy, const Problem& problem) {
  const ProblemView view(problem);
  Network network({64, 32, 6}, 1);
  network.set_weights(dynamic_cast<DistributedLearner&>(policy).weights());
  const Play play(view, network, 1, {.greedy = true}, 1);
  const Player::Outcome& outcome = play.outcomes.front();
  double same = 0;
  for (std::int64_t t = 0; t < play.played.order.size(1); ++t) {
    same += entry(play.played.order, 0, t) == outcome.taught_group[berth::at(t)] ? 0.5 : 0;
    same += entry(play.played.device, 0, t) == outcome.taught_device[berth::at(t)] ? 0.5 : 0;
  }
  return same / static_cast<double>(play.played.order.size(1));
}

std::unique_ptr<Policy> make(const OptionTexts& options) {
  static Engine engine({test::plugin_folder()});
  return engine.make_policy("doppler", options);
}

}  // namespace

TEST_CASE("doppler: fresh weights imitate the critical path on their first problems, once") {
  const auto problem = random_problem(5, 4, /*ops=*/60);
  const auto evaluator = make_simulation_evaluator(problem, 1);
  Evaluator* const evaluators[] = {evaluator.get()};
  const auto prepared = [&](std::int64_t updates) {
    auto policy = make({{"imitation", updates}});
    dynamic_cast<DistributedLearner&>(*policy).prepare(evaluators);
    return policy;
  };
  const auto untaught = prepared(0), taught = prepared(30);
  auto& pupil = dynamic_cast<LearnedPolicy&>(*taught);
  CHECK(agreement(dynamic_cast<LearnedPolicy&>(*untaught), *problem) < 0.7);
  CHECK(agreement(pupil, *problem) > 0.85);
  const auto weights_of = [](Policy& policy) {
    return dynamic_cast<DistributedLearner&>(policy).weights();
  };
  const std::vector<float> weights = weights_of(*taught);
  Rollout rollout;
  pupil.rollout(evaluators, {}, rollout);
  CHECK(weights_of(*taught) == weights);
  // Weights that came from elsewhere are left as they are.
  const auto other = make({{"imitation", std::int64_t{60}}});
  auto& given = dynamic_cast<LearnedPolicy&>(*other);
  const test::TemporaryFolder folder;
  pupil.save(folder.path() / "weights", "");
  static_cast<void>(given.load(folder.path() / "weights"));
  given.rollout(evaluators, {}, rollout);
  CHECK(weights_of(*other) == weights);
}

TEST_CASE(
    "doppler: a problem whose episodes would fill the memory is refused, and placed coarser") {
  GraphBuilder builder("wide");
  for (OpId op = 0; op < 2100; ++op) builder.add_op("op" + std::to_string(op), "Op");
  Random random(1);
  const auto graph = builder.build();
  const auto cluster = test::random_cluster(random, {.devices = 2});
  const auto problem = std::make_shared<const Problem>(
      graph, cluster, test::random_costs(random, *graph, *cluster, 100, 0));
  const auto evaluator = make_simulation_evaluator(problem, 1);
  Evaluator* const evaluators[] = {evaluator.get()};
  const auto policy = make({{"imitation", std::int64_t{0}}, {"groups", std::int64_t{16}}});
  Rollout rollout;
  test::expect_error(
      ErrorCode::unsupported, {"up to 2048 groups and the problem has 2100", "make fewer"},
      [&] { dynamic_cast<LearnedPolicy&>(*policy).rollout(evaluators, {}, rollout); });
  CHECK_NOTHROW(problem->validate(policy->place(*evaluator, {}).placement));
}

TEST_CASE("doppler: it finds the best placement of two chains that imitation misses") {
  // Two chains of six ops, with a wide tensor from each op to its own chain's next: apart is best.
  GraphBuilder builder("chains");
  std::vector<std::vector<double>> us(1);
  for (OpId op = 0; op < 12; ++op) {
    builder.add_op("op" + std::to_string(op), "Op");
    TensorInfo info;
    info.bytes = 1000;
    if (op >= 2) builder.add_input(op, op - 2);
    CHECK(builder.add_output(op, info) == op);
    us[0].push_back(10);
  }
  Device first, second;
  first.name = "a";
  second.name = "b";
  first.kind = second.kind = "gpu";
  const auto problem = std::make_shared<const Problem>(
      builder.build(),
      std::make_shared<const Cluster>("pair", std::vector<Device>{first, second},
                                      std::vector<LinkSpec>{{"*", "*", 1e9, 1, {}}}),
      std::make_shared<const Costs>(std::move(us), std::vector<std::int64_t>(), "test"));
  const auto evaluator = make_simulation_evaluator(problem, 1);
  Evaluator* const evaluators[] = {evaluator.get()};
  Rollout rollout;
  double untrained_us = 0, trained_us = 0;
  // Some fresh weights lead to a local optimum, and which ones do depends on how the products of a
  // processor's library round.
  for (std::int64_t init = 1; init <= 8; ++init) {
    const auto policy = make({{"imitation", std::int64_t{0}}, {"init_seed", init}});
    auto& learner = dynamic_cast<LearnedPolicy&>(*policy);
    const auto greedy_us = [&] {
      RolloutOptions greedy;
      greedy.greedy = true;
      learner.rollout(evaluators, greedy, rollout);
      return rollout.episodes[0].evaluations[1].objective_us;
    };
    untrained_us = greedy_us();
    RolloutOptions options;
    options.samples = 16;
    for (int update = 0; update < 80; ++update) {
      options.seed = static_cast<std::uint64_t>(update);
      learner.rollout(evaluators, options, rollout);
      double mean = 0;
      std::vector<double> advantages;
      for (const Rollout::Episode& episode : rollout.episodes) {
        advantages.push_back(-std::log(episode.evaluations[1].objective_us));
        mean += advantages.back() / 16;
      }
      for (double& value : advantages) value = 10 * (value - mean);
      learner.update(rollout, advantages, {.learning_rate = 1e-2});
    }
    trained_us = greedy_us();
    if (trained_us < 60.5) break;
  }
  CHECK(untrained_us > 60.5);
  CHECK(trained_us == doctest::Approx(60));
}
