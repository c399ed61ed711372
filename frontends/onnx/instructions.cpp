#include "onnx/instructions.h"

#include <algorithm>
#include <unordered_map>

#include "support/text.h"

namespace berth::onnx_frontend {
namespace {

using frontend::readable;

class Maker {
 public:
  Maker(const Program& program, Contents& contents, std::vector<std::string>& notes)
      : program_(program), contents_(contents), notes_(notes) {}

  berth::Program make(const Translation& translation, std::shared_ptr<const Graph> graph,
                      const std::vector<std::string>& fetches);

 private:
  void number_tensors(const Translation& translation);
  void add_ops(const Graph& whole);
  void add_parameters();
  void add_interface(const Graph& whole, const std::vector<std::string>& fetches);
  void add_fetched(const std::string& name);
  Instruction instruction(const Node& node, std::string name, berth::Body* enclosing);
  void add_attribute(Instruction& made, const Node& node, const onnx::AttributeProto& skeleton);
  std::shared_ptr<const berth::Body> body(Instruction& owner, const Body& from);
  // The id of a value that `enclosing` (null = the main graph) reads or makes.
  ValueId id_of(ValueId value, berth::Body* enclosing);
  std::vector<ValueId> ids_of(const std::vector<ValueId>& values, berth::Body* enclosing) {
    std::vector<ValueId> ids;
    ids.reserve(values.size());
    for (const ValueId value : values) ids.push_back(id_of(value, enclosing));
    return ids;
  }
  std::optional<TensorContent> content_of(const Value& value);

  const Program& program_;
  Contents& contents_;
  std::vector<std::string>& notes_;
  berth::Program made_;
  std::unordered_map<ValueId, ValueId> ids_;
  ValueId next_ = 0;
  std::string missing_;  // the first weight of the bodies being made that has no data
};

std::optional<TensorContent> Maker::content_of(const Value& value) {
  if (value.weight != nullptr) return contents_.tensor(*value.weight, value.name);
  if (value.sparse_weight != nullptr) return contents_.sparse(*value.sparse_weight, value.name);
  if (value.constant != nullptr) return contents_.constant(*value.constant, value.name);
  return std::nullopt;
}

ValueId Maker::id_of(ValueId value, berth::Body* enclosing) {
  if (value == kNoValue) return kNoValue;
  const auto [entry, is_new] = ids_.try_emplace(value, next_);
  const ValueId id = entry->second;
  if (!is_new) return id;
  ++next_;
  const Value& read = program_.value(value);
  const bool is_constant =
      read.origin == Value::Origin::initializer || read.origin == Value::Origin::constant;
  if (enclosing != nullptr && is_constant) {
    auto content = content_of(read);
    if (content) {
      enclosing->constants.emplace_back(id, std::move(*content));
    } else if (missing_.empty()) {
      missing_ = readable(read.name);
    }
  }
  return id;
}

std::shared_ptr<const berth::Body> Maker::body(Instruction& owner, const Body& from) {
  auto made = std::make_shared<berth::Body>();
  made->inputs = ids_of(from.inputs, made.get());
  made->instructions.reserve(from.nodes.size());
  for (const std::int32_t index : from.order) {
    const Node& node = from.nodes[static_cast<std::size_t>(index)];
    Instruction inner = instruction(node, node.name, made.get());
    if (owner.obstacle.empty() && !inner.obstacle.empty()) {
      owner.obstacle = cat("in its body, '", inner.name, "' (", inner.type, "): ", inner.obstacle);
    }
    made->instructions.push_back(std::move(inner));
  }
  made->outputs = ids_of(from.outputs, made.get());
  if (!missing_.empty() && owner.obstacle.empty()) {
    owner.obstacle = cat("the weight '", missing_, "' of its body has no data in the file");
  }
  missing_.clear();
  return made;
}

void Maker::add_attribute(Instruction& made, const Node& node,
                          const onnx::AttributeProto& skeleton) {
  using Proto = onnx::AttributeProto;
  const std::string& name = skeleton.name();
  const auto add = [&](AttributeContent content) {
    made.attributes.emplace_back(name, std::move(content));
  };
  const auto obstruct = [&](const char* what) {
    if (made.obstacle.empty()) made.obstacle = cat("attribute '", readable(name), "' ", what);
  };
  const auto type = skeleton.type();
  if (skeleton.has_g()) {
    const Body* const from = node.body(name);
    return add(body(made, *from));
  }
  if (skeleton.has_t() || skeleton.has_sparse_tensor()) {
    auto content = skeleton.has_t() ? contents_.tensor(skeleton.t(), name)
                                    : contents_.sparse(skeleton.sparse_tensor(), name);
    if (!content) return obstruct("is a tensor without data in the file");
    return add(std::move(*content));
  }
  const Proto whole = contents_.attribute(skeleton);
  if (type == Proto::INTS || whole.ints_size() > 0) {
    add(std::vector<std::int64_t>(whole.ints().begin(), whole.ints().end()));
  } else if (type == Proto::FLOATS || whole.floats_size() > 0) {
    add(std::vector<double>(whole.floats().begin(), whole.floats().end()));
  } else if (type == Proto::STRINGS || whole.strings_size() > 0) {
    add(std::vector<std::string>(whole.strings().begin(), whole.strings().end()));
  } else if (type == Proto::INT || whole.has_i()) {
    add(std::int64_t{whole.i()});
  } else if (type == Proto::FLOAT || whole.has_f()) {
    add(static_cast<double>(whole.f()));
  } else if (type == Proto::STRING || whole.has_s()) {
    add(whole.s());
  } else if (whole.graphs_size() > 0 || whole.tensors_size() > 0 ||
             whole.sparse_tensors_size() > 0) {
    obstruct("is a list of graphs or tensors, which nothing here computes");
  }  // types of values (tp) say nothing that executing needs
}

Instruction Maker::instruction(const Node& node, std::string name, berth::Body* enclosing) {
  Instruction made;
  made.name = std::move(name);
  made.type = node.full_type();
  made.version = node.opset;
  made.inputs = ids_of(node.inputs, enclosing);
  made.captured = ids_of(node.captured, enclosing);
  made.outputs = ids_of(node.outputs, enclosing);
  for (const auto& attribute : node.proto->attribute()) add_attribute(made, node, attribute);
  return made;
}

// Ops that pruning kept have their names, inputs and outputs; ids are others.
void Maker::number_tensors(const Translation& translation) {
  const Graph& whole = *translation.graph;
  std::vector<TensorId> now(static_cast<std::size_t>(whole.tensor_count()), kNoTensor);
  const auto pair = [&](std::span<const TensorId> before, std::span<const TensorId> after) {
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i] != kNoTensor) now[static_cast<std::size_t>(before[i])] = after[i];
    }
  };
  for (OpId op = 0; op < made_.graph->op_count(); ++op) {
    const OpId before = *whole.find_op(made_.graph->op_name(op));
    pair(whole.inputs(before), made_.graph->inputs(op));
    pair(whole.outputs(before), made_.graph->outputs(op));
  }
  for (const auto& [value, tensor] : translation.tensors) {
    const TensorId id = now[static_cast<std::size_t>(tensor)];
    if (id != kNoTensor) ids_.emplace(value, id);
  }
  next_ = made_.graph->tensor_count();
}

