#include "berth/simplicity.h"

#include <algorithm>
#include <set>
#include <vector>

#include "berth/support/disjoint_sets.h"
#include "berth/support/index.h"

namespace berth {

Simplicity simplicity_of(const Graph& graph, const Placement& placement) {
  Simplicity simplicity;
  DisjointSets pieces(at(graph.op_count()));
  DisjointSets parts(at(graph.op_count()));  // of the graph on a single device
  std::vector<DeviceId> receivers;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const auto edges = graph.out_edges(op);
    for (const Edge& edge : edges) {
      if (edge.tensor == kNoTensor) continue;
      if (parts.merge_to_smallest(op, edge.dst)) ++simplicity.cuts;
      if (placement[at(op)] != placement[at(edge.dst)]) continue;
      if (pieces.merge_to_smallest(op, edge.dst)) --simplicity.cuts;
    }
    for (const TensorId tensor : graph.outputs(op)) {
      receivers.clear();
      for (const Edge& edge : edges) {
        const DeviceId device = placement[at(edge.dst)];
        if (edge.tensor != tensor || device == placement[at(op)]) continue;
        if (std::find(receivers.begin(), receivers.end(), device) == receivers.end()) {
          receivers.push_back(device);
        }
      }
      simplicity.transfers += static_cast<std::int64_t>(receivers.size());
    }
  }
  simplicity.devices =
      static_cast<std::int64_t>(std::set<DeviceId>(placement.begin(), placement.end()).size());
  return simplicity;
}

}  // namespace berth
