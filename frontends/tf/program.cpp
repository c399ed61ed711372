#include "tf/program.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "berth/error.h"
#include "support/text.h"
#include "tf/op_rules.h"

namespace berth::tf_frontend {

using frontend::readable;

namespace {

constexpr int kDeepestCalls = 64;
/// Nodes with an index at or below this stand for calls and arguments until all are inlined.
constexpr NodeId kFirstAlias = -2;

[[noreturn]] void refuse(const Library& library, const std::string& what) {
  throw Error(ErrorCode::invalid_graph, cat(library.source.file, ": ", what));
}

/// The values behind the outputs of a call, or an argument of a body.
struct Alias {
  std::vector<Source> outputs;
  std::vector<NodeId> controls;  ///< what a control edge from it waits for
  std::string_view name;
};

/// Names of one graph or body.
struct Scope {
  std::unordered_map<std::string_view, NodeId> ids;  // nodes and aliases
  std::unordered_map<std::string_view, const NodeDef*> defs;
  bool body = false;
  std::int32_t call = 0;
};

/// Whether the function that the op calls is named by its attribute "f".
bool is_call(std::string_view op) {
  return op == "PartitionedCall" || op == "StatefulPartitionedCall" || op == "TPUPartitionedCall";
}

class Inliner {
 public:
  Inliner(Library& library, Program& program) : library_(library), program_(program) {}

  void graph(const std::vector<bool>& needed, std::span<const Fetch> fetches) {
    program_.calls.emplace_back();
    Scope scope;
    std::vector<const NodeDef*> nodes;
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (needed[i]) nodes.push_back(&library_.graph.nodes()[i]);
    }
    program_.nodes.reserve(nodes.size());
    add_nodes(scope, nodes, nullptr);
    for (const Fetch& fetch : fetches) add_result(scope, fetch);
    finish();
    for (Source& source : program_.results) source = resolve(source);
  }

  void body(const FunctionDef& function, std::vector<AttrEntry> attributes,
            const Attributes* outer) {
    const Alias result = add_body(function, std::move(attributes), outer, "", "", nullptr);
    program_.results = result.outputs;
    finish();
    for (Source& source : program_.results) source = resolve(source);
  }

 private:
  // --- Nodes of a scope -------------------------------------------------------------------------

  void add_nodes(Scope& scope, const std::vector<const NodeDef*>& defs,
                 const Attributes* call_attributes) {
    const NodeId first = static_cast<NodeId>(program_.nodes.size());
    struct Calling {
      NodeId alias;
      NodeId node;  ///< holds the inputs until the body is there
      const FunctionDef* function;
      std::vector<AttrEntry> attributes;
    };
    std::vector<Calling> calling;
    scope.ids.reserve(defs.size() * 2);
    for (const NodeDef* def : defs) {
      Node node = make_node(*def, scope.call, call_attributes);
      std::vector<AttrEntry> attributes;
      const FunctionDef* function = called_function(library_, *def, node.attributes, attributes);
      const auto id = static_cast<NodeId>(program_.nodes.size());
      NodeId known_as = id;
      if (function != nullptr) {
        known_as = add_alias(def->name);
        calling.push_back({known_as, id, function, std::move(attributes)});
      } else {
        refuse_missing_function(node);
      }
      program_.nodes.push_back(std::move(node));
      if (!scope.ids.emplace(def->name, known_as).second) {
        refuse(library_, cat("two nodes are named '", readable(def->name),
                             "'; names must be unique: export the graph again"));
      }
      scope.defs.emplace(def->name, def);
    }
    const NodeId last = static_cast<NodeId>(program_.nodes.size());
    for (NodeId id = first; id < last; ++id) connect(scope, id);
    for (Calling& call : calling)
      inline_call(call.alias, call.node, *call.function, std::move(call.attributes));
  }

  void refuse_missing_function(const Node& node) const {
    if (!is_call(node.op)) return;
    const std::string_view name = node.attributes.function("f").name;
    if (name.empty()) return;
    refuse(library_, cat("node '", readable(node.name), "' runs function '", readable(name),
                         "', which is not in the library; export the graph with its functions"));
  }

