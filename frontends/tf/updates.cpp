#include "tf/updates.h"

#include <algorithm>

#include "tf/attributes.h"

namespace berth::tf_frontend {

bool is_update(std::string_view op) {
  return op.starts_with("Apply") || op.starts_with("SparseApply") ||
         op.starts_with("ResourceApply") || op.starts_with("ResourceSparseApply");
}

bool changes_variable(std::string_view op) {
  if (is_update(op) || op.starts_with("Assign")) return true;
  if (op.starts_with("Resource")) op.remove_prefix(8);
  return op.starts_with("Scatter") && op != "ScatterNd";
}

bool TrainingCalls::trains(const NodeDef& node) {
  if (is_update(node.op) || node.op == "AssignSub" || node.op == "AssignSubVariableOp") return true;
  if (trains(node.op)) return true;
  const Attributes attributes(node.attrs, nullptr, library_.source);
  return std::any_of(node.attrs.begin(), node.attrs.end(), [&](const AttrEntry& entry) {
    if (trains(attributes.function(entry.key).name)) return true;
    const auto listed = attributes.functions(entry.key);
    return std::any_of(listed.begin(), listed.end(),
                       [&](const Attributes::Function& each) { return trains(each.name); });
  });
}

bool TrainingCalls::trains(std::string_view function) {
  const FunctionDef* const body = function.empty() ? nullptr : library_.graph.function(function);
  if (body == nullptr) return false;
  // A function that calls itself is not what makes it train.
  const auto [entry, is_new] = known_.try_emplace(function, false);
  if (!is_new) return entry->second;
  const auto& nodes = body->body.nodes();
  const bool any =
      std::any_of(nodes.begin(), nodes.end(), [&](const NodeDef& node) { return trains(node); });
  return known_[function] = any;
}

}  // namespace berth::tf_frontend
