// Speed of the policies that answer at once, on a layered graph (support/layered_problem.h) of
// 80,000 ops and 144,000 edges, 8 equal devices, one core.
// Workloads: place/<policy>, all of what Policy::place does, evaluations included; of `instant` one pass. The counters say
// how good the answer is. place/auto/<budget in ms>: how long `auto` takes for a budget, on 1,000 ops.
#include <benchmark/benchmark.h>

#include <chrono>
#include <memory>
#include <string>

#include "berth/engine.h"
#include "berth/evaluator.h"
#include "berth/support/clock.h"
#include "support/layered_problem.h"
#include "support/paths.h"

namespace berth::test {
namespace {

void place_layered(benchmark::State& state, const std::string& name, const OptionTexts& options) {
  LayeredShape shape;
  shape.ops = 80000;
  const auto graph = layered_graph(/*seed=*/7, shape);
  const auto cluster = equal_devices(8, /*latency_us=*/5);
  const auto problem =
      std::make_shared<const Problem>(graph, cluster, Costs::stated(*graph, *cluster));
  Engine engine({test::plugin_folder()});
  const auto policy = engine.make_policy(name, options);
  const auto evaluator = make_simulation_evaluator(problem, 1);
  double objective_us = 0;
  for (auto _ : state) {
    PlaceContext context;
    const Placement placement = policy->place(*evaluator, context).placement;
    state.PauseTiming();
    objective_us = evaluator->evaluate(placement).objective_us;
    state.ResumeTiming();
  }
  state.counters["objective_us"] = objective_us;
  state.counters["lower_bound_us"] = lower_bound(*problem).us;
}

void keep_budget(benchmark::State& state) {
  LayeredShape shape;
  shape.ops = 1000;
  const auto graph = layered_graph(/*seed=*/7, shape);
  const auto cluster = equal_devices(4, /*latency_us=*/5);
  const auto problem =
      std::make_shared<const Problem>(graph, cluster, Costs::stated(*graph, *cluster));
  Engine engine({test::plugin_folder()});
  const auto policy = engine.make_policy("auto", {{"threads", std::int64_t{1}}});
  const auto evaluator = make_simulation_evaluator(problem, 1);
  PlaceContext context;
  context.budget_s = static_cast<double>(state.range(0)) * 1e-3;
  double objective_us = 0;
  for (auto _ : state) {
    const auto began = std::chrono::steady_clock::now();
    context.should_stop = [&] { return seconds_since(began) >= context.budget_s; };
    objective_us = evaluator->evaluate(policy->place(*evaluator, context).placement).objective_us;
  }
  state.counters["objective_us"] = objective_us;
}

bool add_all() {
  benchmark::RegisterBenchmark("place/auto", keep_budget)
      ->Arg(5)
      ->Arg(10)
      ->Arg(30)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("place/instant", [](benchmark::State& state) {
    place_layered(state, "instant", {{"passes", std::int64_t{1}}});
  })->Unit(benchmark::kMillisecond);
  for (const char* name : {"topo", "heft", "m-topo", "m-etf"}) {
    benchmark::RegisterBenchmark(
        ("place/" + std::string(name)).c_str(),
        [name](benchmark::State& state) { place_layered(state, name, {}); })
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}

const bool added = add_all();

}  // namespace
}  // namespace berth::test
