#include "tf/op_rules.h"

#include <algorithm>

#include "berth/error.h"
#include "support/text.h"

namespace berth::tf_frontend {
namespace {

// No op has more tensors than a file could list inputs for.
constexpr std::int64_t kMostTensors = 1 << 20;

class NodeAttributes final : public ops::Attributes {
 public:
  NodeAttributes(std::string_view node, const tf_frontend::Attributes& own)
      : node_(node), own_(own) {}

  [[nodiscard]] bool has(std::string_view key) const override { return own_.has(key); }
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t fallback) const override {
    return own_.integer(key, fallback);
  }
  [[nodiscard]] bool boolean(std::string_view key, bool fallback) const override {
    return own_.boolean(key, fallback);
  }
  [[nodiscard]] std::string_view text(std::string_view key,
                                      std::string_view fallback) const override {
    return own_.text(key, fallback);
  }
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key) const override {
    return own_.integers(key);
  }
  [[nodiscard]] std::vector<double> reals(std::string_view key) const override {
    return own_.reals(key);
  }
  [[nodiscard]] int type(std::string_view key, int fallback) const override {
    return own_.type(key, fallback);
  }
  [[nodiscard]] std::vector<int> types(std::string_view key) const override {
    return own_.types(key);
  }
  bool shape(std::string_view key, Value& value) const override { return own_.shape(key, value); }
  [[nodiscard]] std::vector<Value> shapes(std::string_view key) const override {
    return own_.shapes(key);
  }
  [[nodiscard]] Value tensor(std::string_view key) const override {
    const Attr attr = own_.find(key);
    if (attr.kind != Attr::Kind::tensor) {
      throw Error(ErrorCode::invalid_graph,
                  cat(own_.source().file, ": the constant '", frontend::readable(node_),
                      "' has no value; export the graph again"));
    }
    return read_tensor(attr.bytes, own_.source(), node_);
  }

 private:
  std::string_view node_;
  const tf_frontend::Attributes& own_;
};

/// Content belongs to a known shape of as many elements; ranks have a limit.
void check(Value& value) {
  if (value.dims.size() > kMaxRank) {
    value.ranked = false;
    value.dims.clear();
  }
  if (value.has_content() &&
      (!value.fully_known() ||
       product(value.dims) != static_cast<std::int64_t>(value.content_size()))) {
    value.forget_content();
  }
}

}  // namespace

const ops::OpInfo* find_op(std::string_view type) {
  return ops::find_op("tf", type);
}

std::size_t tensor_count(const ArgDef& output, const Attributes& attributes) {
  if (!output.type_list_attr.empty()) return attributes.types(output.type_list_attr).size();
  if (output.number_attr.empty()) return 1;
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(attributes.integer(output.number_attr, 0), 0, kMostTensors));
}

std::vector<int> output_types(std::span<const ArgDef> outputs, const Attributes& attributes) {
  std::vector<int> types;
  for (const ArgDef& output : outputs) {
    if (!output.type_list_attr.empty()) {
      const std::vector<int> list = attributes.types(output.type_list_attr);
      types.insert(types.end(), list.begin(), list.end());
      continue;
    }
    const int type =
        output.type_attr.empty() ? output.type : attributes.type(output.type_attr, output.type);
    types.insert(types.end(), tensor_count(output, attributes),
                 type > kReferenceOffset ? type - kReferenceOffset : type);
  }
  return types;
}

bool apply_rules(const ops::OpInfo& info, std::string_view node, std::string_view type,
                 const Attributes& attributes, std::span<const Value* const> inputs,
                 std::span<Value> outputs, bool largest_step, std::int64_t expected,
                 std::int64_t pieces) {
  const NodeAttributes own(node, attributes);
  ops::OpContext op(type, own, inputs, outputs);
  op.largest_step = largest_step;
  op.expected = expected;
  op.pieces = pieces;
  if (info.shape != nullptr) info.shape(op);
  for (Value& value : outputs) check(value);
  fold_contents(info, op);
  for (Value& value : outputs) check(value);
  const bool open = std::any_of(outputs.begin(), outputs.end(),
                                [](const Value& value) { return !value.fully_known(); });
  return open && op.depends_on_data();
}

std::optional<Work> apply_rule_of_user(const OpRule& rule, std::string_view type,
                                       const Attributes& attributes,
                                       std::span<const Value* const> inputs,
                                       std::span<Value> outputs) {
  const NodeAttributes own({}, attributes);
  ops::OpContext op(type, own, inputs, outputs);
  berth::apply_rule(rule, op, "tf");
  for (Value& value : outputs) check(value);
  return rule_work(rule, op, "tf");
}

}  // namespace berth::tf_frontend
