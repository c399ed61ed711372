#include "onnx/program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "berth/error.h"
#include "onnx/constants.h"
#include "onnx/contents.h"
#include "onnx/function_attributes.h"
#include "onnx/order.h"
#include "support/text.h"

namespace berth::onnx_frontend {
namespace {

using frontend::readable;

constexpr std::int64_t kMaxNodes = 1'000'000;
constexpr int kMaxCallDepth = 100;

// Names of one graph or function body. A graph body also sees the names around it.
struct Scope {
  Scope* parent = nullptr;
  std::unordered_map<std::string_view, ValueId> names;
  std::vector<ValueId> captures;  // what was found in a parent, distinct
  std::unordered_set<ValueId> captured;
};

// The function whose nodes are being added, and how it was called.
struct Frame {
  const onnx::FunctionProto* function = nullptr;
  const onnx::NodeProto* call = nullptr;  // its attributes are resolved
  const Opsets* opsets = nullptr;
  std::string prefix;  // of its nodes' names
  std::int32_t top_level = -1;
  int depth = 0;
};

class Builder {
 public:
  Builder(Model& model, Program& program) : model_(model), program_(program) {}
  void build();

 private:
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::invalid_graph, cat(model_.file, ": ", what));
  }
  ValueId add_value(std::string_view name, Value::Origin origin, const Body& body);
  void declare_graph(const onnx::GraphProto& graph, Body& body, Scope& scope);
  void declare_initializers(const onnx::GraphProto& graph, Body& body, Scope& scope);
  void declare_types(const onnx::GraphProto& graph, Scope& scope);
  void read_outputs(const onnx::GraphProto& graph, Body& body, Scope& scope);
  // Adds `nodes` to `body`; all names of `scope` but their outputs are declared.
  void add_nodes(const Nodes& nodes, Body& body, Scope& scope, const Frame& frame);
  const onnx::NodeProto& resolved(const onnx::NodeProto& node, const Frame& frame);
  bool declare_outputs(const onnx::NodeProto& node, std::int32_t top_level, Body& body,
                       Scope& scope);
  bool is_repeated_constant(const onnx::NodeProto& node, const Value& first);
  void add_node(const onnx::NodeProto& node, Body& body, Scope& scope, const Frame& frame);
  void add_bodies(Node& node, Scope& scope, const Frame& frame);
  void inline_call(const onnx::NodeProto& call, const onnx::FunctionProto& function, Body& body,
                   Scope& scope, const Frame& frame);
  const onnx::FunctionProto* called_function(const onnx::NodeProto& node) const;
  std::optional<ValueId> find(std::string_view name, Scope& scope) const;
  ValueId read(const std::string& name, const onnx::NodeProto& node, Scope& scope) const;
  std::string name_of(const onnx::NodeProto& node, const Frame& frame) const;
  void replace_aliases(Body& body);
  ValueId resolve_alias(ValueId id);

  Model& model_;
  Program& program_;
  std::int32_t next_body_ = 0;
  // A function's output that is one of its inputs: the call's output stands for another value.
  std::unordered_map<ValueId, ValueId> aliases_;
  std::vector<const onnx::FunctionProto*> active_;
  // The names a function's body was opened with that nothing has produced yet.
  std::unordered_set<ValueId> unproduced_;
  std::unordered_map<const onnx::FunctionProto*, Opsets> function_opsets_;
  std::int64_t repeated_constants_ = 0;
  std::int64_t contradicting_constants_ = 0;
  std::map<std::string, std::int64_t> calls_;
};

bool is_constant(const onnx::NodeProto& node) {
  return node.op_type() == "Constant" && domain_of(node.domain()).empty() &&
         node.output_size() == 1 && node.input_size() == 0;
}

ValueId Builder::add_value(std::string_view name, Value::Origin origin, const Body& body) {
  Value value;
  value.name = name;
  value.origin = origin;
  value.body = body.id;
  program_.values.push_back(std::move(value));
  return static_cast<ValueId>(program_.values.size() - 1);
}

