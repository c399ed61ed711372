#include "tf/bodies.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "berth/error.h"
#include "support/text.h"
#include "tf/graph_maker.h"
#include "tf/tensor_content.h"

namespace berth::tf_frontend {

using frontend::readable;

namespace {

constexpr int kDeepestBodies = 64;

[[noreturn]] void unsupported(const std::string& why) {
  throw Error(ErrorCode::unsupported, why);
}

/// The list with elements among those an attribute may have.
AttributeContent list_content(const Attributes& attributes, std::string_view key) {
  if (const auto types = attributes.types(key); !types.empty()) {
    std::vector<DType> dtypes;
    for (const int type : types) dtypes.push_back(dtype_of(type));
    return dtypes;
  }
  if (const auto texts = attributes.texts(key); !texts.empty()) {
    return std::vector<std::string>(texts.begin(), texts.end());
  }
  if (auto reals = attributes.reals(key); !reals.empty()) return reals;
  return attributes.integers(key);
}

/// One level of nested bodies.
class Deeper {
 public:
  explicit Deeper(int& depth) : depth_(depth) { ++depth_; }
  ~Deeper() { --depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  int& depth_;
};

/// The first input, of nodes that have no meaning without one.
Source first_input(const Node& node) {
  if (node.inputs.empty()) unsupported(cat("'", readable(node.name), "' has no input"));
  return node.inputs[0];
}

/// Changes what outlives the step, so that it runs although nothing reads what it gives.
bool changes_state(std::string_view op) {
  return op.starts_with("Assign") || op.starts_with("ResourceApply") ||
         op.starts_with("ResourceSparseApply") || op.starts_with("ResourceScatter") ||
         op.starts_with("Apply") || op.starts_with("SparseApply") || op.starts_with("Scatter");
}

}  // namespace

void add_attributes(Instruction& instruction, const Node& node, const WireSource& source,
                    const std::shared_ptr<const ModelFile>& file) {
  for (const AttrEntry& entry : node.attributes.entries()) {
    // Behind an underscore is TensorFlow's own bookkeeping.
    if (entry.key.empty() || entry.key.front() == '_') continue;
    const Attr attr = node.attributes.find(entry.key);
    const auto add = [&](AttributeContent content) {
      instruction.attributes.emplace_back(readable(entry.key), std::move(content));
    };
    switch (attr.kind) {
      case Attr::Kind::integer:
      case Attr::Kind::boolean:
        add(attr.integer);
        break;
      case Attr::Kind::real:
        add(attr.real);
        break;
      case Attr::Kind::text:
        add(std::string(attr.bytes));
        break;
      case Attr::Kind::type:
        add(dtype_of(node.attributes.type(entry.key)));
        break;
      case Attr::Kind::shape: {
        Value shape;
        if (node.attributes.shape(entry.key, shape) && shape.ranked) add(shape.dims);
        break;
      }
      case Attr::Kind::tensor:
        add(read_content(attr.bytes, source, node.name, file));
        break;
      case Attr::Kind::list:
        add(list_content(node.attributes, entry.key));
        break;
      default:
        break;
    }
  }
}

LoopBorder border_of(const Program& program, const std::function<bool(NodeId)>& inside,
                     const std::function<bool(NodeId)>& counts) {
  LoopBorder border;
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes.size()); ++id) {
    if (!counts(id)) continue;
    const bool reads_inside = inside(id);
    for (const Source& input : program.nodes[static_cast<std::size_t>(id)].inputs) {
      if (reads_inside == inside(input.node)) continue;
      if (reads_inside) {
        border.inputs.push_back(input);
        continue;
      }
      const bool known = std::any_of(
          border.outputs.begin(), border.outputs.end(),
          [&](const Source& s) { return s.node == input.node && s.port == input.port; });
      if (!known) border.outputs.push_back(input);
    }
  }
  return border;
}

/// The values of one body while it is made.
struct BodyMaker::Scope {
  const Program& program;
  const Loops& loops;
  FrameId frame = kNoFrame;  ///< the loop whose round the body is; kNoFrame = a function
  std::string prefix;        ///< of names
  std::map<std::pair<NodeId, std::int32_t>, ValueId> values;

