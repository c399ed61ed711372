// What all policies with a network owe: one body over all of them.
#include "learning/network_policy.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/error.h"
#include "berth/files.h"
#include "berth/sdk/learning.h"
#include "berth/support/text.h"
#include "learning/parameters.h"
#include "plugins/learning/learned.h"
#include "support/expect_error.h"
#include "support/paths.h"
#include "support/random_problem.h"
#include "support/temporary_folder.h"
#include "support/torch_doctest.h"

using namespace berth;
using namespace berth::learning;
using berth::test::learned;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const char* const kPolicies[] = {"placeto", "seq2seq", "hdp", "doppler"};

struct Parts {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const Costs> costs;
  std::shared_ptr<const Groups> groups;

  [[nodiscard]] std::unique_ptr<Evaluator> evaluator(ProblemOptions options = {}) const {
    return make_simulation_evaluator(
        std::make_shared<const Problem>(graph, cluster, costs, groups, options), 1);
  }
};

Parts random_parts(std::uint64_t seed) {
  Random random(seed);
  Parts parts;
  parts.graph = test::random_graph(random, {.ops = 20, .edge_chance = 0.2});
  parts.cluster = test::random_cluster(random, {.devices = 3, .kinds = 2, .host = true});
  parts.costs = test::random_costs(random, *parts.graph, *parts.cluster, 100, 0.2);
  parts.groups = colocation_groups(*parts.graph);
  return parts;
}

std::unique_ptr<Policy> make(const std::string& name) {
  static Engine engine({test::plugin_folder()});
  OptionTexts options{{"weights", std::string("none")}};
  if (name != "placeto") options["hidden"] = std::int64_t{32};
  // The weights that a policy begins with depend on its seed alone.
  if (name == "doppler") options["imitation"] = std::int64_t{0};
  return engine.make_policy(name, options);
}

DistributedLearner& distributed(Policy& policy) {
  return dynamic_cast<DistributedLearner&>(policy);
}

Rollout sampled(Policy& policy, Evaluator& evaluator) {
  Evaluator* const evaluators[] = {&evaluator};
  RolloutOptions options;
  options.samples = 2;
  Rollout rollout;
  learned(policy).rollout(evaluators, options, rollout);
  return rollout;
}

std::vector<double> advantages_of(const Rollout& rollout, double value) {
  std::size_t count = 0;
  for (const Rollout::Episode& episode : rollout.episodes) count += episode.entropy.size();
  return std::vector<double>(count, value);
}

std::vector<double> log_probabilities(const Rollout& rollout) {
  std::vector<double> all;
  for (const Rollout::Episode& episode : rollout.episodes) {
    all.insert(all.end(), episode.log_probability.begin(), episode.log_probability.end());
  }
  return all;
}

}  // namespace

TEST_CASE("learned policies: problems are the same where every option is") {
  const Parts parts = random_parts(3);
  const auto problem = [&](const ProblemOptions& options) {
    return Problem(parts.graph, parts.cluster, parts.costs, parts.groups, options);
  };
  const ProblemOptions published{Objective::throughput, Semantics::placeto, 1, 2, 3};
  CHECK(same_problem(problem(published), problem(published)));
  ProblemOptions others[5];
  std::fill(std::begin(others), std::end(others), published);
  others[0].objective = Objective::latency;
  others[1].semantics = Semantics::dataflow;
  others[2].device_gap_us = 4;
  others[3].transfer_gap_us = 5;
  others[4].in_flight = 6;
  for (const ProblemOptions& other : others) {
    CHECK_FALSE(same_problem(problem(published), problem(other)));
  }
}

TEST_CASE("learned policies: problems that differ in their options alone are told apart") {
  const Parts parts = random_parts(3);
  ProblemOptions published;
  published.semantics = Semantics::placeto;
  for (const char* name : kPolicies) {
    CAPTURE(std::string(name));
    const auto first = parts.evaluator(), second = parts.evaluator(published);
    const auto policy = make(name), fresh = make(name);
    static_cast<void>(sampled(*policy, *first));
    const Rollout after = sampled(*policy, *second), alone = sampled(*fresh, *second);
    CHECK(log_probabilities(after) == log_probabilities(alone));
    CHECK(after.episodes[0].evaluations[0].objective_us ==
          alone.episodes[0].evaluations[0].objective_us);
  }
}