void Builder::declare_initializers(const onnx::GraphProto& graph, Body& body, Scope& scope) {
  const auto declare = [&](std::string_view name) -> Value& {
    if (name.empty()) refuse("an initializer has no name; export the model again");
    const ValueId id = add_value(name, Value::Origin::initializer, body);
    if (!scope.names.emplace(name, id).second) {
      refuse(cat("two initializers are named '", readable(name), "'; rename or remove one"));
    }
    body.initializers.push_back(id);
    return program_.value(id);
  };
  for (const auto& tensor : graph.initializer()) {
    Value& value = declare(tensor.name());
    check_tensor(model_, tensor, tensor.name());
    value.type = type_of_tensor(tensor);
    read_content(tensor, value.type);
    read_external_content(model_, tensor, tensor.name(), value.type);
    value.weight = &tensor;
  }
  for (const auto& sparse : graph.sparse_initializer()) {
    Value& value = declare(sparse.values().name());
    check_tensor(model_, sparse.values(), sparse.values().name());
    check_tensor(model_, sparse.indices(), sparse.values().name());
    value.type = type_of_sparse_tensor(sparse);
    value.sparse_weight = &sparse;
  }
}

void Builder::declare_graph(const onnx::GraphProto& graph, Body& body, Scope& scope) {
  scope.names.reserve(
      static_cast<std::size_t>(graph.node_size() + graph.initializer_size() + graph.input_size()));
  declare_initializers(graph, body, scope);
  for (const auto& input : graph.input()) {
    if (input.name().empty()) refuse("a graph input has no name; export the model again");
    // Before IR 4 initializers were inputs as well; since then such an input is a default.
    constexpr std::int64_t kFirstWithDefaults = 4;
    const auto found = scope.names.find(input.name());
    if (found != scope.names.end()) {
      Value& value = program_.value(found->second);
      value.overridable = model_.proto->ir_version() >= kFirstWithDefaults;
      if (value.origin == Value::Origin::initializer) continue;
      refuse(cat("two graph inputs are named '", readable(input.name()), "'; rename one"));
    }
    const ValueId id = add_value(input.name(), Value::Origin::input, body);
    scope.names.emplace(input.name(), id);
    program_.value(id).type = type_from_proto(input.type());
    program_.value(id).declared = program_.value(id).type;
    body.inputs.push_back(id);
  }
}

void Builder::declare_types(const onnx::GraphProto& graph, Scope& scope) {
  const auto declare = [&](const onnx::ValueInfoProto& info) {
    const auto found = scope.names.find(info.name());
    if (found == scope.names.end() || !info.has_type()) return;
    Value& value = program_.value(found->second);
    if (value.origin == Value::Origin::node) {
      merge_type(value.declared, type_from_proto(info.type()));
    }
  };
  for (const auto& info : graph.value_info()) declare(info);
  for (const auto& info : graph.output()) declare(info);
}

void Builder::read_outputs(const onnx::GraphProto& graph, Body& body, Scope& scope) {
  for (const auto& output : graph.output()) {
    const auto id = find(output.name(), scope);
    if (!id && scope.parent != nullptr) {  // seen in branches that never return
      body.outputs.push_back(kNoValue);
      continue;
    }
    if (!id) {
      refuse(cat("graph output '", readable(output.name()),
                 "' is produced by no node; remove it or restore the node"));
    }
    body.outputs.push_back(*id);
  }
}

std::optional<ValueId> Builder::find(std::string_view name, Scope& scope) const {
  for (Scope* at = &scope; at != nullptr; at = at->parent) {
    const auto found = at->names.find(name);
    if (found == at->names.end()) continue;
    for (Scope* crossed = &scope; crossed != at; crossed = crossed->parent) {
      if (found->second != kNoValue && crossed->captured.insert(found->second).second) {
        crossed->captures.push_back(found->second);
      }
    }
    return found->second;
  }
  return std::nullopt;
}

ValueId Builder::read(const std::string& name, const onnx::NodeProto& node, Scope& scope) const {
  if (name.empty()) return kNoValue;
  const auto id = find(name, scope);
  if (id) return *id;
  refuse(cat("node ", describe(node), " reads '", readable(name),
             "', which no node, input or initializer provides; restore what makes it or remove the "
             "node"));
}

const onnx::FunctionProto* Builder::called_function(const onnx::NodeProto& node) const {
  if (model_.functions.empty()) return nullptr;
  const auto found =
      model_.functions.find(function_key(node.domain(), node.op_type(), overload_of(node)));
  return found == model_.functions.end() ? nullptr : found->second;
}

std::string Builder::name_of(const onnx::NodeProto& node, const Frame& frame) const {
  if (!node.name().empty()) return frame.prefix + readable(node.name());
  for (const std::string& output : node.output()) {
    if (!output.empty()) return frame.prefix + readable(output);
  }
  return frame.prefix + readable(node.op_type());
}

