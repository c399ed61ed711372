// What holds on every graph and placement.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "berth/evaluator.h"
#include "berth/sdk/ops/views.h"
#include "berth/simulator.h"
#include "reference_simulator.h"
#include "support/tangled_problem.h"

namespace berth::test {
namespace {

constexpr Semantics kBoth[] = {Semantics::placeto, Semantics::dataflow};

/// Calls check(problem, placement, random) over problems of several sizes, a few placements each.
template <typename Check>
void on_random_steps(Semantics semantics, Objective objective, int problems, Check&& check) {
  for (int seed = 0; seed < problems; ++seed) {
    CAPTURE(seed);
    Random random(static_cast<std::uint64_t>(seed));
    TangledShape shape;
    shape.ops = 1 + static_cast<int>(random.below(60));
    // Now and then more devices than are scanned for the next event.
    shape.devices = seed % 10 == 9 ? 9 + static_cast<int>(random.below(16))
                                   : 1 + static_cast<int>(random.below(6));
    shape.keeps = seed % 4 == 1;
    shape.lasting = seed % 3 == 1;
    shape.sums = seed % 5 == 4;
    const auto problem = tangled_problem(random, semantics, objective, shape);
    for (int i = 0; i < 3; ++i) {
      CAPTURE(i);
      check(problem, any_placement(random, *problem));
    }
  }
}

/// Tensors that are on a device when a step is over: inputs and results, and for a view's what it is of.
std::set<std::pair<TensorId, DeviceId>> lasting_tensors(const Graph& graph,
                                                        const Placement& placement) {
  std::set<std::pair<TensorId, DeviceId>> found, seen;
  const auto hold = [&](TensorId tensor, DeviceId device, const auto& again) -> void {
    if (graph.bytes(tensor) == 0 || !seen.insert({tensor, device}).second) return;
    const OpId op = graph.producer(tensor);
    if (placement[static_cast<std::size_t>(op)] != device || !ops::is_view(graph, op)) {
      found.insert({tensor, device});
      return;
    }
    for (const Edge& edge : graph.in_edges(op)) {
      if (edge.tensor != kNoTensor) again(edge.tensor, device, again);
    }
  };
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (graph.is_constant(op)) continue;  // parameters
    for (const TensorId tensor : graph.outputs(op)) {
      if (!graph.is_input(op) && !graph.is_result(tensor)) continue;
      hold(tensor, placement[static_cast<std::size_t>(op)], hold);
    }
  }
  return found;
}

TEST_CASE("the simulator agrees with the slow reference to the last bit") {
  for (const Semantics semantics : kBoth) {
    CAPTURE(semantics_name(semantics));
    Simulator::Workspace workspace;  // one for all: it must not matter what it was used for before
    on_random_steps(semantics, Objective::latency, 400,
                    [&](const auto& problem, const auto& placement) {
                      const ReferenceStep reference = reference_step(*problem, placement);
                      const Simulator simulator(problem);
                      CHECK(simulator.runtime_us(placement, workspace) == reference.runtime_us);
                      Evaluation evaluation;
                      simulator.evaluate(placement, workspace, evaluation);
                      CHECK(evaluation.runtime_us == reference.runtime_us);
                      CHECK(evaluation.objective_us == reference.runtime_us);
                      CHECK(evaluation.peak_bytes == reference.peak_bytes);
                      const StepTrace trace = simulator.trace(placement);
                      CHECK(trace.runtime_us == reference.runtime_us);
                      CHECK(trace.op_start_us == reference.start_us);
                    });
  }
}

TEST_CASE("loads agree with the slow reference") {
  int by_channels = 0;
  Simulator::Workspace workspace;
  on_random_steps(Semantics::dataflow, Objective::throughput, 300,
                  [&](const auto& problem, const auto& placement) {
                    const std::vector<double> loads = reference_loads(*problem, placement);
                    Evaluation evaluation;
                    Simulator(problem).evaluate(placement, workspace, evaluation);
                    REQUIRE(evaluation.busy_us.size() == loads.size());
                    for (std::size_t d = 0; d < loads.size(); ++d) {
                      CHECK(evaluation.busy_us[d] == doctest::Approx(loads[d]).epsilon(1e-12));
                    }
                    const double largest_us = *std::max_element(loads.begin(), loads.end());
                    const double channel_us = reference_channel_load(*problem, placement);
                    CHECK(evaluation.max_load_us ==
                          doctest::Approx(std::max(largest_us, channel_us)).epsilon(1e-12));
                    by_channels += channel_us > largest_us ? 1 : 0;
                    CHECK(evaluation.peak_bytes == reference_stages(*problem, placement));
                    CHECK(evaluation.objective_us == evaluation.max_load_us);
                    CHECK(evaluation.runtime_us == 0);
                  });
  CHECK(by_channels > 20);
}

/// The largest sum of durations along a path, each op where it is placed, transfers left out.
double placed_path_us(const Problem& problem, const Placement& placement) {
  const Graph& graph = problem.graph();
  std::vector<double> end_us(static_cast<std::size_t>(graph.op_count()), 0.0);
  double longest_us = 0;
  for (const OpId op : graph.topological_order()) {
    double start_us = 0;
    for (const Edge& edge : graph.in_edges(op)) {
      start_us = std::max(start_us, end_us[static_cast<std::size_t>(edge.src)]);
    }
    const auto o = static_cast<std::size_t>(op);
    end_us[o] = start_us + problem.cost_us(op, placement[o]);
    longest_us = std::max(longest_us, end_us[o]);
  }
  return longest_us;
}

TEST_CASE("a step takes at least its critical path and the busiest device's work") {
  for (const Semantics semantics : kBoth) {
    on_random_steps(semantics, Objective::latency, 100,
                    [](const auto& problem, const auto& placement) {
                      Simulator::Workspace workspace;
                      Evaluation evaluation;
                      Simulator(problem).evaluate(placement, workspace, evaluation);
                      const double slack = 1 + 1e-12;
                      CHECK(evaluation.runtime_us * slack >= placed_path_us(*problem, placement));
                      for (const double busy_us : evaluation.busy_us)
                        CHECK(evaluation.runtime_us * slack >= busy_us);
                    });
  }
}

/// Spans that never overlap, in the order of their starts.
void check_apart(std::vector<std::pair<double, double>> spans) {
  std::sort(spans.begin(), spans.end());
  for (std::size_t i = 1; i < spans.size(); ++i) CHECK(spans[i].first >= spans[i - 1].second);
}

TEST_CASE("a trace is consistent in itself") {
  for (const Semantics semantics : kBoth) {
    on_random_steps(
        semantics, Objective::latency, 100, [&](const auto& problem, const auto& placement) {
          const Graph& graph = problem->graph();
          const auto devices = static_cast<std::size_t>(problem->cluster().device_count());
          const StepTrace trace = Simulator(problem).trace(placement);

          // A device runs one op at a time, and an engine makes one transfer.
          using Spans = std::vector<std::pair<double, double>>;
          std::vector<Spans> ops(devices);
          std::map<std::pair<DeviceId, DeviceId>, Spans> out,
              in;  // by device, and link if it has one per link
          const auto link = [&](DeviceId device, DeviceId other) {
            const bool each = semantics == Semantics::dataflow &&
                              problem->cluster().device(device).engine_per_link;
            return std::pair(device, each ? other : kNoDevice);
          };
          for (std::size_t op = 0; op < placement.size(); ++op) {
            ops[static_cast<std::size_t>(placement[op])].emplace_back(trace.op_start_us[op],
                                                                      trace.op_end_us[op]);
          }
          std::vector<double> busy_us(devices, 0.0);
          double last_start_us = 0;
          for (const Transfer& transfer : trace.transfers) {
            CHECK(transfer.queued_us <= transfer.start_us);
            CHECK(transfer.start_us <= transfer.end_us);
            CHECK(transfer.start_us >= last_start_us);
            last_start_us = transfer.start_us;
            CHECK(transfer.queued_us ==
                  trace.op_end_us[static_cast<std::size_t>(transfer.producer)]);
            if (transfer.tensor == kNoTensor) continue;
            CHECK(transfer.bytes == graph.bytes(transfer.tensor));
            if (semantics == Semantics::dataflow) {
              const Route& route = problem->cluster().route(transfer.src, transfer.dst);
              if (route.receiver_us) {  // it is a work of the device between two ops
                CHECK(transfer.start_us >= transfer.queued_us + route.latency_us);
                ops[static_cast<std::size_t>(transfer.dst)].emplace_back(transfer.start_us,
                                                                         transfer.end_us);
                continue;
              }
              if (route.parallel) {
                CHECK(transfer.start_us == transfer.queued_us);
                continue;
              }
            }
            out[link(transfer.src, transfer.dst)].emplace_back(transfer.start_us, transfer.end_us);
            if (transfer.dst == kNoDevice) continue;
            in[link(transfer.dst, transfer.src)].emplace_back(transfer.start_us, transfer.end_us);
          }
          for (const Spans& spans : ops) check_apart(spans);
          for (const auto& engines : {out, in}) {
            for (const auto& [engine, spans] : engines) check_apart(spans);
          }

          // No op starts before its inputs are there.
          for (const OpId op : graph.topological_order()) {
            for (const Edge& edge : graph.in_edges(op)) {
              const auto src = static_cast<std::size_t>(edge.src);
              CHECK(trace.op_start_us[static_cast<std::size_t>(op)] >= trace.op_end_us[src]);
            }
          }

          // Memory: the highest sample is the peak; parameters, inputs and results are left.
          std::vector<std::int64_t> highest(devices, 0), last(devices, 0), lasting(devices, 0);
          if (semantics == Semantics::dataflow) {
            for (const auto& [tensor, device] : lasting_tensors(graph, placement)) {
              lasting[static_cast<std::size_t>(problem->cluster().works_in(device))] +=
                  graph.bytes(tensor);
            }
            // Outputs in the places of inputs were counted twice.
            for (OpId op = 0; op < graph.op_count(); ++op) {
              if (problem->is_view(op)) continue;
              const DeviceId device = placement[static_cast<std::size_t>(op)];
              lasting[static_cast<std::size_t>(problem->cluster().works_in(device))] -=
                  graph.reused_bytes(op);
            }
          }
          for (const MemorySample& sample : trace.memory) {
            const auto d = static_cast<std::size_t>(sample.device);
            highest[d] = std::max(highest[d], sample.bytes);
            last[d] = sample.bytes;
          }
          for (std::size_t d = 0; d < devices; ++d) {
            CHECK(highest[d] == trace.devices[d].peak_bytes);
            CHECK(last[d] == trace.devices[d].param_bytes + lasting[d]);
            CHECK(trace.devices[d].idle_us == trace.runtime_us - trace.devices[d].busy_us);
          }
        });
  }
}

TEST_CASE("the critical path is a chain from the start to the end of the step") {
  for (const Semantics semantics : kBoth) {
    on_random_steps(
        semantics, Objective::latency, 100, [&](const auto& problem, const auto& placement) {
          const StepTrace trace = Simulator(problem).trace(placement);
          const ProblemOptions& options = problem->options();
          const bool gaps = semantics == Semantics::placeto;
          const auto& path = trace.critical_path;
          REQUIRE(!path.empty());
          CHECK(path.front().reason == CriticalStep::Reason::start);
          CHECK(path.front().start_us == 0);
          for (std::size_t i = 0; i < path.size(); ++i) {
            const CriticalStep& step = path[i];
            CHECK((step.op == kNoOp) != (step.transfer == -1));
            if (step.op != kNoOp) {
              CHECK(step.start_us == trace.op_start_us[static_cast<std::size_t>(step.op)]);
              CHECK(step.end_us == trace.op_end_us[static_cast<std::size_t>(step.op)]);
            } else {
              const Transfer& transfer = trace.transfers[static_cast<std::size_t>(step.transfer)];
              // One that its receiver copies at once is on its way before.
              const bool on_its_way =
                  step.start_us == transfer.queued_us && !gaps &&
                  problem->cluster().route(transfer.src, transfer.dst).receiver_us;
              CHECK(step.start_us == (on_its_way ? transfer.queued_us : transfer.start_us));
            }
            if (i == 0) continue;
            const CriticalStep& before = path[i - 1];
            // Nothing but a pause of the published simulator lies between two steps.
            double gap_us = 0;
            if (gaps && step.reason == CriticalStep::Reason::device_busy &&
                problem->cost_us(before.op, placement[static_cast<std::size_t>(before.op)]) != 0) {
              gap_us = options.device_gap_us;
            }
            if (gaps && step.reason == CriticalStep::Reason::link_busy)
              gap_us = options.transfer_gap_us;
            CHECK(step.start_us == before.end_us + gap_us);
            CHECK(step.reason != CriticalStep::Reason::start);
          }
          const double tail_us =
              !gaps                     ? 0
              : path.back().op == kNoOp ? options.transfer_gap_us
              : problem->cost_us(path.back().op,
                                 placement[static_cast<std::size_t>(path.back().op)]) == 0
                  ? 0
                  : options.device_gap_us;
          CHECK(path.back().end_us + tail_us == trace.runtime_us);
        });
  }
}

TEST_CASE("feasible says whether every peak is within its device's memory") {
  on_random_steps(Semantics::dataflow, Objective::latency, 100,
                  [](const auto& problem, const auto& placement) {
                    Simulator::Workspace workspace;
                    Evaluation evaluation;
                    Simulator(problem).evaluate(placement, workspace, evaluation);
                    std::int64_t excess = 0;
                    for (DeviceId d = 0; d < problem->cluster().device_count(); ++d) {
                      const std::int64_t memory = problem->cluster().device(d).memory_bytes;
                      const std::int64_t peak = evaluation.peak_bytes[static_cast<std::size_t>(d)];
                      if (memory != kNoLimit) excess = std::max(excess, peak - memory);
                    }
                    CHECK(evaluation.feasible == (excess == 0));
                    CHECK(evaluation.excess_bytes == excess);
                    CHECK((evaluation.worst_device == kNoDevice) == evaluation.feasible);
                  });
}

}  // namespace
}  // namespace berth::test
