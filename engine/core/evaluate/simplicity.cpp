#include "berth/simplicity.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "berth/support/disjoint_sets.h"
#include "berth/support/index.h"

namespace berth {

Simplicity simplicity_of(const Graph& graph, const Placement& placement) {
  Simplicity simplicity;
  DisjointSets pieces(at(graph.op_count()));
  DisjointSets parts(at(graph.op_count()));  // of the graph on a single device
  std::vector<std::pair<TensorId, DeviceId>> received;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const auto edges = graph.out_edges(op);
    for (const Edge& edge : edges) {
      if (edge.tensor == kNoTensor) continue;
      if (parts.merge_to_smallest(op, edge.dst)) ++simplicity.cuts;
      if (placement[at(op)] != placement[at(edge.dst)]) continue;
      if (pieces.merge_to_smallest(op, edge.dst)) --simplicity.cuts;
    }
    // An op may have as many outputs as edges.
    received.clear();
    for (const Edge& edge : edges) {
      const DeviceId device = placement[at(edge.dst)];
      if (edge.tensor == kNoTensor || device == placement[at(op)]) continue;
      received.emplace_back(edge.tensor, device);
    }
    std::sort(received.begin(), received.end());
    simplicity.transfers += std::unique(received.begin(), received.end()) - received.begin();
  }
  simplicity.devices =
      static_cast<std::int64_t>(std::set<DeviceId>(placement.begin(), placement.end()).size());
  return simplicity;
}

Fullness fullness_of(const Problem& problem, const Evaluation& evaluation) {
  Fullness fullness;
  for (std::size_t device = 0; device < evaluation.peak_bytes.size(); ++device) {
    const std::int64_t memory = problem.memory_bytes(static_cast<DeviceId>(device));
    const bool limited = memory != kNoLimit && memory > 0;
    fullness.shares.push_back(limited ? static_cast<double>(evaluation.peak_bytes[device]) /
                                            static_cast<double>(memory)
                                      : 0);
  }
  std::sort(fullness.shares.begin(), fullness.shares.end(), std::greater<>());
  if (!fullness.shares.empty()) fullness.peak_share = fullness.shares.front();
  for (const double us : evaluation.busy_us) {
    fullness.largest_load_us = std::max(fullness.largest_load_us, us);
  }
  return fullness;
}

bool alike_in_time(const Evaluation& a, const Evaluation& b) noexcept {
  constexpr double kRounding = 1e-9;
  return std::abs(a.objective_us - b.objective_us) <= kRounding * std::abs(b.objective_us);
}

}  // namespace berth