  Node make_node(const NodeDef& def, std::int32_t call, const Attributes* call_attributes) {
    if (--library_.nodes_left < 0) {
      refuse(library_,
             "more than a million nodes once all calls are inlined; "
             "Berth places graphs of up to that many");
    }
    Node node;
    const std::string_view prefix = program_.calls[static_cast<std::size_t>(call)].prefix;
    node.name = prefix.empty() ? def.name : program_.names.emplace_back(cat(prefix, def.name));
    node.op = def.op;
    node.device = def.device;
    node.attributes = attributes_of(def, call_attributes);
    node.def = &def;
    node.call = call;
    return node;
  }

  /// With the defaults of a type that no row knows, where the file has its definition.
  Attributes attributes_of(const NodeDef& def, const Attributes* call) const {
    const auto own = library_.ops.find(def.op);
    if (own == library_.ops.end() || find_op(def.op) != nullptr) {
      return {def.attrs, call, library_.source};
    }
    return {def.attrs, own->second->defaults, call, library_.source};
  }

  void add_result(const Scope& scope, const Fetch& fetch) {
    const NodeId id = scope.ids.at(fetch.node);
    const auto add = [&](std::int32_t port) {
      program_.results.push_back({id, port});
      program_.result_names.push_back(port == kEveryPort ? readable(fetch.node)
                                                         : cat(readable(fetch.node), ":", port));
    };
    if (fetch.port != kEveryPort || id > kFirstAlias) return add(fetch.port);
    for (std::size_t i = 0; i < alias(id).outputs.size(); ++i) add(static_cast<std::int32_t>(i));
  }

  NodeId add_alias(std::string_view name) {
    aliases_.emplace_back().name = name;
    return kFirstAlias - static_cast<NodeId>(aliases_.size()) + 1;
  }
  Alias& alias(NodeId id) { return aliases_[static_cast<std::size_t>(kFirstAlias - id)]; }

  void connect(const Scope& scope, NodeId id) {
    const NodeDef& def = *program_.nodes[static_cast<std::size_t>(id)].def;
    std::vector<Source> inputs;
    std::vector<NodeId> controls;
    inputs.reserve(def.inputs.size());
    for (const std::string_view text : def.inputs) {
      const InputName name = parse_input(text, library_, def.name);
      const auto found = scope.ids.find(name.node);
      if (found == scope.ids.end()) {
        refuse(library_,
               cat("node '", readable(def.name), "' reads '", readable(text),
                   "', and no node of that name is in the ", scope.body ? "function" : "graph",
                   "; export the graph with all its nodes"));
      }
      if (name.control) {
        controls.push_back(found->second);
      } else {
        inputs.push_back({found->second, port_of(scope, name)});
      }
    }
    Node& node = program_.nodes[static_cast<std::size_t>(id)];
    node.inputs = std::move(inputs);
    node.controls = std::move(controls);
  }

  /// In a body, a port counts within a named output.
  std::int32_t port_of(const Scope& scope, const InputName& name) {
    if (name.output.empty()) return name.port;
    const auto found = scope.defs.find(name.node);
    if (found == scope.defs.end()) return name.port;  // an argument
    const NodeDef& def = *found->second;
    const NodeId id = scope.ids.at(name.node);
    // The graph itself is no call and has none.
    const Attributes* call = program_.calls[static_cast<std::size_t>(scope.call)].attributes.get();
    const Attributes attributes = attributes_of(def, call);
    std::span<const ArgDef> outputs;
    std::vector<AttrEntry> unused;
    if (const ops::OpInfo* info = find_op(def.op)) {
      outputs = info->outputs;
    } else if (const FunctionDef* function = called_function(library_, def, attributes, unused)) {
      // An op that calls by attribute has one list of outputs.
      if (def.op != function->signature.name) return name.port;
      outputs = function->signature.outputs;
    } else if (const auto op = library_.ops.find(def.op); op != library_.ops.end()) {
      outputs = op->second->outputs;
    } else {
      return guessed_port(id, name);
    }
    std::int64_t port = 0;
    for (const ArgDef& output : outputs) {
      if (output.name == name.output) return static_cast<std::int32_t>(port + name.port);
      port += static_cast<std::int64_t>(tensor_count(output, attributes));
    }
    if (outputs.size() <= 1) return name.port;  // renamed between versions
    refuse(library_, cat("a function reads output '", readable(name.output), "' of node '",
                         readable(name.node), "', and its type ", readable(def.op),
                         " has none of that name"));
  }

