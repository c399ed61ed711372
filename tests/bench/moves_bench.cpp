// Speed of evaluating single random moves (MoveEvaluator) on the graph of simulator_bench.cpp, as
// ratios to the full evaluation of the same placements, taken in turn in the same run. Workloads:
//   moves/<objective or semantics>/<placement>[/ties]
// Every tenth move is accepted. Counters, all medians: full_us and move_us, exact with no cutoff;
// exact_ratio between them; reject_ratio, full_us over the time to turn down a move that does not
// better the placement kept; rejected_early, the share of those turned down without being
// simulated; accept_us.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "berth/moves.h"
#include "support/layered_problem.h"

namespace berth::test {
namespace {

constexpr DeviceId kDevices = 4;

/// Of this thread alone: the machine may be busy.
double cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

template <typename Run>
double time_us(Run&& run) {
  const double before = cpu_us();
  run();
  return cpu_us() - before;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::shared_ptr<const Problem> problem_of(Semantics semantics, Objective objective, bool ties) {
  LayeredShape shape;
  shape.ties = ties;
  const auto graph = layered_graph(7, shape);
  const auto cluster = equal_devices(kDevices, semantics == Semantics::dataflow ? 5 : 0);
  ProblemOptions options;
  options.semantics = semantics;
  options.objective = objective;
  return std::make_shared<const Problem>(graph, cluster, Costs::stated(*graph, *cluster), nullptr,
                                         options);
}

void moves(benchmark::State& state, Semantics semantics, Objective objective, bool contiguous,
           bool ties) {
  const auto simulator = std::make_shared<const Simulator>(problem_of(semantics, objective, ties));
  const OpId ops = simulator->problem().graph().op_count();
  Random random(3);
  Placement placement =
      contiguous ? contiguous_placement(ops, kDevices) : random_placement(random, ops, kDevices);
  MoveEvaluator evaluator(simulator);
  evaluator.reset(placement);
  Simulator::Workspace workspace;
  Evaluation evaluation;
  std::vector<double> full, exact, ratio, rejection, accepts;
  double early = 0;
  std::int64_t number = 0;
  for (auto _ : state) {
    const auto op = static_cast<OpId>(random.below(static_cast<std::uint64_t>(ops)));
    const DeviceId from = placement[static_cast<std::size_t>(op)];
    const Move move{op, static_cast<DeviceId>((from + 1 + random.below(kDevices - 1)) % kDevices)};
    placement[static_cast<std::size_t>(op)] = move.to;
    full.push_back(time_us([&] {
      if (objective == Objective::latency) {
        benchmark::DoNotOptimize(simulator->runtime_us(placement, workspace));
      } else {
        simulator->evaluate(placement, workspace, evaluation);
      }
    }));
    MoveEvaluator::Candidate candidate{};
    exact.push_back(time_us([&] { candidate = evaluator.propose({&move, 1}); }));
    ratio.push_back(full.back() / exact.back());
    const double kept_us = evaluator.objective_us();
    if (candidate.objective_us >= kept_us) {
      const double us = time_us([&] { candidate = evaluator.propose({&move, 1}, kept_us); });
      rejection.push_back(full.back() / us);
      early += us < full.back() / 100 ? 1 : 0;
    }
    if (++number % 10 == 0) {
      accepts.push_back(time_us([&] { evaluator.accept(); }));
    } else {
      placement[static_cast<std::size_t>(op)] = from;
    }
    state.SetIterationTime(exact.back() * 1e-6);
  }
  state.counters["full_us"] = median(full);
  state.counters["move_us"] = median(exact);
  state.counters["exact_ratio"] = median(ratio);
  state.counters["reject_ratio"] = median(rejection);
  state.counters["rejected_early"] =
      rejection.empty() ? 0 : early / static_cast<double>(rejection.size());
  state.counters["accept_us"] = median(accepts);
}

bool add_all() {
  const auto add = [](const std::string& name, Semantics semantics, Objective objective,
                      bool contiguous, bool ties) {
    benchmark::RegisterBenchmark(
        ("moves/" + name + (contiguous ? "/contiguous" : "/random") + (ties ? "/ties" : ""))
            .c_str(),
        moves, semantics, objective, contiguous, ties)
        ->UseManualTime()
        ->Iterations(300)
        ->Unit(benchmark::kMicrosecond);
  };
  for (const bool contiguous : {true, false}) {
    for (const bool ties : {false, true}) {
      add("placeto", Semantics::placeto, Objective::latency, contiguous, ties);
      add("dataflow", Semantics::dataflow, Objective::latency, contiguous, ties);
    }
    add("throughput", Semantics::dataflow, Objective::throughput, contiguous, false);
  }
  return true;
}

const bool added = add_all();

}  // namespace
}  // namespace berth::test
