// What is known of an op type: its output tensors, and how their shapes follow from its inputs.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tf/attributes.h"
#include "tf/graph_def.h"
#include "tf/value.h"

namespace berth::tf_frontend {

/// One op, for the rule of its type. Questions about missing things have harmless answers.
class ShapeContext {
 public:
  ShapeContext(std::string_view node, const Attributes& node_attributes,
               std::span<const Value* const> inputs, std::span<Value> outputs)
      : name(node), attributes(node_attributes), inputs_(inputs), outputs_(outputs) {}

  const std::string_view name;  ///< of the node, for messages
  const Attributes& attributes;

  [[nodiscard]] std::size_t input_count() const noexcept { return inputs_.size(); }
  /// `i` may be out of range.
  [[nodiscard]] const Value& in(std::size_t i) const noexcept;
  [[nodiscard]] std::size_t output_count() const noexcept { return outputs_.size(); }
  /// `i` may be out of range.
  [[nodiscard]] Value& out(std::size_t i) noexcept;

  void set(std::size_t output, Dims dims) { out(output).set_shape(std::move(dims)); }
  /// Shape of one input for an output, where it is known.
  void copy_shape(std::size_t output, const Value& from);
  /// Shape, content and handle: the output is the input.
  void pass(std::size_t output, const Value& from);
  void set_data(std::size_t output, std::vector<std::int64_t> numbers);

 private:
  std::span<const Value* const> inputs_;
  std::span<Value> outputs_;
  Value spare_;
};

using ShapeRule = void (*)(ShapeContext& op);

/// A row of a table of op types. `outputs` lists "name:type", separated by blanks. The type is the
/// name of an attribute; '=' and the name of a type; or '@' and the attribute that lists the types
/// of as many tensors. A following "*attribute" gives the number of tensors.
struct OpRow {
  std::string_view type;
  std::string_view outputs;
  ShapeRule rule;  ///< null: the shapes do not follow from what a file says
};

struct OpInfo {
  std::vector<ArgDef> outputs;
  ShapeRule rule = nullptr;
};

/// Null for a type in no table. [thread-safe]
[[nodiscard]] const OpInfo* find_op(std::string_view type);

/// Tensors that one output stands for.
[[nodiscard]] std::size_t tensor_count(const ArgDef& output, const Attributes& attributes);
/// The types of all tensors of `outputs`, in order.
[[nodiscard]] std::vector<int> output_types(std::span<const ArgDef> outputs,
                                            const Attributes& attributes);

// The tables, one per file of rules.
[[nodiscard]] std::span<const OpRow> math_ops();
[[nodiscard]] std::span<const OpRow> product_ops();
[[nodiscard]] std::span<const OpRow> layout_ops();
[[nodiscard]] std::span<const OpRow> indexing_ops();
[[nodiscard]] std::span<const OpRow> network_ops();
[[nodiscard]] std::span<const OpRow> state_ops();
[[nodiscard]] std::span<const OpRow> data_ops();

// --- Rules that several tables use ------------------------------------------------------------

namespace rule {

void none(ShapeContext& op);              ///< no outputs, or nothing known of them
void scalars(ShapeContext& op);           ///< every output is one
void like_first(ShapeContext& op);        ///< every output has the shape of the first input
void like_second(ShapeContext& op);       ///< ... of the second input
void like_third(ShapeContext& op);        ///< ... of the third input
void identity(ShapeContext& op);          ///< outputs are the inputs, one by one
void broadcast_all(ShapeContext& op);     ///< all inputs broadcast together
void vectors(ShapeContext& op);           ///< every output has one dimension of unknown size
void shape_from_first(ShapeContext& op);  ///< the first input's content is the shape

}  // namespace rule

// --- Helpers of rules -------------------------------------------------------------------------

/// The content of a shape-like vector; unranked if not even its length is known. Elements below 0
/// are not known.
[[nodiscard]] Value shape_of_content(const Value& vector);
/// A negative axis counts from the end. Returns -1 if it is out of range.
[[nodiscard]] int normal_axis(std::int64_t axis, int rank) noexcept;
/// a + b; kUnknownDim if one is not known or the sum is absurd.
[[nodiscard]] std::int64_t add_dims(std::int64_t a, std::int64_t b) noexcept;
[[nodiscard]] std::int64_t multiply_dims(std::int64_t a, std::int64_t b) noexcept;
/// A list of sizes among the attributes, each limited to 2^31 either way so that products of two
/// cannot overflow.
[[nodiscard]] std::vector<std::int64_t> small_integers(const Attributes& attributes,
                                                       std::string_view key);

}  // namespace berth::tf_frontend