TEST_CASE("learned policies: a placement by fresh weights says so") {
  Engine engine({test::plugin_folder()});
  const auto evaluator = random_parts(4).evaluator();
  const auto placed = [&](Policy& policy) {
    const std::vector<std::string> notes = place(policy, *evaluator, {}, kInfinity).notes;
    return notes.empty() ? std::string() : notes[0];
  };
  for (const char* name : kPolicies) {
    CAPTURE(std::string(name));
    const auto policy = make(name);
    CHECK(placed(*policy) == "the weights are fresh: nothing was learned");
    // Updates without a signal leave them so.
    Rollout rollout = sampled(*policy, *evaluator);
    learned(*policy).update(rollout, advantages_of(rollout, 0), {});
    rollout = sampled(*policy, *evaluator);
    learned(*policy).update(rollout, advantages_of(rollout, 1), {.learning_rate = 0});
    std::vector<float> gradient(static_cast<std::size_t>(learned(*policy).parameter_count()));
    static_cast<void>(distributed(*policy).step(gradient, {}));
    CHECK(placed(*policy) == "the weights are fresh: nothing was learned");
    rollout = sampled(*policy, *evaluator);
    learned(*policy).update(rollout, advantages_of(rollout, 1), {});
    CHECK(placed(*policy).find("fresh") == std::string::npos);
  }
  const auto note = [&](const char* name, const OptionTexts& options) {
    return placed(*engine.make_policy(name, options));
  };
  CHECK(note("placeto", {}).find("fresh") == std::string::npos);
  const auto other = engine.make_policy("placeto", {{"rounds", std::int64_t{10}}});
  CHECK(
      join(place(*other, *evaluator, {}, kInfinity).notes)
          .find("the weights are fresh: nothing was learned, the weights that come with 'placeto' "
                "are for rounds=8") == 0);
  CHECK(note("seq2seq", {{"hidden", std::int64_t{32}}}) ==
        "the weights are fresh: nothing was learned");
  // It imitates, which is learning.
  CHECK(note("doppler", {{"hidden", std::int64_t{32}}}).find("fresh") == std::string::npos);
}

TEST_CASE("learned policies: an answer tells the weights it is by, and their updates") {
  Engine engine({test::plugin_folder()});
  const auto evaluator = random_parts(4).evaluator();
  const test::TemporaryFolder folder;
  const auto weights = [&](Policy& policy) {
    return place(policy, *evaluator, {}, kInfinity).learned.value().weights_text();
  };
  for (const char* name : kPolicies) {
    CAPTURE(std::string(name));
    const auto policy = make(name);
    CHECK(weights(*policy) == "fresh");
    const Rollout rollout = sampled(*policy, *evaluator);
    learned(*policy).update(rollout, advantages_of(rollout, 1), {});
    CHECK(weights(*policy) == "fresh, 1 update");
    learned(*policy).save(folder.path() / "weights", "");
    static_cast<void>(learned(*policy).load(folder.path() / "weights"));
    CHECK(weights(*policy) == "file");
    distributed(*policy).set_weights(distributed(*policy).weights());
    CHECK(weights(*policy) == "given");
  }
  CHECK(weights(*engine.make_policy("placeto", {})) == "shipped");
  CHECK(weights(*engine.make_policy("placeto", {{"episodes", std::int64_t{2}}})) ==
        "shipped, 2 updates");
}

TEST_CASE("learned policies: a rollout teaches only the weights that it was sampled with") {
  const auto evaluator = random_parts(4).evaluator();
  const test::TemporaryFolder folder;
  for (const char* name : kPolicies) {
    for (const char* other : kPolicies) {
      CAPTURE(std::string(name));
      CAPTURE(std::string(other));
      const auto policy = make(name), stranger = make(other);
      static_cast<void>(sampled(*stranger, *evaluator));
      const Rollout rollout = sampled(*policy, *evaluator);
      test::expect_error(
          ErrorCode::invalid_argument, {"takes a rollout of this policy", other},
          [&] { learned(*stranger).update(rollout, advantages_of(rollout, 1), {}); });
    }
    const auto policy = make(name);
    const Rollout rollout = sampled(*policy, *evaluator);
    learned(*policy).save(folder.path() / "weights", "");
    static_cast<void>(learned(*policy).load(folder.path() / "weights"));
    CHECK_THROWS_AS(learned(*policy).update(rollout, advantages_of(rollout, 1), {}), Error);
    // An update changes the weights: what was drawn before says nothing of them.
    const Rollout again = sampled(*policy, *evaluator);
    learned(*policy).update(again, advantages_of(again, 1), {});
    test::expect_error(ErrorCode::invalid_argument,
                       {"with the weights it has now", "every update changes them"},
                       [&] { learned(*policy).update(again, advantages_of(again, 1), {}); });
    CHECK_THROWS_AS(learned(*policy).update({}, {}, {}), Error);
  }
}

