#include "onnx/op_context.h"

namespace berth::onnx_frontend {
namespace {

Rule find_standard_rule(std::string_view type) {
  const Rule rule = find_layout_rule(type);
  return rule != nullptr ? rule : find_compute_rule(type);
}

}  // namespace

Rule find_rule(std::string_view domain, std::string_view type) {
  if (domain.empty()) return find_standard_rule(type);
  if (domain != "com.microsoft" && domain != "ai.onnx.preview") return nullptr;
  if (const Rule rule = find_contrib_rule(type)) return rule;
  if (const Rule rule = find_training_rule(type)) return rule;
  // Contributed operators that only widen the types of a standard one.
  return find_standard_rule(type);
}

}  // namespace berth::onnx_frontend
