// Types and shapes by the schemas of the installed libonnx.
//
// libonnx trusts what it is given: some of its functions divide by attributes, index shapes with
// axes, or dereference inputs without a look. So a node is handed over only where it fits the
// schema and its numbers are in range; what libonnx throws is caught.
#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>

#include <algorithm>
#include <exception>
#include <set>
#include <unordered_map>

#include "onnx/op_context.h"
#include "support/text.h"

namespace berth::onnx_frontend {
namespace {

class SchemaContext final : public onnx::InferenceContext {
 public:
  explicit SchemaContext(const NodeContext& op) : op_(op), outputs_(op.output_count()) {
    const std::size_t count = op.input_count();
    inputs_.resize(count);
    data_.resize(count);
    symbolic_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const Type* const type = op.input(i);
      if (type == nullptr) continue;
      type_to_proto(*type, inputs_[i]);
      if (type->has_content()) read_data(*type, i);
    }
  }

  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    return op_.node.attribute(name);
  }
  std::size_t getNumInputs() const override { return inputs_.size(); }
  const onnx::TypeProto* getInputType(std::size_t i) const override {
    if (i >= inputs_.size() || inputs_[i].value_case() == onnx::TypeProto::VALUE_NOT_SET) {
      return nullptr;
    }
    return &inputs_[i];
  }
  const onnx::TensorProto* getInputData(std::size_t i) const override {
    return i < data_.size() ? data_[i].get() : nullptr;
  }
  std::size_t getNumOutputs() const override { return outputs_.size(); }
  onnx::TypeProto* getOutputType(std::size_t i) override {
    if (i >= outputs_.size()) throw std::out_of_range("output index");
    return &outputs_[i];
  }
  // Bodies are inferred by this frontend itself; no schema that asks for one is called.
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string&) override {
    return nullptr;
  }
  const onnx::SparseTensorProto* getInputSparseData(std::size_t) const override { return nullptr; }
  const onnx::TensorShapeProto* getSymbolicInput(std::size_t i) const override {
    return i < symbolic_.size() ? symbolic_[i].get() : nullptr;
  }

 private:
  void read_data(const Type& value, std::size_t i) {
    auto tensor = std::make_unique<onnx::TensorProto>();
    if (content_to_proto(value, *tensor)) {
      data_[i] = std::move(tensor);
    } else if (value.data != nullptr && value.rank() == 1) {
      symbolic_[i] = std::make_unique<onnx::TensorShapeProto>();
      for (const std::int64_t number : *value.data) {
        auto* const dim = symbolic_[i]->add_dim();
        if (number != ops::Data::kUnknown) dim->set_dim_value(number);
      }
    }
  }

  const NodeContext& op_;
  std::vector<onnx::TypeProto> inputs_;
  std::vector<onnx::TypeProto> outputs_;
  std::vector<std::unique_ptr<onnx::TensorProto>> data_;
  std::vector<std::unique_ptr<onnx::TensorShapeProto>> symbolic_;
};

// The installed schema closest to the version the model imports; a model newer than libonnx gets
// the newest there is. An operator that is not found at its stated version may be an older or newer
// one in a model with a wrong import: then any version is better than none.
const onnx::OpSchema* find_schema(const Node& node) {
  const std::string domain(node.domain);
  const int version = static_cast<int>(std::clamp<std::int64_t>(node.opset, 1, 1 << 20));
  const auto* const schema = onnx::OpSchemaRegistry::Schema(node.type(), version, domain);
  return schema != nullptr ? schema : onnx::OpSchemaRegistry::Schema(node.type(), domain);
}

// Whether the model imports a version of the operator's domain that libonnx does not have.
bool is_newer(const Node& node) {
  const auto& versions = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  const auto found = versions.find(std::string(node.domain));
  return found != versions.end() && node.opset > found->second.second;
}

// Its function would ask for an inferencer of the body.
bool has_body(const onnx::OpSchema& schema) {
  return std::any_of(schema.attributes().begin(), schema.attributes().end(),
                     [](const auto& a) { return a.second.type == onnx::AttributeProto::GRAPH; });
}