  [[nodiscard]] const Node& node(NodeId id) const {
    return program.nodes[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] FrameId frame_of(NodeId id) const {
    return loops.frame_of[static_cast<std::size_t>(id)];
  }
  /// The loop inside `frame`, directly below it, that `id` is in; kNoFrame = none.
  [[nodiscard]] FrameId inner_loop(NodeId id) const {
    FrameId at = frame_of(id);
    while (at != kNoFrame && at != frame) {
      const FrameId parent = loops.frames[static_cast<std::size_t>(at)].parent;
      if (parent == frame) return at;
      at = parent;
    }
    return kNoFrame;
  }
};

/// Adds the instructions that some values need, producers first.
class BodyMaker::Emitter {
 public:
  Emitter(BodyMaker& maker, Scope& scope, Body& body) : maker_(maker), scope_(scope), body_(body) {}

  ValueId value(const Source& source) {
    need(source.node);
    return known(source);
  }

  void need(NodeId root) {
    std::vector<NodeId> stack{root};
    while (!stack.empty()) {
      const NodeId id = stack.back();
      const NodeId unit = unit_of(id);
      State& state = states_[unit];
      if (state == State::done || is_given(id)) {
        stack.pop_back();
        continue;
      }
      const std::size_t before = stack.size();
      for (const NodeId other : producers_of(id)) {
        if (is_given(other) || unit_of(other) == unit) continue;
        if (states_[unit_of(other)] == State::done) continue;
        stack.push_back(other);
      }
      if (stack.size() > before) {
        if (state == State::open) unsupported("its body waits for itself");
        state = State::open;
        continue;
      }
      emit(id);
      states_[unit] = State::done;
      stack.pop_back();
    }
  }

 private:
  enum class State : std::uint8_t { unseen, open, done };

  [[nodiscard]] bool is_given(NodeId id) const {
    const auto first = scope_.values.lower_bound({id, -1});
    return first != scope_.values.end() && first->first.first == id;
  }

  /// A loop is one unit, under the number of its first node.
  NodeId unit_of(NodeId id) {
    const FrameId loop = scope_.inner_loop(id);
    if (loop == kNoFrame) return id;
    const auto found = first_of_loop_.find(loop);
    if (found != first_of_loop_.end()) return found->second;
    for (NodeId other = 0;; ++other) {
      if (scope_.inner_loop(other) == loop) return first_of_loop_[loop] = other;
    }
  }

  std::vector<NodeId> producers_of(NodeId id) {
    std::vector<NodeId> found;
    const auto add = [&](const Node& node) {
      for (const Source& input : node.inputs) found.push_back(input.node);
      for (const NodeId control : node.controls) {
        // Switches that a branch or a round waits for have run once the body does.
        if (scope_.frame_of(control) == scope_.frame && !is_switch(scope_.node(control).op)) {
          found.push_back(control);
        }
      }
    };
    const FrameId loop = scope_.inner_loop(id);
    if (loop == kNoFrame) {
      add(scope_.node(id));
    } else {
      for (const Source& input : inner_border(loop).inputs) found.push_back(input.node);
    }
    return found;
  }

  const LoopBorder& inner_border(FrameId loop) {
    const auto found = borders_.find(loop);
    if (found != borders_.end()) return found->second;
    const auto inside = [&](NodeId id) { return scope_.inner_loop(id) == loop; };
    return borders_[loop] = border_of(scope_.program, inside, [](NodeId) { return true; });
  }

  ValueId known(const Source& source) const {
    const auto found = scope_.values.find({source.node, source.port});
    if (found == scope_.values.end()) {
      unsupported(cat("its body reads output ", source.port, " of '",
                      readable(scope_.node(source.node).name), "', which is not given"));
    }
    return found->second;
  }

