#include "berth/sdk/ops/views.h"

#include <cstdint>

#include "ops/op_view.h"
#include "ops/tables.h"

namespace berth::ops {

bool is_view(const Graph& graph, OpId op) {
  if (graph.is_constant(op) || graph.is_input(op) || graph.reused_bytes(op) != 0) return false;
  if (graph.dialect() == "berth") {
    const AttributeValue* const says = graph.attribute(op, kViewAttribute);
    return says != nullptr && *says == AttributeValue(std::int64_t{1});
  }
  const WorkRule* const rule = find_work(graph.dialect(), graph.op_type(op));
  if (rule == nullptr) return false;
  const bool changes_nothing =
      rule->estimate == work::converted && !work::converts(OpView(graph, op));
  const AttributeValue* const copies = graph.attribute(op, "copies");
  const bool in_place =
      rule->in_place && (copies == nullptr || *copies != AttributeValue(std::int64_t{1}));
  if (in_place) return true;
  if (rule->free_because != kView.free_because && !changes_nothing) return false;
  const auto& stated = graph.stated_work(op);
  return !stated || stated->launches == 0;
}

}  // namespace berth::ops
