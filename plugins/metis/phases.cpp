#include "metis/phases.h"

#include <algorithm>
#include <numeric>

#include "berth/support/index.h"
#include "common/spread.h"

namespace berth::policies::metis {

Phases phases_of(const Problem& problem, const WeightedGraph& graph, int count) {
  Phases phases;
  phases.count = count;
  if (count == 1) return phases;
  const Graph& ops = problem.graph();
  std::vector<double> us(at(ops.op_count()));
  std::vector<double> head_us(us.size(), 0);
  for (OpId op = 0; op < ops.op_count(); ++op) us[at(op)] = fastest_us(problem, op);
  for (const OpId op : ops.topological_order()) {
    for (const Edge& edge : ops.out_edges(op)) {
      head_us[at(edge.dst)] = std::max(head_us[at(edge.dst)], head_us[at(op)] + us[at(op)]);
    }
  }
  const auto topological = ops.topological_order();
  std::vector<OpId> order(topological.begin(), topological.end());
  std::stable_sort(order.begin(), order.end(),
                   [&](OpId a, OpId b) { return head_us[at(a)] < head_us[at(b)]; });
  const double all_us = std::accumulate(us.begin(), us.end(), 0.0);
  phases.weights.assign(graph.vertex_weights.size() * at(count), 0);
  double before_us = 0;
  for (const OpId op : order) {
    const int phase =
        all_us > 0 ? std::min(count - 1, static_cast<int>(count * (before_us / all_us))) : 0;
    phases.weights[at(problem.groups().of(op)) * at(count) + at(phase)] += us[at(op)];
    before_us += us[at(op)];
  }
  // The graph states the whole weight of a vertex: devices may not be of the fastest kind.
  for (std::size_t vertex = 0; vertex < graph.vertex_weights.size(); ++vertex) {
    const auto begin = phases.weights.begin() + static_cast<std::ptrdiff_t>(vertex * at(count));
    const double sum = std::accumulate(begin, begin + count, 0.0);
    const double scale = sum > 0 ? graph.vertex_weights[vertex] / sum : 0;
    std::transform(begin, begin + count, begin, [scale](double weight) { return weight * scale; });
  }
  return phases;
}

}  // namespace berth::policies::metis