  void emit(NodeId id) {
    const FrameId loop = scope_.inner_loop(id);
    if (loop != kNoFrame) return emit_loop(loop);
    const Node& node = scope_.node(id);
    if (scope_.frame_of(id) != scope_.frame) {
      unsupported(cat("'", readable(node.name), "' is outside of the loop that reads it"));
    }
    Instruction instruction;
    instruction.name = scope_.prefix + readable(node.name);
    instruction.type = readable(node.op);
    add_attributes(instruction, node, maker_.library_.source, maker_.file_);
    for (const Source& input : node.inputs) instruction.inputs.push_back(known(input));
    if (runs_bodies(node.op)) maker_.add_functions(instruction, scope_.program, node);
    if (has_branches()) add_alive(instruction, node);
    const std::size_t count = std::max(output_types_of(maker_.library_, node, 0).size(), used(id));
    for (std::size_t port = 0; port < count; ++port) {
      instruction.outputs.push_back(give({id, static_cast<std::int32_t>(port)}));
    }
    if (count == 0) scope_.values[{id, -1}] = kNoValue;  // it has run
    body_.instructions.push_back(std::move(instruction));
  }

  void emit_loop(FrameId loop) {
    const LoopBorder& border = inner_border(loop);
    Instruction instruction;
    const Frame& frame = scope_.loops.frames[static_cast<std::size_t>(loop)];
    instruction.name = scope_.prefix + readable(frame.name);
    instruction.type = "While";
    for (const Source& input : border.inputs) instruction.inputs.push_back(known(input));
    for (const Source& output : border.outputs) instruction.outputs.push_back(give(output));
    maker_.add_loop(instruction, scope_.program, scope_.loops, loop, border);
    body_.instructions.push_back(std::move(instruction));
  }

  /// Whether the body has a Switch of its own: one that is not given chooses a branch.
  bool has_branches() {
    if (!has_branches_) {
      has_branches_ = false;
      for (NodeId id = 0; id < static_cast<NodeId>(scope_.program.nodes.size()); ++id) {
        *has_branches_ |=
            scope_.frame_of(id) == scope_.frame && is_switch(scope_.node(id).op) && !is_given(id);
      }
    }
    return *has_branches_;
  }

  /// What the node waits for has to be alive where it is: values of those that have some, else what they depend on.
  void add_alive(Instruction& instruction, const Node& node) {
    std::vector<std::int64_t> alive;
    std::vector<NodeId> left = node.controls;
    std::set<NodeId> seen;
    while (!left.empty()) {
      const NodeId id = left.back();
      left.pop_back();
      if (scope_.frame_of(id) != scope_.frame || !seen.insert(id).second) continue;
      const Node& other = scope_.node(id);
      const auto value = scope_.values.find({id, 0});
      if (value != scope_.values.end() && !is_switch(other.op)) {
        alive.push_back(value->second);
        continue;
      }
      for (const Source& input : other.inputs) {
        const auto read = scope_.values.find({input.node, input.port});
        if (read != scope_.values.end()) alive.push_back(read->second);
      }
      left.insert(left.end(), other.controls.begin(), other.controls.end());
    }
    if (!alive.empty()) instruction.attributes.emplace_back("_alive", std::move(alive));
  }

  ValueId give(const Source& source) {
    const auto [entry, is_new] =
        scope_.values.try_emplace({source.node, source.port}, maker_.next_);
    if (is_new) ++maker_.next_;
    return entry->second;
  }

  /// One more than the last output of a node that is read.
  std::size_t used(NodeId id) {
    if (used_.empty()) {
      used_.assign(scope_.program.nodes.size(), 0);
      const auto use = [&](const Source& source) {
        auto& count = used_[static_cast<std::size_t>(source.node)];
        count = std::max(count, static_cast<std::size_t>(source.port + 1));
      };
      for (const Node& node : scope_.program.nodes) {
        for (const Source& input : node.inputs) use(input);
      }
      for (const Source& result : scope_.program.results) use(result);
    }
    return used_[static_cast<std::size_t>(id)];
  }

