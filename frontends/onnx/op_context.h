// One node as the inference rules see it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/program.h"
#include "onnx/types.h"

namespace berth::onnx_frontend {

class OpContext {
 public:
  OpContext(const Node& op, const Program& program)
      : node(op), out(op.outputs.size()), program_(program) {}

  const Node& node;
  /// What the rules fill in, one per output of the node.
  std::vector<Type> out;

  [[nodiscard]] std::size_t input_count() const { return node.inputs.size(); }
  /// Null if the input is omitted.
  [[nodiscard]] const Type* input(std::size_t i) const {
    if (i >= node.inputs.size() || node.inputs[i] == kNoValue) return nullptr;
    return &program_.value(node.inputs[i]).type;
  }
  /// Null if the input is omitted, is no tensor, or has an unknown rank.
  [[nodiscard]] const Dims* shape(std::size_t i) const {
    const Type* const type = input(i);
    return type != nullptr && type->has_shape && !type->other ? &type->dims : nullptr;
  }
  [[nodiscard]] int elem(std::size_t i) const {
    const Type* const type = input(i);
    return type != nullptr ? type->elem : 0;
  }
  /// Null if the content of the input is not known.
  [[nodiscard]] const Data* data(std::size_t i) const {
    if (i >= node.inputs.size() || node.inputs[i] == kNoValue) return nullptr;
    return program_.value(node.inputs[i]).data.get();
  }
  /// All elements of the input; empty if one of them is not known.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::size_t i) const {
    const Data* const content = data(i);
    return content != nullptr ? content->integers() : std::nullopt;
  }

  [[nodiscard]] std::int64_t int_attribute(std::string_view name, std::int64_t otherwise) const {
    const auto* const a = node.attribute(name);
    return a != nullptr && a->has_i() ? a->i() : otherwise;
  }
  [[nodiscard]] std::optional<std::vector<std::int64_t>> ints_attribute(
      std::string_view name) const {
    const auto* const a = node.attribute(name);
    if (a == nullptr || a->ints_size() == 0) return std::nullopt;
    return std::vector<std::int64_t>(a->ints().begin(), a->ints().end());
  }
  [[nodiscard]] std::string_view text_attribute(std::string_view name) const {
    const auto* const a = node.attribute(name);
    return a != nullptr ? std::string_view(a->s()) : std::string_view{};
  }

  /// Output `i` gets this type. Outputs that the node does not have are ignored.
  void set(std::size_t i, Type type) {
    if (i < out.size()) out[i] = std::move(type);
  }
  void set(std::size_t i, int elem, Dims dims) { set(i, tensor_type(elem, std::move(dims))); }
  /// Output `i` gets the type of input `from`.
  void set_like(std::size_t i, std::size_t from) {
    if (const Type* const type = input(from)) set(i, *type);
  }

 private:
  const Program& program_;
};

/// `axis` counted from 0; empty if it is outside [-rank, rank).
[[nodiscard]] inline std::optional<std::size_t> normal_axis(std::int64_t axis, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + r : axis);
}

/// A computed number as a dimension; unknown if it is not a valid one.
[[nodiscard]] inline std::int64_t valid_dim(std::int64_t dim) {
  return dim >= 0 && dim <= kMaxDim ? dim : kUnknownDim;
}

/// Fills `out` of the context as far as it can. Never throws on any input.
using Rule = void (*)(OpContext&);

/// The rule of an operator; null = none.
[[nodiscard]] Rule find_rule(std::string_view domain, std::string_view type);

// The tables behind find_rule, by meaning.
[[nodiscard]] Rule find_layout_rule(std::string_view type);
[[nodiscard]] Rule find_compute_rule(std::string_view type);
[[nodiscard]] Rule find_contrib_rule(std::string_view type);
[[nodiscard]] Rule find_training_rule(std::string_view type);

/// The content of the node's outputs, computed from that of its inputs if that is small; null = not
/// known. `op.out` holds the outputs' types.
[[nodiscard]] std::vector<DataPtr> fold(const OpContext& op);

/// Checks the node against libonnx's schema of the operator. If the operator has no rule, also asks
/// the schema for the outputs. False if there is no schema, the node does not fit it, or libonnx
/// refuses; `why` then holds the reason, if there is one.
bool infer_by_schema(OpContext& op, std::string& why);

}  // namespace berth::onnx_frontend
