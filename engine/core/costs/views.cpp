#include "costs/views.h"

#include <algorithm>
#include <map>

#include "berth/sdk/ops/overwriting.h"
#include "berth/sdk/ops/views.h"
#include "berth/support/index.h"

namespace berth {
namespace {

/// Joined ops, and the op that does the work of each.
using DoneBy = std::map<OpId, OpId>;

/// Whether the op's only output is as large as that of `before`, which nothing needs but ops of the same doer.
bool takes_the_place(const Graph& graph, const DoneBy& done_by, OpId op, OpId before) {
  const auto made = graph.outputs(op), given = graph.outputs(before);
  if (made.size() != 1 || given.size() != 1 || graph.is_result(given[0])) return false;
  if (graph.bytes(made[0]) != graph.bytes(given[0]) || graph.reused_bytes(op) != 0) return false;
  const auto readers = graph.out_edges(before);
  return std::all_of(readers.begin(), readers.end(), [&](const Edge& edge) {
    if (edge.tensor == kNoTensor) return true;
    const auto reader = done_by.find(edge.dst);
    return reader != done_by.end() && reader->second == done_by.at(op);
  });
}

/// Marks what the op before does in place.
void add_joined(const Graph& graph, const Costs& costs, std::vector<bool>& found) {
  DoneBy done_by;
  for (const Costs::Joined& joined : costs.joined()) done_by.emplace(joined.op, joined.with);
  for (const auto& [op, with] : done_by) {
    for (const Edge& edge : graph.in_edges(op)) {
      if (edge.tensor == kNoTensor) continue;
      const auto before = done_by.find(edge.src);
      const bool of_it = edge.src == with || (before != done_by.end() && before->second == with);
      if (of_it && takes_the_place(graph, done_by, op, edge.src)) found[at(op)] = true;
    }
  }
}

bool has_hosts_alone(const Cluster& cluster) {
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    if (!cluster.device(d).host) return false;
  }
  return true;
}

}  // namespace

Views views_of(const Graph& graph, const Cluster& cluster, const Costs& costs, bool overwrites) {
  Views found;
  for (OpId op = 0; op < graph.op_count(); ++op) found.is_view.push_back(ops::is_view(graph, op));
  add_joined(graph, costs, found.is_view);
  if (!overwrites) return found;
  found.overwritten = ops::overwritten_inputs(graph, has_hosts_alone(cluster));
  for (OpId op = 0; op < graph.op_count(); ++op) {
    TensorId& tensor = found.overwritten[at(op)];
    // The op before it keeps all that a joined op reads.
    if (found.is_view[at(op)]) tensor = kNoTensor;
    if (tensor != kNoTensor) found.is_view[at(op)] = true;
  }
  return found;
}

}  // namespace berth