TEST_CASE(
    "learned policies: what episodes teach adds up, and those of no advantage teach nothing") {
  const auto evaluator = random_parts(6).evaluator();
  for (const char* name : kPolicies) {
    CAPTURE(std::string(name));
    const auto policy = make(name);
    const Rollout rollout = sampled(*policy, *evaluator);
    const std::size_t steps = rollout.episodes[0].entropy.size();
    const auto taught = [&](double first, double second) {
      std::vector<double> advantages = advantages_of(rollout, second);
      std::fill_n(advantages.begin(), steps, first);
      std::vector<float> gradient;
      distributed(*policy).gradient(rollout, advantages, {}, gradient);
      return gradient;
    };
    const std::vector<float> first = taught(1, 0), second = taught(0, -2), both = taught(1, -2);
    const auto magnitude = [](float a, float b) { return std::abs(a) < std::abs(b); };
    const float most = std::abs(*std::max_element(both.begin(), both.end(), magnitude));
    CHECK(most > 0);
    float apart = 0;
    for (std::size_t i = 0; i < both.size(); ++i) {
      apart = std::max(apart, std::abs(both[i] - first[i] - second[i]));
    }
    CHECK(apart < 1e-4F * most);
    const std::vector<float> nothing = taught(0, 0);
    CHECK(std::all_of(nothing.begin(), nothing.end(), [](float each) { return each == 0; }));
  }
}

TEST_CASE("learned policies: an update that teaches nothing does the same in another process") {
  const auto evaluator = random_parts(7).evaluator();
  const test::TemporaryFolder folder;
  for (const char* name : kPolicies) {
    CAPTURE(std::string(name));
    const auto policy = make(name), resumed = make(name);
    const Rollout first = sampled(*policy, *evaluator);
    learned(*policy).update(first, advantages_of(first, 1), {});
    learned(*policy).save(folder.path() / "weights", "");
    static_cast<void>(learned(*resumed).load(folder.path() / "weights"));
    for (Policy* each : {policy.get(), resumed.get()}) {
      const Rollout rollout = sampled(*each, *evaluator);
      learned(*each).update(rollout, advantages_of(rollout, 0), {});
    }
    CHECK(distributed(*policy).weights() == distributed(*resumed).weights());
  }
}

TEST_CASE("learned policies: where no episode teaches, the entropy does") {
  const auto evaluator = random_parts(8).evaluator();
  for (const char* name : kPolicies) {
    CAPTURE(std::string(name));
    const auto policy = make(name);
    const Rollout rollout = sampled(*policy, *evaluator);
    UpdateOptions options;
    options.entropy_weight = 0.1;
    std::vector<float> gradient;
    distributed(*policy).gradient(rollout, advantages_of(rollout, 0), options, gradient);
    CHECK(std::any_of(gradient.begin(), gradient.end(), [](float each) { return each != 0; }));
  }
}

TEST_CASE("learned policies: nothing that is not finite is learned") {
  const auto evaluator = random_parts(5).evaluator();
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "weights";
  for (const char* name : kPolicies) {
    CAPTURE(std::string(name));
    const auto policy = make(name);
    LearnedPolicy& learner = learned(*policy);
    const Rollout first = sampled(*policy, *evaluator);
    learner.update(first, advantages_of(first, 0.5), {});  // so that there are moments
    const Rollout rollout = sampled(*policy, *evaluator);
    learner.save(file, "");
    const std::string before = read_file(file);
    const auto refused = [&](double advantage, const UpdateOptions& options, const char* what) {
      test::expect_error(ErrorCode::invalid_argument, {what, "nothing was learned"}, [&] {
        learner.update(rollout, advantages_of(rollout, advantage), options);
      });
      learner.save(file, "");
      CHECK(read_file(file) == before);
    };
    refused(kNan, {}, "advantage 1 is not a finite number");
    refused(kInfinity, {}, "advantage 1 is not a finite number");
    refused(1e300, {}, "the gradient is not finite");
    refused(1, {.learning_rate = kNan}, "learning_rate is nan");
    refused(1, {.learning_rate = -1}, "learning_rate is -1");
    refused(1, {.learning_rate = 1e300}, "leads too far");
    refused(1, {.entropy_weight = kInfinity}, "entropy_weight is inf");
    refused(1, {.max_norm = kNan}, "max_norm is nan");
    CHECK_NOTHROW(learner.update(rollout, advantages_of(rollout, 0.5), {}));
  }
}

