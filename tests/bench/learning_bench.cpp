// Training of Placeto: episodes per second and where the time goes. Workloads, each one update of
// eight episodes from one start on four devices, 100 groups:
//   learning/simulate/<ops>  the episodes' placements alone, measured as an episode measures them
//   learning/learn/<ops>     rollout and update from C++: what simulation does not take is the
//                            network's
//   learning/ahead/<ops>     the same, looking ahead at every decision
//   learning/train/<ops>     scripts/berth/train.lua on a like graph; lua_percent is what of its
//   time
//                            is spent outside the policy: in Lua, and in what it asks of the engine
// `episodes` is a rate, by the clock.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/evaluator.h"
#include "berth/sdk/environment.h"
#include "berth/sdk/learning.h"
#include "support/layered_problem.h"
#include "support/paths.h"
#include "support/temporary_folder.h"
#if defined(BERTH_BENCH_LUA)
#include "lua/host.h"
#endif

namespace berth::test {
namespace {

constexpr DeviceId kDevices = 4;
constexpr GroupId kGroups = 100;
constexpr int kSamples = 8;

std::shared_ptr<const Graph> graph_of(OpId ops) {
  LayeredShape shape;
  shape.ops = ops;
  return layered_graph(7, shape);
}

std::shared_ptr<const Problem> problem_of(OpId ops) {
  const auto graph = graph_of(ops);
  const auto cluster = equal_devices(kDevices, 5);
  const auto costs = Costs::stated(*graph, *cluster);
  return std::make_shared<const Problem>(graph, cluster, costs, coarsen(*graph, *costs, kGroups),
                                         ProblemOptions{});
}

void count_episodes(benchmark::State& state) {
  state.counters["episodes"] =
      benchmark::Counter(kSamples, benchmark::Counter::kIsIterationInvariantRate);
}

void simulate(benchmark::State& state, OpId ops) {
  const auto problem = problem_of(ops);
  const auto evaluator = make_simulation_evaluator(problem);
  Environment environment({evaluator.get()});
  Random random(3);
  std::vector<EpisodeStart> starts(kSamples);
  for (EpisodeStart& start : starts) {
    start.initial = zero_placement(*problem);
    start.order = traversal_order(problem->groups(), Traversal::topological, random);
  }
  std::vector<DeviceId> devices(kSamples);
  for (auto _ : state) {
    environment.begin(starts);
    while (!environment.done()) {
      for (DeviceId& device : devices) device = static_cast<DeviceId>(random.below(kDevices));
      environment.step(devices);
    }
  }
  count_episodes(state);
}

void learn(benchmark::State& state, OpId ops, bool lookahead) {
  Engine engine({test::plugin_folder()});
  const auto made =
      engine.make_policy("placeto", {{"weights", std::string("none")}, {"lookahead", lookahead}});
  auto& policy = dynamic_cast<LearnedPolicy&>(*made);
  const auto problem = problem_of(ops);
  const auto evaluator = make_simulation_evaluator(problem);
  Evaluator* const evaluators[] = {evaluator.get()};
  RolloutOptions options;
  options.samples = kSamples;
  options.initial = {{zero_placement(*problem)}};
  Rollout rollout;
  std::vector<double> advantages;
  for (auto _ : state) {
    ++options.seed;
    policy.rollout(evaluators, options, rollout);
    advantages.clear();
    for (const Rollout::Episode& episode : rollout.episodes) {
      for (std::int32_t t = 0; t < episode.steps; ++t) {
        const auto step = static_cast<std::size_t>(t);
        advantages.push_back(1e-3 * (episode.evaluations[step].objective_us -
                                     episode.evaluations[step + 1].objective_us));
      }
    }
    policy.update(rollout, advantages, {});
  }
  count_episodes(state);
}

#if defined(BERTH_BENCH_LUA)
// The policy behind a table that adds up the time spent in it; the rest of `update` is Lua's.
constexpr const char* kPrepare = R"(
  local berth, train = require "berth", require "berth.train"
  local ops, groups, samples, file = tonumber(arg[1]), tonumber(arg[2]), tonumber(arg[3]), arg[4]
  local random, builder, outputs = berth.random(7), berth.graph_builder "layered", {}
  for i = 1, ops do
    local op = builder:add_op("op" .. i, "Op")
    builder:set_cost(op, 1 + 200 * random:uniform() * random:uniform())
    outputs[i] = builder:add_output(op, { bytes = random:integer(400000) })
    for _ = 1, i > 30 and 1 + random:integer(2) % 2 or 0 do
      builder:add_input(op, outputs[i - i % 30 - random:integer(math.min(30, i - i % 30 - 1))])
    end
  end
  local problem = berth.problem { graph = builder:build(), cluster = "k80x4", costs = "stated",
                                  groups = groups }
  local policy, inside = berth.policy("placeto", { weights = "none" }), 0
  local proxy = {}
  for _, name in ipairs { "learns", "name", "rollout", "update" } do
    proxy[name] = function(_, ...)
      local started = berth.clock()
      local result = policy[name](policy, ...)
      inside = inside + berth.clock() - started
      return result
    end
  end
  function update()
    local started = berth.clock()
    inside = 0
    train.episodes { policy = proxy, problems = { problem }, count = 5, samples = samples,
                     initial = "zero" }
    local all = berth.clock() - started
    local out = io.open(file, "w")
    out:write(100 * (all - inside) / all)
    out:close()
  end)";

void train(benchmark::State& state, OpId ops) {
  const TemporaryFolder folder;
  Engine engine({test::plugin_folder()});
  lua::Host host(engine, test::source_folder() / "scripts");
  std::ofstream(folder / "prepare.lua") << kPrepare;
  std::ofstream(folder / "update.lua") << "update()";
  const std::filesystem::path share = folder / "share";
  host.run_script(folder / "prepare.lua", {std::to_string(ops), std::to_string(kGroups),
                                           std::to_string(kSamples), share.string()});
  for (auto _ : state) host.run_script(folder / "update.lua", {});
  // Five updates, and a greedy episode at the end.
  state.counters["episodes"] =
      benchmark::Counter(5.0 * kSamples + 1, benchmark::Counter::kIsIterationInvariantRate);
  double percent = 0;
  std::ifstream(share) >> percent;
  state.counters["lua_percent"] = percent;
}
#endif

const int registered = [] {
  for (const OpId ops : {1'000, 30'000}) {
    const auto add = [&](const char* name, auto run) {
      benchmark::RegisterBenchmark(
          ("learning/" + std::string(name) + "/" + std::to_string(ops)).c_str(), run, ops)
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    };
    add("simulate", simulate);
    add("learn", [](benchmark::State& state, OpId n) { learn(state, n, false); });
    add("ahead", [](benchmark::State& state, OpId n) { learn(state, n, true); });
#if defined(BERTH_BENCH_LUA)
    add("train", train);
#endif
  }
  return 0;
}();

}  // namespace
}  // namespace berth::test
