#include "berth/sdk/environment.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "berth/simulator.h"
#include "support/expect_error.h"
#include "support/layered_problem.h"
#include "support/random_problem.h"

using namespace berth;
using namespace berth::test;

namespace {

std::shared_ptr<const Problem> some_problem(Random& random, ProblemOptions options = {},
                                            double cannot_run_chance = 0.3) {
  const auto graph =
      random_graph(random, {.ops = 20, .colocate_chance = 0.2, .max_param_bytes = 1000});
  const auto cluster = random_cluster(random, {.devices = 3, .kinds = 2, .memory_bytes = 2000000});
  const auto costs = random_costs(random, *graph, *cluster, 100, cannot_run_chance);
  return std::make_shared<const Problem>(graph, cluster, costs, nullptr, options);
}

DeviceId able_device(const Problem& problem, GroupId group, Random& random) {
  while (true) {
    const auto device = static_cast<DeviceId>(
        random.below(static_cast<std::uint64_t>(problem.cluster().device_count())));
    if (problem.can_run(group, device)) return device;
  }
}

/// Evaluates like a simulation and is none, as far as the environment can tell.
class Measuring final : public Evaluator {
 public:
  explicit Measuring(std::shared_ptr<const Problem> problem)
      : simulation_(make_simulation_evaluator(std::move(problem))) {}
  const Problem& problem() const noexcept override { return simulation_->problem(); }
  void evaluate(std::span<const Placement> placements, std::span<Evaluation> out) override {
    simulation_->evaluate(placements, out);
  }
  std::int64_t evaluations() const noexcept override { return simulation_->evaluations(); }

 private:
  std::unique_ptr<Evaluator> simulation_;
};

void check_state(const Environment::Episode& episode, Evaluator& evaluator) {
  const Problem& problem = *episode.problem;
  const Placement placement = problem.groups().expand(episode.placement);
  const Evaluation expected = evaluator.evaluate(placement);
  CHECK(episode.evaluation.objective_us == expected.objective_us);
  CHECK(episode.evaluation.runtime_us == expected.runtime_us);
  CHECK(episode.evaluation.max_load_us == expected.max_load_us);
  CHECK(episode.evaluation.busy_us == expected.busy_us);
  CHECK(episode.evaluation.peak_bytes == expected.peak_bytes);
  CHECK(episode.evaluation.excess_bytes == expected.excess_bytes);
  CHECK(episode.evaluation.worst_device == expected.worst_device);
  CHECK(episode.evaluation.feasible == expected.feasible);
  if (problem.options().objective == Objective::throughput) return;
  const StepTrace trace =
      Simulator(std::shared_ptr<const Problem>(std::shared_ptr<void>(), &problem)).trace(placement);
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    double first = kCannotRun;
    for (const OpId op : problem.groups().members(group)) {
      first = std::min(first, trace.op_start_us[static_cast<std::size_t>(op)]);
    }
    CHECK(episode.start_us[static_cast<std::size_t>(group)] == first);
  }
}

void check_alternatives(const Environment::Episode& episode, Evaluator& evaluator) {
  const Problem& problem = *episode.problem;
  if (episode.done()) {
    CHECK(episode.alternatives.empty());
    return;
  }
  REQUIRE(episode.alternatives.size() ==
          static_cast<std::size_t>(problem.cluster().device_count()));
  const Evaluation& state = episode.evaluation;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    const auto& alternative = episode.alternatives[static_cast<std::size_t>(device)];
    if (!problem.can_run(episode.current(), device)) {
      CHECK(alternative.objective_us == kCannotRun);
      continue;
    }
    GroupPlacement there = episode.placement;
    there[episode.current()] = device;
    const Evaluation expected = evaluator.evaluate(problem.groups().expand(there));
    if (state.excess_bytes == 0 &&
        expected.objective_us >= Environment::kHopeless * state.objective_us) {
      CHECK(alternative.objective_us == kCannotRun);
    } else {
      CHECK(alternative.objective_us == expected.objective_us);
      CHECK(alternative.excess_bytes == expected.excess_bytes);
    }
  }
}

}  // namespace