TEST_CASE("a file that is older than an option loads where its shapes are those of the policy") {
  const Parts parts = random_parts(7);
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "policy.berth";
  const auto evaluator = parts.evaluator();
  Evaluator* const evaluators[] = {evaluator.get()};
  const auto policy = make("placeto");
  auto& learner = dynamic_cast<LearnedPolicy&>(*policy);
  Rollout rollout;
  learner.rollout(evaluators, {}, rollout);
  learner.save(file, "its note");
  Checkpoint old = load_checkpoint(file);
  REQUIRE(old.options.erase("lookahead") == 1);
  save_checkpoint(file, old);
  CHECK(dynamic_cast<LearnedPolicy&>(*make("placeto")).load(file) == "its note");
}

TEST_CASE("weights whose number of devices is none, or absurd, are refused with the file") {
  const Parts parts = random_parts(7);
  for (const char* const name : kPolicies) {
    CAPTURE(std::string(name));
    const test::TemporaryFolder folder;
    const auto file = folder.path() / "policy.berth";
    const auto evaluator = parts.evaluator();
    Evaluator* const evaluators[] = {evaluator.get()};
    const auto policy = make(name);
    auto& learner = dynamic_cast<LearnedPolicy&>(*policy);
    Rollout rollout;
    learner.rollout(evaluators, {}, rollout);
    learner.save(file, "");
    const Checkpoint good = load_checkpoint(file);
    if (std::string_view(name) == "doppler") {  // serves any number
      CHECK_FALSE(good.options.contains("device_count"));
      continue;
    }
    REQUIRE(good.options.contains("device_count"));
    for (const char* const count : {"", "x", "-1", "1e3", "99999999999999999999", "999999999"}) {
      CAPTURE(std::string(count));
      Checkpoint bad = good;
      bad.options["device_count"] = count;
      save_checkpoint(file, bad);
      const auto fresh = make(name);
      test::expect_error(
          ErrorCode::invalid_file,
          {file.string(), "device_count", std::string("'") + count + "'", "no number up to"},
          [&] { dynamic_cast<LearnedPolicy&>(*fresh).load(file); });
    }
  }
}

TEST_CASE("parameters: tensors that are not finite, or count no steps, are refused") {
  Parameters parameters;
  Random random(1);
  const torch::Tensor weights = parameters.add_weights("w", 3, 2, random);
  weights.sum().backward();
  parameters.step(1e-2, 0);
  const std::vector<NamedTensor> good = parameters.tensors();
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const float value : {std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::infinity(), -HUGE_VALF}) {
      std::vector<NamedTensor> bad = good;
      bad[i].values[0] = value;
      CHECK_THROWS_WITH_AS(parameters.set_tensors(bad), doctest::Contains(good[i].name.c_str()),
                           std::invalid_argument);
      const test::TemporaryFolder folder;
      test::expect_error(ErrorCode::invalid_argument, {good[i].name, "nothing was written"}, [&] {
        save_checkpoint(folder.path() / "weights", {"p", "1", {}, "", bad});
      });
      CHECK_FALSE(std::filesystem::exists(folder.path() / "weights"));
    }
  }
  for (const float steps : {-1.0F, 3e38F}) {
    std::vector<NamedTensor> bad = good;
    REQUIRE(bad.back().name == "adam.steps");
    bad.back().values[0] = steps;
    CHECK_THROWS_AS(parameters.set_tensors(bad), std::invalid_argument);
  }
  const std::vector<NamedTensor> after = parameters.tensors();
  for (std::size_t i = 0; i < good.size(); ++i) CHECK(after[i].values == good[i].values);
}
