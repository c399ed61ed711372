// What a step in Lua costs beyond the engine's own work. The graph has one op, so that there is
// next to nothing to simulate. Workloads:
//   lua/engine          Evaluator::evaluate of a batch of one, from C++
//   lua/evaluate_into   the same from a script, into a table that is used again
//   lua/reward          the same, and a reward of scripts/berth/rewards.lua
// `step` is the time of one step. What Lua adds is the last minus the first.
#include <benchmark/benchmark.h>

#include <array>
#include <fstream>
#include <limits>
#include <string>

#include "berth/evaluator.h"
#include "lua/host.h"
#include "support/paths.h"
#include "support/temporary_folder.h"

namespace berth::test {
namespace {

constexpr int kSteps = 100'000;  // of one run of the script

constexpr const char* kPrepare = R"(
  local berth = require "berth"
  local builder = berth.graph_builder "one op"
  builder:set_cost(builder:add_op("op", "Test"), 1)
  local problem = berth.problem { graph = builder:build(), cluster = "k80x4", semantics = "placeto" }
  local evaluator, placement = berth.evaluator(problem, { threads = 1 }), { 1 }
  local before, after = evaluator:evaluate(placement), evaluator:evaluate(placement)
  local reward = require("berth.rewards").improvement { memory_penalty = 2, memory_limit_bytes = 8e9 }
  steps = {}
  function steps.evaluate_into(count)
    for _ = 1, count do evaluator:evaluate_into(after, placement) end
  end
  function steps.reward(count)
    local sum = 0
    for _ = 1, count do
      evaluator:evaluate_into(after, placement)
      sum = sum + reward(before, after, false)
      before, after = after, before
    end
    return sum
  end)";

void report(benchmark::State& state) {
  state.counters["step"] = benchmark::Counter(
      kSteps, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void lua_step(benchmark::State& state, const std::string& step) {
  const TemporaryFolder folder;
  Engine engine({folder.path()});
  lua::Host host(engine, test::source_folder() / "scripts");
  std::ofstream(folder / "prepare.lua") << kPrepare;
  std::ofstream(folder / "step.lua") << "steps[arg[1]](tonumber(arg[2]))";
  host.run_script(folder / "prepare.lua", {});
  const std::vector<std::string> arguments = {step, std::to_string(kSteps)};
  for (auto _ : state) host.run_script(folder / "step.lua", arguments);
  report(state);
}

void engine_step(benchmark::State& state) {
  GraphBuilder builder("one op");
  builder.set_cost(builder.add_op("op", "Test"), "", 1);
  const auto graph = builder.build();
  const auto cluster = Cluster::preset("k80x4");
  ProblemOptions options;
  options.semantics = Semantics::placeto;
  const auto evaluator = make_simulation_evaluator(
      std::make_shared<const Problem>(graph, cluster, Costs::stated(*graph, *cluster), nullptr,
                                      options),
      /*threads=*/1);
  const std::array placements = {Placement{0}};
  std::array<Evaluation, 1> results;
  for (auto _ : state) {
    for (int i = 0; i < kSteps; ++i) evaluator->evaluate(placements, results);
  }
  report(state);
}

BENCHMARK(engine_step)->Name("lua/engine")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(lua_step, evaluate_into, "evaluate_into")
    ->Name("lua/evaluate_into")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(lua_step, reward, "reward")->Name("lua/reward")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth::test
