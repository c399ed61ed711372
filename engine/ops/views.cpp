#include "berth/sdk/ops/views.h"

#include <algorithm>
#include <cstdint>

#include "ops/fused.h"
#include "ops/op_view.h"
#include "ops/tables.h"

namespace berth::ops {
namespace {

bool says(const OpView& op, std::string_view name) {
  return op.integer(name, 0) == 1;
}

/// Whether nothing reads the op's outputs but the first, as the mask of a Dropout, which has memory of its own.
bool reads_first_only(const Graph& graph, OpId op) {
  const auto outputs = graph.outputs(op);
  const auto edges = graph.out_edges(op);
  return std::none_of(edges.begin(), edges.end(), [&](const Edge& edge) {
    return edge.tensor != kNoTensor && edge.tensor != outputs.front();
  });
}

}  // namespace

bool is_view(const Graph& graph, OpId op) {
  if (graph.is_constant(op) || graph.is_input(op)) return false;
  // All that it gives is written to the places of inputs.
  const std::int64_t reused = graph.reused_bytes(op);
  if (reused != 0 && reused == graph.output_bytes(op)) return false;
  const OpView view(graph, op);
  if (graph.dialect() == "berth") return says(view, kViewAttribute);
  const WorkRule* const rule = find_work(graph.dialect(), graph.op_type(op));
  if (rule == nullptr) return false;
  if (rule->in_place) return !says(view, "copies") && !says(view, "starts_empty");
  const bool changes_nothing =
      is_fused(graph, op) || (rule->estimate == work::converted && !work::converts(view)) ||
      (rule->estimate == work::reduced && !work::reduces(view)) ||
      (rule->estimate == work::dropped && !work::drops(view) && reads_first_only(graph, op));
  if (rule->free_because != kView.free_because && !changes_nothing) return false;
  const auto& stated = graph.stated_work(op);
  return !stated || stated->launches == 0;
}

}  // namespace berth::ops
