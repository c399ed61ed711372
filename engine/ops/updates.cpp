#include "ops/updates.h"

namespace berth::ops {

bool changes_variable(std::string_view type) {
  if (type.starts_with("Resource")) type.remove_prefix(8);
  return (type.starts_with("Scatter") && type != "ScatterNd") || type.starts_with("SparseApply") ||
         type.starts_with("Apply") || type.starts_with("Assign");
}

bool is_onnx_update(std::string_view type) {
  type.remove_prefix(type.rfind('.') + 1);
  return type.starts_with("InPlaceAccumulator") || type.find("Optimizer") != type.npos;
}

}  // namespace berth::ops