const onnx::NodeProto& Builder::resolved(const onnx::NodeProto& node, const Frame& frame) {
  if (frame.function == nullptr) return node;
  auto* const copy = google::protobuf::Arena::CreateMessage<onnx::NodeProto>(&model_.arena);
  *copy = node;
  resolve_attributes(*copy, *frame.function, *frame.call);
  return *copy;
}

// --- nodes ---------------------------------------------------------------------------------------

// Optimisers leave several Constants of one name behind, even with different content. The last one
// counts, as it does for ONNX Runtime.
bool Builder::is_repeated_constant(const onnx::NodeProto& node, const Value& first) {
  if (first.origin != Value::Origin::constant || !is_constant(node)) return false;
  const Constant again = read_constant(node);
  const auto equals = [](const auto& a, const auto& b) { return a && b ? *a == *b : !a && !b; };
  const Type& a = again.type;
  const Type& b = first.type;
  const bool equal =
      a.type == b.type && a.dims == b.dims && equals(a.data, b.data) && equals(a.reals, b.reals);
  ++(equal ? repeated_constants_ : contradicting_constants_);
  return true;
}

// False for a Constant, which needs nothing more.
bool Builder::declare_outputs(const onnx::NodeProto& node, std::int32_t top_level, Body& body,
                              Scope& scope) {
  for (const std::string& output : node.output()) {
    if (output.empty()) continue;
    const auto [entry, is_new] = scope.names.emplace(output, kNoValue);
    if (is_new) {
      entry->second = add_value(output, Value::Origin::node, body);
    } else if (entry->second == kNoValue || unproduced_.erase(entry->second) == 0) {
      if (entry->second == kNoValue || !is_repeated_constant(node, program_.value(entry->second))) {
        refuse(cat("'", readable(output), "' is produced twice, again by node ", describe(node),
                   "; rename one of them"));
      }
    }
    if (is_constant(node)) {
      Value& value = program_.value(entry->second);
      Constant constant = read_constant(node);
      if (constant.tensor != nullptr) {
        check_tensor(model_, *constant.tensor, output);
        read_external_content(model_, *constant.tensor, output, constant.type);
      }
      if (value.origin != Value::Origin::constant) body.constants.push_back(entry->second);
      value.origin = Value::Origin::constant;
      value.constant_node = top_level;
      value.constant = &node;
      value.type = std::move(constant.type);
      return false;
    }
  }
  return true;
}

void Builder::add_bodies(Node& node, Scope& scope, const Frame& frame) {
  std::vector<ValueId> captured;
  const auto add = [&](const onnx::AttributeProto& attribute, const onnx::GraphProto& graph) {
    auto body = std::make_unique<Body>();
    body->id = ++next_body_;
    Scope inner;
    inner.parent = &scope;
    declare_graph(graph, *body, inner);
    Frame inner_frame = frame;
    inner_frame.prefix = node.name + "/";
    inner_frame.top_level = node.top_level;
    // Attributes in the bodies of a function's nodes are resolved with the node.
    inner_frame.function = nullptr;
    add_nodes(graph.node(), *body, inner, inner_frame);
    declare_types(graph, inner);
    read_outputs(graph, *body, inner);
    captured.insert(captured.end(), inner.captures.begin(), inner.captures.end());
    node.body_attributes.push_back(attribute.name());
    node.bodies.push_back(std::move(body));
  };
  for (const auto& attribute : node.proto->attribute()) {
    if (attribute.has_g()) add(attribute, attribute.g());
    for (const auto& graph : attribute.graphs()) add(attribute, graph);
  }
  std::unordered_set<ValueId> seen(node.inputs.begin(), node.inputs.end());
  for (const ValueId id : captured) {
    if (seen.insert(id).second) node.captured.push_back(id);
  }
}