  /// Outputs of an unknown type count in the order in which they are first read.
  std::int32_t guessed_port(NodeId id, const InputName& name) {
    std::vector<std::string_view>& seen = guessed_[id];
    const auto found = std::find(seen.begin(), seen.end(), name.output);
    const auto index = static_cast<std::int32_t>(found - seen.begin());
    if (found == seen.end()) seen.push_back(name.output);
    return index + name.port;
  }

  // --- Calls
  // --------------------------------------------------------------------------------------

  void inline_call(NodeId alias_id, NodeId holder_id, const FunctionDef& function,
                   std::vector<AttrEntry> attributes) {
    // The node of the call becomes the start of the body: what the call waits for, every op of the
    // body that waits for nothing else waits for.
    const Node holder = program_.nodes[static_cast<std::size_t>(holder_id)];
    const Attributes* outer =
        program_.calls[static_cast<std::size_t>(holder.call)].attributes.get();
    Alias result = add_body(function, std::move(attributes), outer, cat(holder.name, "/"),
                            holder.device, &holder_id);
    result.name = holder.name;
    alias(alias_id) = std::move(result);
  }

  /// `caller` is the call's node, or null for a body that stands alone.
  Alias add_body(const FunctionDef& function, std::vector<AttrEntry> attributes,
                 const Attributes* outer, const std::string& prefix, std::string_view device,
                 const NodeId* caller) {
    enter(function);
    Scope scope;
    scope.body = true;
    scope.call = static_cast<std::int32_t>(program_.calls.size());
    Call& call = program_.calls.emplace_back();
    call.function = &function;
    call.prefix = program_.names.emplace_back(prefix);
    call.attributes =
        std::make_unique<Attributes>(program_.attrs.emplace_back(std::move(attributes)),
                                     function.signature.defaults, outer, library_.source);
    const Attributes* call_attributes = call.attributes.get();
    add_arguments(scope, function, caller);
    std::vector<const NodeDef*> nodes;
    for (const NodeDef& node : function.body.nodes()) nodes.push_back(&node);
    const std::size_t first = program_.nodes.size();
    add_nodes(scope, nodes, call_attributes);
    if (caller != nullptr) start_after(*caller, first, device);
    Alias result = results_of(scope, function);
    stack_.pop_back();
    return result;
  }

  void enter(const FunctionDef& function) {
    const std::string name = readable(function.signature.name);
    if (std::find(stack_.begin(), stack_.end(), &function) != stack_.end()) {
      refuse(library_, cat("function '", name, "' calls itself; only loops may repeat"));
    }
    if (stack_.size() >= kDeepestCalls) {
      refuse(library_, cat("calls nest deeper than ", kDeepestCalls, " at function '", name, "'"));
    }
    stack_.push_back(&function);
  }

  void add_arguments(Scope& scope, const FunctionDef& function, const NodeId* caller) {
    const Attributes& attributes = *program_.calls.back().attributes;
    std::size_t next = 0;
    for (const ArgDef& arg : function.signature.inputs) {
      const NodeId id = add_alias(arg.name);
      for (std::size_t i = tensor_count(arg, attributes); i > 0; --i, ++next) {
        Source source;
        if (caller == nullptr) {
          source = {add_argument_node(arg), 0};
        } else {
          const Node& node = program_.nodes[static_cast<std::size_t>(*caller)];
          if (next >= node.inputs.size()) {
            refuse(library_, cat("node '", readable(node.name), "' calls function '",
                                 readable(function.signature.name), "' with ", node.inputs.size(),
                                 " inputs, and it takes more"));
          }
          source = node.inputs[next];
        }
        alias(id).outputs.push_back(source);
      }
      scope.ids.emplace(arg.name, id);
    }
  }

  NodeId add_argument_node(const ArgDef& arg) {
    if (--library_.nodes_left < 0) refuse(library_, "too many nodes");
    Node node;
    node.name = arg.name;
    node.op = kArgumentOp;
    node.attributes = Attributes({}, nullptr, library_.source);
    program_.nodes.push_back(std::move(node));
    program_.arguments.push_back(static_cast<NodeId>(program_.nodes.size() - 1));
    return program_.arguments.back();
  }

