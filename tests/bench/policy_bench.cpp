// Speed of the policies that answer at once, on a layered graph (support/layered_problem.h) of
// 80,000 ops and 144,000 edges, 8 equal devices, one core.
// Workloads: place/<policy>, all of what Policy::place does, evaluations included. The counters say
// how good the answer is.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "berth/engine.h"
#include "berth/evaluator.h"
#include "support/layered_problem.h"
#include "support/paths.h"

namespace berth::test {
namespace {

void place_layered(benchmark::State& state, const std::string& name) {
  LayeredShape shape;
  shape.ops = 80000;
  const auto graph = layered_graph(/*seed=*/7, shape);
  const auto cluster = equal_devices(8, /*latency_us=*/5);
  const auto problem =
      std::make_shared<const Problem>(graph, cluster, Costs::stated(*graph, *cluster));
  Engine engine({test::plugin_folder()});
  const auto policy = engine.make_policy(name);
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

bool add_all() {
  for (const char* name : {"topo", "heft", "m-topo", "m-etf"}) {
    benchmark::RegisterBenchmark(("place/" + std::string(name)).c_str(),
                                 [name](benchmark::State& state) { place_layered(state, name); })
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}

const bool added = add_all();

}  // namespace
}  // namespace berth::test