void Builder::add_node(const onnx::NodeProto& proto, Body& body, Scope& scope, const Frame& frame) {
  Node node;
  node.proto = &proto;
  node.name = name_of(proto, frame);
  node.domain = domain_of(proto.domain());
  const auto opset = frame.opsets->find(std::string(node.domain));
  if (opset != frame.opsets->end()) node.opset = opset->second;
  node.top_level = frame.top_level;
  node.requested_device = requested_device_of(proto);
  node.module = module_of(proto);
  node.inputs.reserve(static_cast<std::size_t>(proto.input_size()));
  for (const std::string& input : proto.input()) node.inputs.push_back(read(input, proto, scope));
  const auto index = static_cast<std::int32_t>(body.nodes.size());
  node.outputs.reserve(static_cast<std::size_t>(proto.output_size()));
  for (const std::string& output : proto.output()) {
    const ValueId id = output.empty() ? kNoValue : scope.names.at(output);
    if (id != kNoValue) program_.value(id).producer = index;
    node.outputs.push_back(id);
  }
  add_bodies(node, scope, frame);
  body.nodes.push_back(std::move(node));
}

void Builder::inline_call(const onnx::NodeProto& call, const onnx::FunctionProto& function,
                          Body& body, Scope& scope, const Frame& frame) {
  if (std::find(active_.begin(), active_.end(), &function) != active_.end()) {
    refuse(cat("function '", readable(function.name()), "' calls itself, at node ", describe(call),
               "; functions must not be recursive"));
  }
  if (frame.depth >= kMaxCallDepth) {
    refuse(cat("functions call each other more than ", kMaxCallDepth, " deep, at node ",
               describe(call), "; inline some of them"));
  }
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
    refuse(cat("node ", describe(call), " has ", call.input_size(), " inputs and ",
               call.output_size(), " outputs; function '", readable(function.name()), "' has ",
               function.input_size(), " and ", function.output_size()));
  }
  Scope inner;
  for (int i = 0; i < function.input_size(); ++i) {
    const ValueId actual = i < call.input_size() ? read(call.input(i), call, scope) : kNoValue;
    if (!inner.names.emplace(function.input(i), actual).second) {
      refuse(cat("function '", readable(function.name()), "' has two inputs named '",
                 readable(function.input(i)), "'"));
    }
  }
  std::vector<ValueId> results;
  for (int i = 0; i < function.output_size(); ++i) {
    const bool used = i < call.output_size() && !call.output(i).empty();
    const ValueId result = used ? scope.names.at(call.output(i))
                                : add_value(function.output(i), Value::Origin::node, body);
    results.push_back(result);
    const auto [entry, is_new] = inner.names.emplace(function.output(i), result);
    if (is_new) {
      unproduced_.insert(result);
    } else {  // an input handed through, or an output named twice
      if (entry->second == kNoValue) {
        refuse(cat("node ", describe(call), " omits the input '", readable(function.output(i)),
                   "', which function '", readable(function.name()), "' returns"));
      }
      aliases_[result] = entry->second;
    }
  }
  const auto [opsets, is_first_call] = function_opsets_.try_emplace(&function, model_.opsets);
  if (is_first_call) {
    for (const auto& import : function.opset_import()) {
      opsets->second[std::string(domain_of(import.domain()))] = import.version();
    }
  }
  Frame called;
  called.function = &function;
  called.call = &call;
  called.opsets = &opsets->second;
  called.prefix = name_of(call, frame) + "/";
  called.top_level = frame.top_level;
  called.depth = frame.depth + 1;
  active_.push_back(&function);
  add_nodes(function.node(), body, inner, called);
  active_.pop_back();
  for (int i = 0; i < function.output_size(); ++i) {
    if (unproduced_.erase(results[static_cast<std::size_t>(i)]) > 0) {
      refuse(cat("function '", readable(function.name()), "' never produces its output '",
                 readable(function.output(i)), "'"));
    }
  }
  for (auto& info : value_infos(function)) {
    const auto found = inner.names.find(info.name());
    if (found != inner.names.end() && found->second != kNoValue) {
      model_.dims.substitute(*info.mutable_type());
      merge_type(program_.value(found->second).declared, type_from_proto(info.type()));
    }
  }
  ++calls_[readable(function.name())];
}

