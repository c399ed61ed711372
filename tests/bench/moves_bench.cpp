// Speed of evaluating single random moves (MoveEvaluator) on the graph of simulator_bench.cpp, as
// ratios to the full evaluation of the same placements, taken in turn in the same run. Workloads:
//   moves/<objective or semantics>/<placement>[/ties]
// Every tenth move is accepted. Counters, all medians:
//   full_us, move_us   a full evaluation (Simulator::evaluate) and a move, exact and with no
//   cutoff:
//                      both give the objective and the memory that is exceeded
//   exact_ratio        between them
//   step_ratio         of Simulator::runtime_us, which knows no memory, and move_us
//   reject_ratio       of Simulator::runtime_us (throughput: full_us) and the time to turn down a
//                      move that does not better the placement kept; rejected_early, the share of
//                      those turned down without being simulated
//   better_ratio       the same for an incumbent that is 1 % better than the placement kept
//   accept_us
//
// What bounds step_ratio. Half of the ops start at another time after a random move (the median; 29
// % in placeto/random, where changes may die out), and their times have to be added up anew. With
// random placements, 75 % of those ops also run after another op than before, so the order of
// events has to be found anew as well, and an event costs what it costs in a full simulation but
// for what the compiled plan saves (10 to 20 %). With contiguous placements the order stays. What
// bounds reject_ratio and better_ratio. A bound of the rest of the step does not know how its
// queues will run dry, and these placements leave devices idle for 12 % and more of the step: it
// passes a cutoff near the placement kept only shortly before the end.
// Medians on a busy machine (EPYC, g++ 12; load 11 on 2 cores), contiguous / random:
//   exact_ratio  placeto 6.4 / 3.9   dataflow 4.3 / 3.0   with ties 7.1 / 8.1, 5.0 / 3.8
//   step_ratio   placeto 1.8 / 1.9   dataflow 2.0 / 1.8   with ties 2.4 / 4.7, 2.4 / 2.5
//   throughput   exact_ratio 100 / 147, reject_ratio 358 / 619
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "berth/sdk/moves.h"
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
  std::vector<double> full, step, exact, ratio, step_ratio, rejection, better, accepts;
  double early = 0;
  std::int64_t number = 0;
  for (auto _ : state) {
    const auto op = static_cast<OpId>(random.below(static_cast<std::uint64_t>(ops)));
    const DeviceId from = placement[static_cast<std::size_t>(op)];
    const Move move{op, static_cast<DeviceId>((from + 1 + random.below(kDevices - 1)) % kDevices)};
    placement[static_cast<std::size_t>(op)] = move.to;
    full.push_back(time_us([&] { simulator->evaluate(placement, workspace, evaluation); }));
    step.push_back(objective == Objective::throughput ? full.back() : time_us([&] {
      benchmark::DoNotOptimize(simulator->runtime_us(placement, workspace));
    }));
    MoveEvaluator::Candidate candidate{};
    exact.push_back(time_us([&] { candidate = evaluator.propose({&move, 1}); }));
    ratio.push_back(full.back() / exact.back());
    step_ratio.push_back(step.back() / exact.back());
    const double kept_us = evaluator.objective_us();
    if (candidate.objective_us >= kept_us) {
      const double us = time_us([&] { candidate = evaluator.propose({&move, 1}, kept_us); });
      rejection.push_back(step.back() / us);
      early += us < step.back() / 100 ? 1 : 0;
    }
    const double incumbent_us = 0.99 * kept_us;
    if (candidate.objective_us >= incumbent_us) {
      better.push_back(step.back() / time_us([&] {
                         candidate = evaluator.propose({&move, 1}, incumbent_us);
                       }));
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
  state.counters["step_ratio"] = median(step_ratio);
  state.counters["reject_ratio"] = median(rejection);
  state.counters["better_ratio"] = median(better);
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