  /// Makes the caller's node what the body's first ops wait for, where it waits for anything
  /// itself; and gives its device to ops that ask for none.
  void start_after(NodeId caller, std::size_t first, std::string_view device) {
    Node& start = program_.nodes[static_cast<std::size_t>(caller)];
    start.inputs.clear();
    start.op = "NoOp";
    start.def = nullptr;
    const bool waits = !start.controls.empty();
    for (std::size_t i = first; i < program_.nodes.size(); ++i) {
      Node& node = program_.nodes[i];
      if (node.device.empty()) node.device = device;
      if (waits && node.controls.empty() &&
          std::none_of(node.inputs.begin(), node.inputs.end(), [&](const Source& input) {
            return input.node >= static_cast<NodeId>(first);
          })) {
        node.controls.push_back(caller);
      }
    }
  }

  Alias results_of(const Scope& scope, const FunctionDef& function) {
    Alias result;
    const Attributes& attributes = *program_.calls[static_cast<std::size_t>(scope.call)].attributes;
    for (const ArgDef& output : function.signature.outputs) {
      const auto found = std::find_if(function.results.begin(), function.results.end(),
                                      [&](const NamePair& r) { return r.key == output.name; });
      if (found == function.results.end()) {
        refuse(library_, cat("function '", readable(function.signature.name),
                             "' does not say what its output '", readable(output.name), "' is"));
      }
      const InputName name = parse_input(found->value, library_, function.signature.name);
      const auto id = scope.ids.find(name.node);
      if (id == scope.ids.end()) {
        refuse(library_, cat("function '", readable(function.signature.name), "' returns '",
                             readable(found->value), "', and no node of that name is in it"));
      }
      const std::int32_t port = port_of(scope, name);
      const std::size_t count = tensor_count(output, attributes);
      for (std::size_t i = 0; i < count; ++i) {
        result.outputs.push_back({id->second, port + static_cast<std::int32_t>(i)});
      }
    }
    for (const NamePair& control : function.control_results) {
      const auto id = scope.ids.find(control.value);
      if (id != scope.ids.end()) result.controls.push_back(id->second);
    }
    // Waiting for a call is waiting for all it does and gives.
    for (const Source& source : result.outputs) result.controls.push_back(source.node);
    return result;
  }

  // --- Resolving aliases
  // ----------------------------------------------------------------------------

  Source resolve(Source source) {
    for (std::size_t steps = 0; source.node <= kFirstAlias; ++steps) {
      const Alias& to = alias(source.node);
      if (source.port < 0 || static_cast<std::size_t>(source.port) >= to.outputs.size()) {
        refuse(library_,
               cat("output ", source.port, " of '", readable(to.name), "' is read, and it has ",
                   to.outputs.size(), "; correct the input or the function"));
      }
      if (steps > aliases_.size()) {
        refuse(library_, cat("the call '", readable(to.name), "' feeds itself"));
      }
      source = to.outputs[static_cast<std::size_t>(source.port)];
    }
    return source;
  }

  /// Replaces aliases by what they wait for, each once.
  void resolve_controls(std::vector<NodeId>& controls) {
    std::unordered_set<NodeId> seen;
    std::vector<NodeId> out;
    for (std::size_t i = 0; i < controls.size(); ++i) {
      const NodeId id = controls[i];
      if (!seen.insert(id).second) continue;
      if (id > kFirstAlias) {
        out.push_back(id);
      } else {
        const std::vector<NodeId>& more = alias(id).controls;
        controls.insert(controls.end(), more.begin(), more.end());
      }
    }
    std::sort(out.begin(), out.end());
    controls = std::move(out);
  }

  void finish() {
    for (Node& node : program_.nodes) {
      for (Source& input : node.inputs) input = resolve(input);
      if (!node.controls.empty()) resolve_controls(node.controls);
    }
    drop_starts();
  }

  /// Nodes of calls that nothing waits for are gone.
  void drop_starts() {
    const auto is_start = [](const Node& node) {
      return node.def == nullptr && node.op != kArgumentOp;
    };
    std::vector<bool> used(program_.nodes.size(), false);
    bool any = false;
    for (const Node& node : program_.nodes) {
      any = any || is_start(node);
      for (const NodeId id : node.controls) used[static_cast<std::size_t>(id)] = true;
    }
    if (!any) return;
    std::vector<NodeId> moved(program_.nodes.size(), kNoNode);
    std::vector<Node> kept;
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      if (is_start(program_.nodes[i]) && !used[i]) continue;
      moved[i] = static_cast<NodeId>(kept.size());
      kept.push_back(std::move(program_.nodes[i]));
    }
    program_.nodes = std::move(kept);
    const auto move = [&](NodeId& id) { id = moved[static_cast<std::size_t>(id)]; };
    for (Node& node : program_.nodes) {
      for (Source& input : node.inputs) move(input.node);
      for (NodeId& id : node.controls) move(id);
    }
    for (NodeId& id : program_.arguments) move(id);
    for (Source& source : program_.results) source = resolve(source);
    for (Source& source : program_.results) move(source.node);
  }