TEST_CASE("every state is measured as an evaluator measures it, by whatever evaluator") {
  Random random(4);
  for (const ProblemOptions options :
       {ProblemOptions{}, ProblemOptions{.semantics = Semantics::placeto},
        ProblemOptions{.objective = Objective::throughput}}) {
    const auto small = some_problem(random, options), large = some_problem(random, options);
    const auto first = make_simulation_evaluator(small);
    Measuring second(large);
    Evaluator* const evaluators[] = {first.get(), &second};
    Environment environment({first.get(), &second}, {.alternatives = true});
    std::vector<EpisodeStart> starts;
    for (std::size_t i = 0; i < 4; ++i) {
      const Problem& problem = i % 2 == 0 ? *small : *large;
      starts.push_back({i % 2, random_placement(problem, random),
                        traversal_order(problem.groups(), Traversal::random, random)});
    }
    environment.begin(starts);
    std::size_t steps = 0;
    while (!environment.done()) {
      std::vector<DeviceId> devices(starts.size());
      for (std::size_t i = 0; i < starts.size(); ++i) {
        const Environment::Episode& episode = environment.episode(i);
        check_state(episode, *evaluators[i % 2]);
        check_alternatives(episode, *evaluators[i % 2]);
        if (!episode.done()) {
          CHECK(episode.current() == starts[i].order[episode.step]);
          devices[i] = able_device(*episode.problem, episode.current(), random);
        }
      }
      environment.step(devices);
      ++steps;
      for (std::size_t i = 0; i < starts.size(); ++i) {
        const Environment::Episode& episode = environment.episode(i);
        if (steps > episode.order.size()) continue;
        CHECK(episode.placement[episode.order[steps - 1]] == devices[i]);
      }
    }
    CHECK(steps ==
          static_cast<std::size_t>(std::max(small->groups().count(), large->groups().count())));
  }
}

TEST_CASE("episodes that run each for itself see what those that step together see") {
  Random random(12);
  const auto small = some_problem(random), large = some_problem(random);
  for (const int threads : {1, 4}) {
    CAPTURE(threads);
    const auto first = make_simulation_evaluator(small, threads);
    const auto second = make_simulation_evaluator(large, threads);
    Measuring other(large);
    for (Evaluator* const beside : {second.get(), static_cast<Evaluator*>(&other)}) {
      Random draw(13);
      std::vector<EpisodeStart> starts;
      std::vector<std::vector<DeviceId>> decisions;  // by episode and step
      for (std::size_t i = 0; i < 6; ++i) {
        const Problem& problem = i % 2 == 0 ? *small : *large;
        starts.push_back({i % 2, random_placement(problem, draw),
                          traversal_order(problem.groups(), Traversal::random, draw)});
        auto& own = decisions.emplace_back();
        for (const GroupId group : starts.back().order) {
          own.push_back(able_device(problem, group, draw));
        }
      }
      Environment together({first.get(), beside}), alone({first.get(), beside});
      together.begin(starts);
      std::vector<std::vector<double>> expected(starts.size()), seen(starts.size());
      while (!together.done()) {
        std::vector<DeviceId> devices(starts.size());
        for (std::size_t i = 0; i < starts.size(); ++i) {
          const Environment::Episode& episode = together.episode(i);
          if (episode.done()) continue;
          expected[i].push_back(episode.evaluation.objective_us);
          devices[i] = decisions[i][episode.step];
        }
        together.step(devices);
      }
      alone.begin(starts);
      const std::int64_t before = first->evaluations() + beside->evaluations();
      alone.run([&](std::size_t i) {
        const Environment::Episode& episode = alone.episode(i);
        seen[i].push_back(episode.evaluation.objective_us);
        return decisions[i][episode.step];
      });
      std::int64_t moves = 0;
      for (std::size_t i = 0; i < starts.size(); ++i) {
        const Environment::Episode& a = together.episode(i);
        const Environment::Episode& b = alone.episode(i);
        CHECK(b.done());
        CHECK(seen[i] == expected[i]);
        CHECK(a.placement == b.placement);
        CHECK(a.start_us == b.start_us);
        CHECK(a.evaluation.objective_us == b.evaluation.objective_us);
        CHECK(a.evaluation.peak_bytes == b.evaluation.peak_bytes);
        CHECK(a.evaluation.busy_us == b.evaluation.busy_us);
        for (std::size_t step = 0; step < a.order.size(); ++step) {
          const GroupId group = a.order[step];
          if (decisions[i][step] != starts[i].initial[group]) ++moves;
        }
      }
      CHECK(first->evaluations() + beside->evaluations() == before + moves);
      alone.begin(starts);
      expect_error(ErrorCode::invalid_argument, {"device 9"},
                   [&] { alone.run([](std::size_t) { return DeviceId{9}; }); });
    }
  }
}

/// Hundreds of ops, few of them without inputs: a step goes on from where a move matters first.
std::shared_ptr<const Problem> large_problem(Random& random, int kind, ProblemOptions options) {
  LayeredShape layered{.ops = 700};
  layered.ties = kind == 1;
  const auto graph = kind < 2 ? layered_graph(random.next(), layered)
                              : random_graph(random, {.ops = 700,
                                                      .edge_chance = 0.25,
                                                      .reach = 16,
                                                      .max_param_bytes = 100000,
                                                      .shared_parameter_chance = 0.05});
  const int devices = kind == 3 ? 20 : 3;  // 20: more than are scanned for the next event
  const auto cluster = random_cluster(
      random, {.devices = devices, .kinds = 2, .memory_bytes = kind == 0 ? 20000000000 : 20000000});
  const auto costs =
      kind < 2 ? Costs::stated(*graph, *cluster) : random_costs(random, *graph, *cluster, 100, 0.1);
  return std::make_shared<const Problem>(graph, cluster, costs, coarsen(*graph, *costs, 30),
                                         options);
}

