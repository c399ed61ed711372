#include "onnx/op_context.h"

#include "onnx/constants.h"

namespace berth::onnx_frontend {

bool NodeAttributes::has(std::string_view key) const {
  return node_->attribute(key) != nullptr;
}

std::int64_t NodeAttributes::integer(std::string_view key, std::int64_t fallback) const {
  const auto* const a = node_->attribute(key);
  return a != nullptr && a->has_i() ? a->i() : fallback;
}

std::string_view NodeAttributes::text(std::string_view key, std::string_view fallback) const {
  const auto* const a = node_->attribute(key);
  return a != nullptr ? std::string_view(a->s()) : fallback;
}

std::size_t NodeAttributes::text_count(std::string_view key) const {
  const auto* const a = node_->attribute(key);
  return a != nullptr ? static_cast<std::size_t>(a->strings_size()) : 0;
}

std::vector<std::int64_t> NodeAttributes::integers(std::string_view key) const {
  const auto* const a = node_->attribute(key);
  if (a == nullptr) return {};
  return {a->ints().begin(), a->ints().end()};
}

std::vector<double> NodeAttributes::reals(std::string_view key) const {
  const auto* const a = node_->attribute(key);
  if (a == nullptr) return {};
  return {a->floats().begin(), a->floats().end()};
}

Type NodeAttributes::tensor(std::string_view key) const {
  const auto* const a = node_->attribute(key);
  if (a == nullptr) return {};
  Type type = type_of_tensor(a->t());
  read_content(a->t(), type);
  return type;
}

NodeValues::NodeValues(const Node& node, const Program& program)
    : full_type(node.full_type()), own_attributes(node), output_types(node.outputs.size()) {
  input_types.reserve(node.inputs.size());
  for (const ValueId input : node.inputs) {
    input_types.push_back(input == kNoValue ? nullptr : &program.value(input).type);
  }
}

}  // namespace berth::onnx_frontend
