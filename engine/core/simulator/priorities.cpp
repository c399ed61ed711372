#include <algorithm>

#include "berth/simulator.h"
#include "berth/support/index.h"

namespace berth {

std::vector<double> priorities_us(const Problem& problem) {
  const Graph& graph = problem.graph();
  const Cluster& cluster = problem.cluster();
  std::vector<double> path_us(at(graph.op_count()), 0.0);
  const auto order = graph.topological_order();
  for (auto op = order.rbegin(); op != order.rend(); ++op) {
    double fastest_us = kCannotRun;
    for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
      const double cost_us = problem.costs().op_us(*op, kind);
      const double overhead_us = cost_us == 0 ? 0 : cluster.kind_device(kind).op_overhead_us;
      fastest_us = std::min(fastest_us, cost_us + overhead_us);
    }
    double rest_us = 0;
    for (const Edge& edge : graph.out_edges(*op)) {
      rest_us = std::max(rest_us, path_us[at(edge.dst)]);
    }
    path_us[at(*op)] = fastest_us + rest_us;
  }
  return path_us;
}

}  // namespace berth