  Library& library_;
  Program& program_;
  std::deque<Alias> aliases_;
  std::vector<const FunctionDef*> stack_;
  std::unordered_map<NodeId, std::vector<std::string_view>> guessed_;
};

}  // namespace

InputName parse_input(std::string_view text, const Library& library, std::string_view owner) {
  InputName name;
  if (!text.empty() && text.front() == '^') {
    name.control = true;
    name.node = text.substr(1);
    return name;
  }
  const std::size_t colon = text.find(':');
  name.node = text.substr(0, colon);
  if (colon == std::string_view::npos) return name;
  std::string_view port = text.substr(colon + 1);
  if (const std::size_t second = port.find(':'); second != std::string_view::npos) {
    name.output = port.substr(0, second);
    port = port.substr(second + 1);
  }
  constexpr std::int32_t kMostPorts = 1 << 20;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), name.port);
  if (error == std::errc::invalid_argument && name.output.empty() && !port.empty()) {
    name.output = port;  // "node:output" is its first tensor
  } else if (error != std::errc() || end != port.data() + port.size() || name.port < 0 ||
             name.port > kMostPorts) {
    refuse(library, cat("node '", readable(owner), "' reads '", readable(text),
                        "', which names no output; outputs are counted from 0"));
  }
  return name;
}

Producers::Producers(const Library& library) : library_(library) {
  nodes_.reserve(library.graph.nodes().size());
  for (const NodeDef& node : library.graph.nodes()) nodes_.emplace(node.name, &node);
}

const NodeDef* Producers::input(const NodeDef& node, std::size_t i) const {
  if (i >= node.inputs.size() || node.inputs[i].substr(0, 1) == "^") return nullptr;
  const auto found = nodes_.find(parse_input(node.inputs[i], library_, node.name).node);
  return found == nodes_.end() ? nullptr : found->second;
}

const FunctionDef* called_function(const Library& library, const NodeDef& node,
                                   const Attributes& attributes,
                                   std::vector<AttrEntry>& call_attributes) {
  if (library.graph.functions.empty()) return nullptr;
  if (is_call(node.op)) {
    Attributes::Function function = attributes.function("f");
    call_attributes = std::move(function.attrs);
    return library.graph.function(function.name);
  }
  const FunctionDef* function = library.graph.function(node.op);
  if (function != nullptr) call_attributes.assign(node.attrs.begin(), node.attrs.end());
  return function;
}

Program make_program(Library& library, const std::vector<bool>& needed,
                     std::span<const Fetch> fetches) {
  Program program;
  Inliner(library, program).graph(needed, fetches);
  return program;
}

Program make_body(Library& library, const FunctionDef& function, std::vector<AttrEntry> attributes,
                  const Attributes* outer) {
  Program program;
  Inliner(library, program).body(function, std::move(attributes), outer);
  return program;
}

std::vector<int> output_types_of(const Library& library, const Node& node,
                                 std::int32_t used_ports) {
  std::vector<int> types;
  if (const ops::OpInfo* info = find_op(node.op)) {
    types = output_types(info->outputs, node.attributes);
  } else if (const auto op = library.ops.find(node.op); op != library.ops.end()) {
    types = output_types(op->second->outputs, node.attributes);
  } else {
    std::size_t count = node.attributes.shapes("_output_shapes").size();
    count = std::max(count, static_cast<std::size_t>(used_ports));
    for (const char* attribute : {"T", "dtype", "out_type", "Tout", "output_type"}) {
      const int type = node.attributes.type(attribute);
      if (type == kUnknownType) continue;
      types.assign(count, type);
      break;
    }
    types.resize(count, kUnknownType);
  }
  return types;
}

}  // namespace berth::tf_frontend