  BodyMaker& maker_;
  Scope& scope_;
  Body& body_;
  std::map<NodeId, State> states_;
  std::map<FrameId, NodeId> first_of_loop_;
  std::map<FrameId, LoopBorder> borders_;
  std::vector<std::size_t> used_;
  std::optional<bool> has_branches_;
};

std::shared_ptr<const Body> BodyMaker::function(const Program& program, const Node& node,
                                                const Attributes::Function& name,
                                                std::size_t arguments) {
  const FunctionDef* definition = library_.graph.function(name.name);
  if (definition == nullptr) {
    unsupported(cat("it runs function '", readable(name.name), "', which is not in the library"));
  }
  if (depth_ >= kDeepestBodies) unsupported(cat("bodies nest deeper than ", kDeepestBodies));
  const Deeper deeper(depth_);
  const Program inner = program_of(program, node, *definition, name.attrs);
  const Loops loops = find_loops(inner, library_.source.file);
  Scope scope{inner, loops, kNoFrame, cat(readable(node.name), "/"), {}};
  auto body = std::make_shared<Body>();
  for (const NodeId argument : inner.arguments) {
    body->inputs.push_back(next_);
    scope.values[{argument, 0}] = next_++;
  }
  if (inner.arguments.size() != arguments) {
    unsupported(cat("function '", readable(name.name), "' takes ", inner.arguments.size(),
                    " arguments and is given ", arguments));
  }
  Emitter emitter(*this, scope, *body);
  for (NodeId id = 0; id < static_cast<NodeId>(inner.nodes.size()); ++id) {
    if (changes_state(inner.nodes[static_cast<std::size_t>(id)].op)) emitter.need(id);
  }
  for (const Source& result : inner.results) body->outputs.push_back(emitter.value(result));
  return body;
}

Program BodyMaker::program_of(const Program& caller, const Node& node, const FunctionDef& function,
                              const std::vector<AttrEntry>& attributes) {
  const Call& call = caller.calls[static_cast<std::size_t>(node.call)];
  try {
    return make_body(library_, function, attributes, call.attributes.get());
  } catch (const Error& error) {  // the graph itself has loaded: it has too many bodies
    unsupported(error.what());
  }
}

void BodyMaker::add_functions(Instruction& instruction, const Program& program, const Node& node) {
  const auto add = [&](std::string name, const Attributes::Function& function_name,
                       std::size_t arguments) {
    std::erase_if(instruction.attributes, [&](const auto& entry) { return entry.first == name; });
    instruction.attributes.emplace_back(std::move(name),
                                        function(program, node, function_name, arguments));
  };
  const std::size_t inputs = node.inputs.size();
  if (node.op == "While" || node.op == "StatelessWhile") {
    add("cond", node.attributes.function("cond"), inputs);
    add("body", node.attributes.function("body"), inputs);
    std::vector<std::int64_t> all(inputs);
    for (std::size_t i = 0; i < inputs; ++i) all[i] = static_cast<std::int64_t>(i);
    instruction.attributes.emplace_back("initial", all);
    instruction.attributes.emplace_back("given", std::move(all));
    return;
  }
  if (inputs == 0) unsupported("nothing says which branch it takes");
  if (node.op == "If" || node.op == "StatelessIf") {
    add("then_branch", node.attributes.function("then_branch"), inputs - 1);
    add("else_branch", node.attributes.function("else_branch"), inputs - 1);
    return;
  }
  const auto branches = node.attributes.functions("branches");
  for (std::size_t i = 0; i < branches.size(); ++i) add(cat("branch", i), branches[i], inputs - 1);
}

void BodyMaker::add_loop(Instruction& instruction, const Program& program, const Loops& loops,
                         FrameId frame, const LoopBorder& border) {
  const auto node_at = [&](NodeId id) -> const Node& {
    return program.nodes[static_cast<std::size_t>(id)];
  };
  struct Variable {
    NodeId merge, enter, next;
  };
  std::vector<Variable> variables;
  NodeId condition = kNoNode;
  std::map<std::pair<NodeId, std::int32_t>, ValueId> outside;  // what is read from around the loop
  for (std::size_t i = 0; i < border.inputs.size(); ++i) {
    outside[{border.inputs[i].node, border.inputs[i].port}] = instruction.inputs[i];
  }
  std::map<std::pair<NodeId, std::int32_t>, ValueId> constants;
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes.size()); ++id) {
    if (loops.frame_of[static_cast<std::size_t>(id)] != frame) continue;
    const Node& node = node_at(id);
    if (node.op == "LoopCond" && !node.inputs.empty()) condition = id;
    if (is_enter(node.op) && node.attributes.boolean("is_constant", false)) {
      const auto found = outside.find({first_input(node).node, first_input(node).port});
      if (found != outside.end()) constants[{id, 0}] = found->second;
    }
    if (!is_merge(node.op) || node.inputs.size() != 2) continue;
    Variable variable{id, kNoNode, kNoNode};
    for (const Source& input : node.inputs) {
      if (is_enter(node_at(input.node).op)) variable.enter = input.node;
      if (is_next_iteration(node_at(input.node).op)) variable.next = input.node;
    }
    if (variable.enter != kNoNode && variable.next != kNoNode) variables.push_back(variable);
  }
  if (condition == kNoNode) unsupported("it is a loop without a condition");
  std::map<NodeId, std::size_t> variable_of;  // by Merge
  std::vector<std::int64_t> initial, given;
  for (std::size_t v = 0; v < variables.size(); ++v) {
    variable_of[variables[v].merge] = v;
    const Source from = first_input(node_at(variables[v].enter));
    const auto at = std::find_if(border.inputs.begin(), border.inputs.end(), [&](const Source& s) {
      return s.node == from.node && s.port == from.port;
    });
    if (at == border.inputs.end()) unsupported("a variable of its begins with nothing");
    initial.push_back(at - border.inputs.begin());
  }
  std::vector<std::pair<NodeId, std::size_t>> switches;  // and their variables
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes.size()); ++id) {
    const Node& node = node_at(id);
    if (!is_switch(node.op) || node.inputs.empty()) continue;
    const auto found = variable_of.find(node.inputs[0].node);
    if (found != variable_of.end()) switches.emplace_back(id, found->second);
  }
  for (const Source& output : border.outputs) {
    const Node& exit = node_at(output.node);
    const Source from = is_exit(exit.op) ? first_input(exit) : Source{};
    const auto variable = from.node != kNoNode && is_switch(node_at(from.node).op)
                              ? variable_of.find(first_input(node_at(from.node)).node)
                              : variable_of.end();
    if (variable == variable_of.end()) {
      unsupported(cat("'", readable(exit.name), "' leaves it otherwise than by an Exit"));
    }
    given.push_back(static_cast<std::int64_t>(variable->second));
  }
  const auto make = [&](bool round) {
    auto body = std::make_shared<Body>();
    Scope scope{program, loops, frame, "", constants};
    for (const auto& [source, value] : outside) scope.values.try_emplace(source, value);
    for (const Variable& variable : variables) {
      body->inputs.push_back(next_);
      scope.values[{variable.merge, 0}] = next_++;
    }
    for (const auto& [id, variable] : switches) scope.values[{id, 1}] = body->inputs[variable];
    Emitter emitter(*this, scope, *body);
    if (!round) {
      body->outputs.push_back(emitter.value(first_input(node_at(condition))));
      return body;
    }
    for (const Variable& variable : variables) {
      const Node& next = node_at(variable.next);
      body->outputs.push_back(emitter.value(first_input(next)));
      // A round waits for these without their values: pushes on stacks.
      for (const NodeId control : next.controls) {
        const bool is_own = loops.frame_of[static_cast<std::size_t>(control)] == frame;
        if (is_own && !is_switch(node_at(control).op)) emitter.need(control);
      }
    }
    return body;
  };
  instruction.attributes.emplace_back("cond", std::shared_ptr<const Body>(make(false)));
  instruction.attributes.emplace_back("body", std::shared_ptr<const Body>(make(true)));
  instruction.attributes.emplace_back("initial", std::move(initial));
  instruction.attributes.emplace_back("given", std::move(given));
}

}  // namespace berth::tf_frontend