bool attributes_fit(const NodeContext& op, const onnx::OpSchema& schema, std::string& why) {
  for (const auto& attribute : op.node.proto->attribute()) {
    const auto declared = schema.attributes().find(attribute.name());
    if (declared == schema.attributes().end()) continue;
    // Before IR 3 the type was not stated.
    const bool typed = attribute.type() != onnx::AttributeProto::UNDEFINED;
    if (typed && attribute.type() != declared->second.type) {
      why = cat("attribute '", frontend::readable(attribute.name()), "' has another type");
      return false;
    }
    if (dropped_bytes(attribute) > 0) return false;
  }
  for (const auto& [name, declared] : schema.attributes()) {
    if (declared.required && op.node.attribute(name) == nullptr) {
      why = cat("the required attribute '", name, "' is missing");
      return false;
    }
  }
  return true;
}

bool inputs_fit(const NodeContext& op, const onnx::OpSchema& schema, std::string& why) {
  const auto count = static_cast<int>(op.input_count());
  const auto outputs = static_cast<int>(op.output_count());
  if (count < schema.min_input() || count > schema.max_input() || outputs < schema.min_output() ||
      outputs > schema.max_output()) {
    why = cat("it has ", count, " inputs and ", outputs,
              " outputs, which the operator does not take");
    return false;
  }
  const auto& formal = schema.inputs();
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    const auto& parameter = formal[std::min(i, formal.size() - 1)];
    const Type* const type = op.input(i);
    if (type != nullptr) {
      if (type->type == 0 && !type->other) return false;  // nothing known of it: nothing follows
    } else if (parameter.GetOption() != onnx::OpSchema::Optional) {
      why = cat("its input ", i, " is missing");
      return false;
    }
  }
  return true;
}

// Found by trying every schema with random inputs: indexes shapes by other inputs' ranks.
bool is_unsafe(const Node& node) {
  return node.domain.empty() && node.type() == "STFT";
}

// Numbers that libonnx divides by, counts up to or indexes with.
bool numbers_in_range(const NodeContext& op) {
  static const std::set<std::string_view> kPositive = {"strides", "dilations",   "kernel_shape",
                                                       "group",   "blocksize",   "block_size",
                                                       "split",   "pooled_shape"};
  static const std::set<std::string_view> kAxes = {"axis", "axes", "perm", "batch_axis",
                                                   "time_axis"};
  constexpr std::int64_t kMost = 1 << 24;
  const Dims* const first = op.shape(0);
  const auto rank = first != nullptr ? static_cast<std::int64_t>(first->size()) : 0;
  for (const auto& attribute : op.node.proto->attribute()) {
    std::vector<std::int64_t> values(attribute.ints().begin(), attribute.ints().end());
    if (attribute.has_i()) values.push_back(attribute.i());
    if (values.empty()) continue;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    if (kPositive.contains(attribute.name()) && (*low < 1 || *high > kMost)) return false;
    if (kAxes.contains(attribute.name()) && (*low < -rank || *high > rank)) return false;
    if (attribute.name() == "pads" && (*low < 0 || *high > kMost)) return false;
  }
  // Data that is divided by.
  if (op.node.type() == "SplitToSequence") {
    const auto divisor = op.integers(1);
    if (!divisor || divisor->empty() || *std::min_element(divisor->begin(), divisor->end()) < 1) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool infer_by_schema(NodeContext& op, std::string& why) {
  const onnx::OpSchema* const schema = find_schema(op.node);
  if (schema == nullptr || !schema->has_type_and_shape_inference_function() || has_body(*schema)) {
    return false;
  }
  const bool fits = attributes_fit(op, *schema, why) && inputs_fit(op, *schema, why);
  // An operator newer than libonnx may take what its last schema there does not know.
  if (is_newer(op.node)) why.clear();
  if (!fits) return false;
  if ((op.info != nullptr && op.info->shape != nullptr) || is_unsafe(op.node) ||
      !numbers_in_range(op)) {
    return false;
  }
  SchemaContext context(op);
  try {
    schema->GetTypeAndShapeInferenceFunction()(context);
  } catch (const std::exception& refusal) {
    why = refusal.what();
    return false;
  }
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    merge_type(op.out(i), type_from_proto(*context.getOutputType(i)));
  }
  return true;
}

bool is_beyond_schema(const NodeContext& op) {
  const onnx::OpSchema* const schema = find_schema(op.node);
  if (schema == nullptr || !is_newer(op.node) || has_body(*schema) ||
      (op.info != nullptr && op.info->shape != nullptr)) {
    return false;
  }
  const auto& known = schema->attributes();
  const auto& stated = op.node.proto->attribute();
  return static_cast<int>(op.input_count()) > schema->max_input() ||
         std::any_of(stated.begin(), stated.end(), [&](const auto& attribute) {
           return known.find(attribute.name()) == known.end();
         });
}

}  // namespace berth::onnx_frontend