void Maker::add_ops(const Graph& whole) {
  const auto inputs = static_cast<OpId>(program_.main.inputs.size());
  const auto nodes = static_cast<OpId>(program_.main.nodes.size());
  made_.instructions.reserve(static_cast<std::size_t>(made_.graph->op_count()));
  for (OpId op = 0; op < made_.graph->op_count(); ++op) {
    const std::string& name = made_.graph->op_name(op);
    const OpId before = *whole.find_op(name);
    if (before >= inputs && before < inputs + nodes) {
      const auto& node = program_.main.nodes[static_cast<std::size_t>(before - inputs)];
      made_.instructions.push_back(instruction(node, name, nullptr));
      continue;
    }
    Instruction source;
    source.name = name;
    source.type = made_.graph->op_type(op);
    const auto outputs = made_.graph->outputs(op);
    source.outputs.assign(outputs.begin(), outputs.end());
    if (before < inputs) {
      const ValueId value = program_.main.inputs[static_cast<std::size_t>(before)];
      made_.inputs.push_back(op);
      made_.input_names.push_back(readable(program_.value(value).name));
    } else {
      const auto at = static_cast<std::size_t>(before - inputs - nodes);
      const Value& value = program_.value(program_.returned_constants[at]);
      auto content = content_of(value);
      if (content) {
        source.attributes.emplace_back("value", std::move(*content));
      } else {
        source.obstacle = "it has no data in the file";
      }
    }
    made_.instructions.push_back(std::move(source));
  }
}

void Maker::add_parameters() {
  made_.parameters.resize(static_cast<std::size_t>(made_.graph->tensor_count()));
  for (const auto& [value, id] : ids_) {
    if (id >= made_.graph->tensor_count() || made_.graph->maker(id) != kNoOp) continue;
    made_.parameters[static_cast<std::size_t>(id)] = content_of(program_.value(value));
  }
}

void Maker::add_fetched(const std::string& name) {
  const Graph& graph = *made_.graph;
  const auto add = [&](TensorId tensor) {
    made_.outputs.push_back(tensor);
    made_.output_names.push_back(graph.tensor_name(tensor));
  };
  if (const auto op = graph.find_op(name)) {
    for (const TensorId tensor : graph.outputs(*op)) add(tensor);
    return;
  }
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    if (graph.tensor_name(tensor) == name) return add(tensor);
  }
}

void Maker::add_interface(const Graph& whole, const std::vector<std::string>& fetches) {
  for (const std::string& name : fetches) add_fetched(name);
  if (!fetches.empty()) return;
  std::vector<std::string> unread;
  for (const ValueId value : program_.main.outputs) {
    const auto id = ids_.find(value);
    const std::string name = readable(program_.value(value).name);
    if (id == ids_.end() || id->second >= whole.tensor_count()) {
      unread.push_back(name);
      continue;
    }
    made_.outputs.push_back(id->second);
    made_.output_names.push_back(name);
  }
  if (!unread.empty()) {
    notes_.push_back(cat("outputs that are weights no op reads are not returned: ",
                         frontend::list_names(unread)));
  }
}

berth::Program Maker::make(const Translation& translation, std::shared_ptr<const Graph> graph,
                           const std::vector<std::string>& fetches) {
  made_.graph = std::move(graph);
  number_tensors(translation);
  add_ops(*translation.graph);
  add_parameters();
  add_interface(*translation.graph, fetches);
  return std::move(made_);
}

}  // namespace

berth::Program make_executable(const Program& program, const Translation& translation,
                               std::shared_ptr<const Graph> graph,
                               const std::vector<std::string>& fetches, Contents& contents,
                               std::vector<std::string>& notes) {
  return Maker(program, contents, notes).make(translation, std::move(graph), fetches);
}

}  // namespace berth::onnx_frontend
