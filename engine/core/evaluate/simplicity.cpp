#include "berth/simplicity.h"

#include <algorithm>
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

}  // namespace berth
