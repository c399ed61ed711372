#include "ops/updates.h"

#include <sstream>
#include <string>

namespace berth::ops {

bool changes_variable(std::string_view type) {
  if (type.starts_with("Resource")) type.remove_prefix(8);
  return (type.starts_with("Scatter") && type != "ScatterNd") || type.starts_with("SparseApply") ||
         type.starts_with("Apply") || type.starts_with("Assign");
}

bool changes_variable_within(const Graph& graph, OpId op) {
  const AttributeValue* const said = graph.attribute(op, "body_types");
  const auto* const types = said == nullptr ? nullptr : std::get_if<std::string>(said);
  if (types == nullptr) return false;
  std::istringstream listed(*types);
  for (std::string type; std::getline(listed, type, ',');) {
    if (changes_variable(type)) return true;
  }
  return false;
}

bool is_onnx_update(std::string_view type) {
  type.remove_prefix(type.rfind('.') + 1);
  return type.starts_with("InPlaceAccumulator") || type.find("Optimizer") != type.npos;
}

}  // namespace berth::ops