void Builder::add_nodes(const Nodes& nodes, Body& body, Scope& scope, const Frame& frame) {
  program_.node_count += nodes.size();
  if (program_.node_count > kMaxNodes) {
    throw Error(ErrorCode::unsupported,
                cat(model_.file, ": more than ", kMaxNodes,
                    " nodes once its functions are inlined; split the model"));
  }
  std::vector<const onnx::NodeProto*> kept(static_cast<std::size_t>(nodes.size()), nullptr);
  // All outputs first: nodes may come in any order.
  for (int i = 0; i < nodes.size(); ++i) {
    const onnx::NodeProto& node = resolved(nodes[i], frame);
    const std::int32_t top_level = frame.top_level >= 0 ? frame.top_level : i;
    if (declare_outputs(node, top_level, body, scope)) kept[static_cast<std::size_t>(i)] = &node;
  }
  Frame at = frame;
  for (int i = 0; i < nodes.size(); ++i) {
    const onnx::NodeProto* const node = kept[static_cast<std::size_t>(i)];
    if (node == nullptr) continue;
    if (frame.top_level < 0) at.top_level = i;
    const onnx::FunctionProto* const function = called_function(*node);
    if (function != nullptr) {
      inline_call(*node, *function, body, scope, at);
    } else {
      add_node(*node, body, scope, at);
    }
  }
}

// --- after all nodes -----------------------------------------------------------------------------

ValueId Builder::resolve_alias(ValueId id) {
  ValueId at = id;
  for (std::size_t steps = 0; steps <= aliases_.size(); ++steps) {
    const auto found = aliases_.find(at);
    if (found == aliases_.end()) return at;
    at = found->second;
  }
  refuse(cat("'", readable(program_.value(id).name), "' is its own input through a function"));
}

void Builder::replace_aliases(Body& body) {
  const auto replace = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) {
      if (id != kNoValue) id = resolve_alias(id);
    }
  };
  replace(body.outputs);
  for (Node& node : body.nodes) {
    replace(node.inputs);
    replace(node.captured);
    for (auto& inner : node.bodies) replace_aliases(*inner);
  }
}

void Builder::build() {
  const onnx::GraphProto& graph = model_.proto->graph();
  Scope scope;
  declare_graph(graph, program_.main, scope);
  Frame frame;
  frame.opsets = &model_.opsets;
  add_nodes(graph.node(), program_.main, scope, frame);
  declare_types(graph, scope);
  for (const auto& [name, shape] : model_.given_shapes) {
    const auto found = scope.names.find(name);
    if (found != scope.names.end()) program_.value(found->second).given = shape;
  }
  read_outputs(graph, program_.main, scope);
  if (!aliases_.empty()) replace_aliases(program_.main);
  for (const ValueId id : program_.main.outputs) {
    auto& returned = program_.returned_constants;
    const Value::Origin origin = program_.value(id).origin;
    const bool constant = origin == Value::Origin::constant || origin == Value::Origin::initializer;
    if (constant && std::find(returned.begin(), returned.end(), id) == returned.end()) {
      returned.push_back(id);
    }
  }
  order_nodes(program_, program_.main, model_.file);
  program_.top_level_nodes = graph.node_size();
  if (repeated_constants_ > 0) {
    program_.notes.push_back(cat(repeated_constants_,
                                 " Constant nodes repeat another one of the "
                                 "same name and content; one of each is kept"));
  }
  if (contradicting_constants_ > 0) {
    program_.notes.push_back(cat(contradicting_constants_,
                                 " Constant nodes have the name and not the content of an earlier "
                                 "one; the last in the file counts"));
  }
  if (!calls_.empty()) {
    std::vector<std::string> names;
    std::int64_t calls = 0;
    for (const auto& [name, count] : calls_) {
      names.push_back(name);
      calls += count;
    }
    program_.notes.push_back(
        cat(calls, calls == 1 ? " call of a local function is" : " calls of local functions are",
            " inlined: ", frontend::list_names(names)));
  }
}

}  // namespace

const onnx::AttributeProto* Node::attribute(std::string_view name_) const {
  for (const auto& attribute : proto->attribute()) {
    if (attribute.name() == name_) return &attribute;
  }
  return nullptr;
}

std::string Node::full_type() const {
  return readable(domain.empty() ? type() : std::string(domain) + "." + type());
}

const Body* Node::body(std::string_view attribute) const {
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    if (body_attributes[i] == attribute) return bodies[i].get();
  }
  return nullptr;
}

std::string describe(const onnx::NodeProto& node) {
  std::string name = node.name();
  if (name.empty() && node.output_size() > 0) name = node.output(0);
  return cat("'", readable(name), "' (", readable(node.op_type()), ")");
}

Program make_program(Model& model) {
  Program program;
  program.values.reserve(static_cast<std::size_t>(model.proto->graph().node_size()) * 2);
  Builder(model, program).build();
  return program;
}

}  // namespace berth::onnx_frontend
