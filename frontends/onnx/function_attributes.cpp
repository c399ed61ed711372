#include "onnx/function_attributes.h"

#include <algorithm>
#include <optional>
#include <string>

#include "onnx/model.h"

namespace berth::onnx_frontend {
namespace {

/// The value that a call of `function` gives the attribute `name`.
std::optional<onnx::AttributeProto> given_attribute(const std::string& name,
                                                    const onnx::FunctionProto& function,
                                                    const onnx::NodeProto& call) {
  const auto find = [&](const auto& attributes) -> std::optional<onnx::AttributeProto> {
    const auto found = std::find_if(attributes.begin(), attributes.end(),
                                    [&](const auto& each) { return each.name() == name; });
    if (found == attributes.end()) return std::nullopt;
    return *found;
  };
  auto given = find(call.attribute());
  return given ? std::move(given) : find(default_attributes(function));
}

}  // namespace

void resolve_attributes(onnx::NodeProto& node, const onnx::FunctionProto& function,
                        const onnx::NodeProto& call) {
  auto& attributes = *node.mutable_attribute();
  for (int i = attributes.size() - 1; i >= 0; --i) {
    onnx::AttributeProto& attribute = attributes[i];
    if (!attribute.ref_attr_name().empty()) {
      auto given = given_attribute(attribute.ref_attr_name(), function, call);
      if (!given) {
        attributes.DeleteSubrange(i, 1);
        continue;
      }
      given->set_name(attribute.name());
      attribute = *std::move(given);
    }
    const auto resolve_graph = [&](onnx::GraphProto& graph) {
      for (auto& inner : *graph.mutable_node()) resolve_attributes(inner, function, call);
    };
    if (attribute.has_g()) resolve_graph(*attribute.mutable_g());
    for (auto& graph : *attribute.mutable_graphs()) resolve_graph(graph);
  }
}

}  // namespace berth::onnx_frontend
