// Speed of the simulator on the layered graph of 30,000 ops and 54,000 edges, 4 devices
// (support/layered_problem.h). Workloads:
//   simulate/<semantics>/<placement>[/ties]   Simulator::runtime_us, one core
//   evaluate/<semantics>/<placement>          Simulator::evaluate: runtime, memory, feasibility
//   evaluate/throughput/<placement>           the other objective
//   batch/<semantics>/<threads>               Evaluator on 64 random placements
// <placement> is contiguous (a quarter of the ops per device, in order) or random (uniform; 16
// placements taken in turn). `ties`: few distinct costs, several outputs per op.
// Each figure is per op: the fastest and the median of the runs, in nanoseconds.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "berth/evaluator.h"
#include "berth/simulator.h"
#include "support/layered_problem.h"

namespace berth::test {
namespace {

constexpr DeviceId kDevices = 4;
constexpr std::uint64_t kSeed = 7;

enum class Spread { contiguous, random };

std::shared_ptr<const Problem> layered_problem(Semantics semantics, Objective objective,
                                               bool ties) {
  LayeredShape shape;
  shape.ties = ties;
  const auto graph = layered_graph(kSeed, shape);
  const auto cluster = equal_devices(kDevices, semantics == Semantics::dataflow ? 5 : 0);
  ProblemOptions options;
  options.semantics = semantics;
  options.objective = objective;
  return std::make_shared<const Problem>(graph, cluster, Costs::stated(*graph, *cluster), nullptr,
                                         options);
}

std::vector<Placement> placements(const Problem& problem, Spread spread, std::size_t count) {
  Random random(kSeed);
  std::vector<Placement> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(spread == Spread::contiguous
                      ? contiguous_placement(problem.graph().op_count(), kDevices)
                      : random_placement(random, problem.graph().op_count(), kDevices));
  }
  return all;
}

/// Times every call of `run` by itself and reports the fastest and the median per op.
template <typename Run>
void time_per_op(benchmark::State& state, std::int64_t ops, Run&& run) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> ns_per_op;
  run();
  for (auto _ : state) {
    const auto start = Clock::now();
    run();
    const std::chrono::duration<double> taken = Clock::now() - start;
    state.SetIterationTime(taken.count());
    ns_per_op.push_back(taken.count() * 1e9 / static_cast<double>(ops));
  }
  std::sort(ns_per_op.begin(), ns_per_op.end());
  state.counters["min_ns_per_op"] = ns_per_op.front();
  state.counters["median_ns_per_op"] = ns_per_op[ns_per_op.size() / 2];
}

void simulate(benchmark::State& state, Semantics semantics, Spread spread, bool ties) {
  const auto problem = layered_problem(semantics, Objective::latency, ties);
  const Simulator simulator(problem);
  const auto all = placements(*problem, spread, 16);
  Simulator::Workspace workspace;
  std::size_t next = 0;
  time_per_op(state, problem->graph().op_count(), [&] {
    benchmark::DoNotOptimize(simulator.runtime_us(all[next++ % all.size()], workspace));
  });
}

void evaluate(benchmark::State& state, Semantics semantics, Objective objective, Spread spread) {
  const auto problem = layered_problem(semantics, objective, /*ties=*/false);
  const Simulator simulator(problem);
  const auto all = placements(*problem, spread, 16);
  Simulator::Workspace workspace;
  Evaluation evaluation;
  std::size_t next = 0;
  time_per_op(state, problem->graph().op_count(), [&] {
    simulator.evaluate(all[next++ % all.size()], workspace, evaluation);
    benchmark::DoNotOptimize(evaluation.objective_us);
  });
}

void batch(benchmark::State& state, Semantics semantics, int threads) {
  const auto problem = layered_problem(semantics, Objective::latency, /*ties=*/false);
  const auto evaluator = make_simulation_evaluator(problem, threads);
  const auto all = placements(*problem, Spread::random, 64);
  std::vector<Evaluation> evaluations(all.size());
  time_per_op(state, 64 * std::int64_t{problem->graph().op_count()},
              [&] { evaluator->evaluate(all, evaluations); });
}

template <typename... Arguments>
void add(const std::string& name, Arguments... arguments) {
  benchmark::RegisterBenchmark(name.c_str(), arguments...)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

bool add_all() {
  for (const Semantics semantics : {Semantics::placeto, Semantics::dataflow}) {
    const std::string rules(semantics_name(semantics));
    for (const Spread spread : {Spread::contiguous, Spread::random}) {
      const std::string where = spread == Spread::contiguous ? "contiguous" : "random";
      add("simulate/" + rules + "/" + where, simulate, semantics, spread, false);
      add("simulate/" + rules + "/" + where + "/ties", simulate, semantics, spread, true);
      add("evaluate/" + rules + "/" + where, evaluate, semantics, Objective::latency, spread);
    }
    for (const int threads : {1, 2}) {
      add("batch/" + rules + "/threads:" + std::to_string(threads), batch, semantics, threads);
    }
  }
  add("evaluate/throughput/contiguous", evaluate, Semantics::dataflow, Objective::throughput,
      Spread::contiguous);
  add("evaluate/throughput/random", evaluate, Semantics::dataflow, Objective::throughput,
      Spread::random);
  return true;
}

const bool added = add_all();

}  // namespace
}  // namespace berth::test
