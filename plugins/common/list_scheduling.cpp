#include "common/list_scheduling.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "berth/sdk/repair.h"
#include "berth/support/index.h"
#include "common/spread.h"

namespace berth::policies {
MeanTimes::MeanTimes(const Problem& problem, const std::vector<DeviceId>& devices)
    : problem_(problem), devices_(devices), all_(spread_devices(problem, /*hosts=*/true)) {
  double pairs = 0;
  for (const DeviceId src : devices) {
    for (const DeviceId dst : devices) {
      if (src == dst) continue;
      const Route& route = problem.cluster().route(src, dst);
      latency_us_ += route.transfer_us(0);
      us_per_byte_ += 1e6 / route.bandwidth_bytes_per_s;
      pairs += 1;
    }
  }
  if (pairs > 0) {
    latency_us_ /= pairs;
    us_per_byte_ /= pairs;
  }
  if (problem.options().semantics == Semantics::placeto) latency_us_ = 0;
}

double MeanTimes::op_us(OpId op) const {
  const bool overheads = problem_.options().semantics == Semantics::dataflow;
  for (const std::vector<DeviceId>* devices : {&devices_, &all_}) {
    double total_us = 0;
    double able = 0;
    for (const DeviceId device : *devices) {
      const double us = problem_.cost_us(op, device);
      if (us == kCannotRun) continue;
      total_us += us;
      if (us > 0 && overheads) total_us += problem_.cluster().device(device).op_overhead_us;
      able += 1;
    }
    if (able > 0) return total_us / able;
  }
  return 0;
}

double MeanTimes::edge_us(const Edge& edge) const {
  return edge.tensor == kNoTensor ? latency_us_ : transfer_us(problem_.graph().bytes(edge.tensor));
}

std::vector<double> upward_ranks_us(const Problem& problem, const MeanTimes& means) {
  const Graph& graph = problem.graph();
  std::vector<double> ranks_us(at(graph.op_count()), 0);
  const auto order = graph.topological_order();
  for (auto op = order.rbegin(); op != order.rend(); ++op) {
    double rest_us = 0;
    for (const Edge& edge : graph.out_edges(*op)) {
      rest_us = std::max(rest_us, means.edge_us(edge) + ranks_us[at(edge.dst)]);
    }
    ranks_us[at(*op)] = means.op_us(*op) + rest_us;
  }
  return ranks_us;
}

std::vector<OpId> by_rank(const Graph& graph, const std::vector<double>& ranks_us) {
  const auto order = graph.topological_order();
  std::vector<OpId> ops(order.begin(), order.end());
  std::stable_sort(ops.begin(), ops.end(),
                   [&](OpId a, OpId b) { return ranks_us[at(a)] > ranks_us[at(b)]; });
  return ops;
}

Placement place_within_memory(const Problem& problem, Evaluator& evaluator,
                              const PlaceContext& context, bool repair,
                              const std::function<GroupPlacement(double output_share)>& schedule) {
  if (!repair) return repair_placement(problem, evaluator, schedule(0), false, context);
  GroupPlacement best;
  double best_us = kCannotRun;
  std::int64_t least_excess_bytes = kNoLimit;
  for (const double output_share : {0.0, 0.25, 0.5, 1.0}) {
    GroupPlacement placement = schedule(output_share);
    const Evaluation evaluation = evaluator.evaluate(problem.groups().expand(placement));
    if (best.empty() || evaluation.excess_bytes < least_excess_bytes) {
      best = std::move(placement);
      least_excess_bytes = evaluation.excess_bytes;
      best_us = evaluation.objective_us;
    }
    if (evaluation.feasible || context.stopped()) break;
  }
  if (context.stopped()) {
    // A schedule that was cut short leaves what it did not reach on the first device.
    SingleDevice single = best_single_device(evaluator);
    const bool better = least_excess_bytes > 0 || single.evaluation.objective_us < best_us;
    if (single.device != kNoDevice && better) return std::move(single.placement);
  }
  return repair_placement(problem, evaluator, std::move(best), true, context);
}

}  // namespace berth::policies