TEST_CASE("whatever the order of visits, every state is the simulator's to the last bit") {
  Random random(14);
  for (int kind = 0; kind < 4; ++kind) {
    for (const Traversal order : {Traversal::topological, Traversal::reverse, Traversal::random}) {
      CAPTURE(kind);
      CAPTURE(traversal_name(order));
      const auto problem = large_problem(random, kind, {});
      const auto evaluator = make_simulation_evaluator(problem);
      Environment environment({evaluator.get()}, {.alternatives = true});
      const EpisodeStart start{0, random_placement(*problem, random),
                               traversal_order(problem->groups(), order, random)};
      environment.begin(std::span(&start, 1));
      environment.run([&](std::size_t) {
        const Environment::Episode& episode = environment.episode(0);
        check_state(episode, *evaluator);
        check_alternatives(episode, *evaluator);
        // Now and then it stays where it is.
        const GroupId group = episode.current();
        return random.uniform() < 0.3 ? episode.placement[group]
                                      : able_device(*problem, group, random);
      });
      check_state(environment.episode(0), *evaluator);
    }
  }
}

TEST_CASE("a device that cannot run the group is refused, and nothing has moved") {
  Random random(6);
  const auto problem = some_problem(random, {}, /*cannot_run_chance=*/0.9);
  const auto evaluator = make_simulation_evaluator(problem);
  Environment environment({evaluator.get()});
  EpisodeStart start{0, zero_placement(*problem),
                     traversal_order(problem->groups(), Traversal::topological, random)};
  const EpisodeStart starts[] = {start, start};
  environment.begin(starts);
  while (!environment.done()) {
    const GroupId group = environment.episode(0).current();
    const DeviceId good = able_device(*problem, group, random);
    for (DeviceId device = 0; device < problem->cluster().device_count(); ++device) {
      if (problem->can_run(group, device)) continue;
      const DeviceId devices[] = {good, device};
      const std::size_t step = environment.episode(0).step;
      expect_error(ErrorCode::invalid_argument, {"cannot run on device"},
                   [&] { environment.step(devices); });
      CHECK(environment.episode(0).step == step);
    }
    const DeviceId devices[] = {good, good};
    environment.step(devices);
  }
}

TEST_CASE("bad beginnings are refused") {
  Random random(8);
  const auto problem = some_problem(random);
  const auto evaluator = make_simulation_evaluator(problem);
  Environment environment({evaluator.get()});
  const EpisodeStart good{0, zero_placement(*problem),
                          traversal_order(problem->groups(), Traversal::topological, random)};
  const auto refused = [&](std::initializer_list<std::string_view> parts, auto change) {
    EpisodeStart bad = good;
    change(bad);
    expect_error(ErrorCode::invalid_argument, parts,
                 [&] { environment.begin(std::span(&bad, 1)); });
  };
  refused({"problem 1"}, [](EpisodeStart& start) { start.problem = 1; });
  refused({"need all of them"}, [](EpisodeStart& start) { start.initial.push_back(0); });
  refused({"device 7"}, [](EpisodeStart& start) { start.initial[0] = 7; });
  refused({"visit each once"}, [](EpisodeStart& start) { start.order[0] = start.order[1]; });
  environment.begin(std::span(&good, 1));
  expect_error(ErrorCode::invalid_argument, {"2 devices for 1"}, [&] {
    environment.step(std::vector<DeviceId>{0, 0});
  });
}

TEST_CASE("a regrouped evaluator measures the same and counts for both") {
  Random random(9);
  const auto problem = some_problem(random, {}, 0);
  const auto simulation = make_simulation_evaluator(problem);
  Measuring measuring(problem);
  const auto groups = coarsen(problem->graph(), problem->costs(), 4);
  for (Evaluator* const evaluator : {simulation.get(), static_cast<Evaluator*>(&measuring)}) {
    const auto regrouped = make_regrouped_evaluator(*evaluator, groups);
    CHECK(regrouped->problem().groups().count() == groups->count());
    const Placement placement = groups->expand(random_placement(regrouped->problem(), random));
    const std::int64_t before = evaluator->evaluations();
    const Evaluation seen = regrouped->evaluate(placement);
    CHECK(evaluator->evaluations() == before + 1);
    CHECK(seen.objective_us == evaluator->evaluate(placement).objective_us);
  }
}
