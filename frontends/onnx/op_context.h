// A node of a program, as the engine's rules see it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/sdk/ops/op.h"
#include "onnx/program.h"
#include "onnx/types.h"

namespace berth::onnx_frontend {

/// The node's attributes for the rules.
class NodeAttributes final : public ops::Attributes {
 public:
  explicit NodeAttributes(const Node& node) : node_(&node) {}

  [[nodiscard]] bool has(std::string_view key) const override;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t fallback) const override;
  [[nodiscard]] std::string_view text(std::string_view key,
                                      std::string_view fallback) const override;
  [[nodiscard]] std::size_t text_count(std::string_view key) const override;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key) const override;
  [[nodiscard]] std::vector<double> reals(std::string_view key) const override;
  [[nodiscard]] Type tensor(std::string_view key) const override;

 private:
  const Node* node_;
};

/// The values that an OpContext refers to.
struct NodeValues {
  NodeValues(const Node& node, const Program& program);
  std::string full_type;
  NodeAttributes own_attributes;
  std::vector<const Type*> input_types;
  /// Filled in by the rules, one per output of the node.
  std::vector<Type> output_types;
};

/// Neither copied nor moved: the rules see its members.
class NodeContext : private NodeValues, public ops::OpContext {
 public:
  NodeContext(const Node& op, const Program& program)
      : NodeValues(op, program),
        ops::OpContext(full_type, own_attributes, input_types, output_types),
        node(op),
        info(ops::find_op("onnx", full_type)) {
    version = op.opset;
  }
  NodeContext(const NodeContext&) = delete;
  NodeContext& operator=(const NodeContext&) = delete;

  const Node& node;
  const ops::OpInfo* const info;  ///< null for a type in no table

  [[nodiscard]] std::vector<Type>& outputs() noexcept { return output_types; }
  /// Null if the input is omitted.
  [[nodiscard]] const Type* input(std::size_t i) const noexcept {
    return has(i) ? &in(i) : nullptr;
  }
};

/// Checks the node against libonnx's schema of the operator. If the operator has no rule, also asks
/// the schema for the outputs. False if there is no schema, the node does not fit it, or libonnx
/// refuses; `why` then holds the reason, if there is one.
bool infer_by_schema(NodeContext& op, std::string& why);

/// Whether the node's operator set is newer than libonnx's, no rule gives its shapes, and libonnx's schema lacks one
/// of its attributes or does not take its inputs.
[[nodiscard]] bool is_beyond_schema(const NodeContext& op);

}  // namespace berth::onnx_frontend
