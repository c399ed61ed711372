#include "tf/inference.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "berth/costs.h"
#include "berth/error.h"
#include "support/text.h"
#include "tf/assigned_shapes.h"
#include "tf/graph_maker.h"
#include "tf/handles.h"
#include "tf/op_rules.h"
#include "tf/routing.h"

namespace berth::tf_frontend {

namespace {

using frontend::readable;

constexpr int kDeepestBodies = 32;

/// Whether a user may say the shape of this op's outputs.
bool is_input(std::string_view op) {
  return op == "Placeholder" || op == "PlaceholderV2" || op == "PlaceholderWithDefault" ||
         op == "IteratorGetNext" || op == "IteratorGetNextSync" || op == kArgumentOp ||
         op.substr(0, 12) == "QueueDequeue";
}

bool is_functional_loop(std::string_view op) {
  return op == "While" || op == "StatelessWhile";
}
bool is_branch(std::string_view op) {
  return op == "If" || op == "StatelessIf" || op == "Case" || op == "StatelessCase";
}

class Inference {
 public:
  Inference(InferenceContext& context, Program& program, Inferred& inferred)
      : context_(context),
        program_(program),
        inferred_(inferred),
        rounds_(std::exchange(context.rounds, 1)) {}

  void run(const std::vector<Value>& arguments) {
    inferred_.loops = find_loops(program_, context_.library.source.file);
    find_conditions();
    count_ports();
    for (std::size_t i = 0; i < program_.arguments.size(); ++i) {
      Node& node = node_at(program_.arguments[i]);
      node.outputs.assign(1, i < arguments.size() ? arguments[i] : Value());
    }
    visit_all();
    // A variable's shape may follow from what is written to it after it was read.
    constexpr int kMostRounds = 4;
    for (int round = 1; round < kMostRounds && more_is_known(); ++round) revisit();
    if (follow_frames()) revisit();
    if (context_.depth == 0 && !context_.choosers.empty()) visit_largest_step();
    for (FrameId frame = 0; frame < static_cast<FrameId>(inferred_.loops.frames.size()); ++frame) {
      static_cast<void>(trips(frame));
    }
    for (const auto& [id, handle] : captured_) {
      if (handle->variable) make_variable(program_, node_at(id));
    }
    count_stacks();
    inferred_.all_unsized = unsized();
  }

 private:
  void visit_all() {
    // Constants first, whatever they wait for: loops are counted with those in them.
    for (const bool constants : {true, false}) {
      for (const NodeId id : inferred_.loops.order) {
        if ((node_at(id).op == "Const") == constants) visit(id);
      }
    }
  }

  void revisit() {
    for (Node& node : program_.nodes) node.outputs.clear();
    visit_all();
  }

  void visit_largest_step() {
    const std::int64_t before = unsized();
    if (before == 0) return;
    context_.largest_step = true;
    revisit();
    inferred_.at_their_largest = before - unsized();
  }

  [[nodiscard]] std::int64_t unsized() const {
    std::int64_t count = 0;
    for (const Node& node : program_.nodes) {
      count += std::count_if(node.outputs.begin(), node.outputs.end(), lacks_size);
    }
    for (const auto& [node, inside] : inferred_.unsized) count += inside;
    return count;
  }

  Node& node_at(NodeId id) { return program_.nodes[static_cast<std::size_t>(id)]; }

  void find_conditions() {
    conditions_.assign(inferred_.loops.frames.size(), kNoNode);
    if (conditions_.empty()) return;
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const FrameId frame = inferred_.loops.frame_of[i];
      if (frame != kNoFrame && program_.nodes[i].op == "LoopCond") {
        conditions_[static_cast<std::size_t>(frame)] = static_cast<NodeId>(i);
      }
    }
  }

  void count_ports() {
    used_ports_.assign(program_.nodes.size(), 0);
    const auto use = [&](const Source& source) {
      std::int32_t& used = used_ports_[static_cast<std::size_t>(source.node)];
      used = std::max(used, source.port + 1);
    };
    for (const Node& node : program_.nodes) {
      for (const Source& input : node.inputs) use(input);
    }
    for (const Source& result : program_.results) use(result);
  }

  void visit(NodeId id) {
    Node& node = node_at(id);
    const bool given = !node.outputs.empty();  // an argument
    if (!given) {
      make_outputs(id, node);
      apply_rule(id, node);
      if (context_.depth == 0 && !context_.assigned.empty() && is_variable(node.op)) {
        const auto assigned = context_.assigned.find(node.name);
        if (assigned != context_.assigned.end()) complete_variable(node, assigned->second);
      }
      if (const auto grown = grown_.find(id); grown != grown_.end()) {
        node.outputs[0].set_shape(grown->second);
      }
    }
    declared_shapes(node);
    if (context_.depth == 0 && is_input(node.op)) {
      capture(id, node);
      bind(node);
    } else if (context_.depth == 0 && context_.bindings.gives_shapes()) {
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        const std::string name = readable(node.name);
        context_.bindings.give(i == 0 ? name : cat(name, ":", i), node.outputs[i]);
      }
    }
    if (!given) learn(node);
    if (is_exit(node.op)) exit_content(id, node);
    const bool is_gradient = node.op == "SymbolicGradient";
    if (!is_gradient && !is_functional_loop(node.op) && !is_branch(node.op)) return;
    // An earlier visit left it, when less was known.
    inferred_.residents.erase(id);
    inferred_.unsized.erase(id);
    is_gradient ? gradient(id, node) : bodies(id, node);
  }

  void make_outputs(NodeId id, Node& node) {
    const std::int32_t used = used_ports_[static_cast<std::size_t>(id)];
    const std::vector<int> types = output_types_of(context_.library, node, used);
    if (static_cast<std::size_t>(used) > types.size() && !may_have_more(node)) {
      throw Error(ErrorCode::invalid_graph,
                  cat(context_.library.source.file, ": output ", used - 1, " of node '",
                      readable(node.name), "' is read, and an op of type ", readable(node.op),
                      " has ", types.size(), "; correct the input that names it"));
    }
    node.outputs.resize(std::max(types.size(), static_cast<std::size_t>(used)));
    for (std::size_t i = 0; i < types.size(); ++i) node.outputs[i].type = types[i];
  }

  /// Uses tell the number of outputs if the attribute that counts them is missing.
  bool may_have_more(const Node& node) const {
    const ops::OpInfo* info = find_op(node.op);
    if (info == nullptr) return context_.library.ops.count(node.op) == 0;
    return std::any_of(info->outputs.begin(), info->outputs.end(), [&](const ArgDef& output) {
      return (!output.number_attr.empty() && !node.attributes.has(output.number_attr)) ||
             (!output.type_list_attr.empty() && !node.attributes.has(output.type_list_attr));
    });
  }

  void apply_rule(NodeId id, Node& node) {
    if (const OpRule* const custom = custom_rule(node)) {
      const auto work =
          apply_rule_of_user(*custom, node.op, node.attributes, inputs_at(node), node.outputs);
      if (work) inferred_.works[id] = *work;
      return;
    }
    const ops::OpInfo* info = find_op(node.op);
    if (info == nullptr) {
      if (node.op != kArgumentOp) context_.unknown_ops.insert(readable(node.op));
      return;
    }
    const auto inputs = inputs_at(node);
    const auto choice = routed(program_, node, context_.experts);
    if (choice && routings_.insert(id).second && context_.routings++ == 0) {
      context_.routed_experts = choice->experts;
    }
    if (apply_rules(*info, node.name, node.op, node.attributes, inputs, node.outputs,
                    context_.largest_step, choice ? choice->count : kUnknownDim,
                    context_.largest_step ? pieces_of(id, node) : 1)) {
      context_.choosers.insert(readable(node.op));
    }
  }

  /// A loop that cuts a tensor from outside where the step says, at both ends, takes all of it in all its rounds.
  std::int64_t pieces_of(NodeId id, const Node& node) {
    const auto known = [&](std::size_t input) {
      const std::vector<Value>& outputs = node_at(node.inputs[input].node).outputs;
      const auto port = static_cast<std::size_t>(node.inputs[input].port);
      return port < outputs.size() && outputs[port].integers() != nullptr;
    };
    if ((node.op != "Slice" && node.op != "StridedSlice") || node.inputs.size() < 3) return 1;
    const FrameId frame = inferred_.loops.frame_of[static_cast<std::size_t>(id)];
    const std::int64_t rounds = frame != kNoFrame ? trips(frame) : rounds_;
    return rounds > 1 && !known(1) && !known(2) && is_kept(program_, node.inputs[0]) ? rounds : 1;
  }

  [[nodiscard]] const OpRule* custom_rule(const Node& node) const {
    return context_.rules != nullptr ? context_.rules->find(readable(node.op)) : nullptr;
  }

  /// Valid until it is asked for the next.
  std::span<const Value* const> inputs_at(const Node& node) {
    static const Value kNothing;
    inputs_.clear();
    for (const Source& input : node.inputs) {
      // The end of a loop is not known yet where its beginning reads it.
      const std::vector<Value>& outputs = node_at(input.node).outputs;
      const auto port = static_cast<std::size_t>(input.port);
      inputs_.push_back(port < outputs.size() ? &outputs[port] : &kNothing);
    }
    return inputs_;
  }

  // --- Handles ---------------------------------------------------------------------------------

  /// A resource from outside may be a variable.
  void capture(NodeId id, Node& node) {
    if (node.outputs.empty()) return;
    Value& value = node.outputs[0];
    if (value.type != kResource || value.handle != nullptr) return;
    std::shared_ptr<Handle>& handle = captured_[id];
    if (handle == nullptr) handle = captured_handle(node.attributes);
    value.handle = handle;
  }

  void learn(Node& node) {
    learn_from_use({node.op, node.attributes, inputs_at(node), node.outputs});
  }

  /// Whether a variable that was read too early is known by now.
  bool more_is_known() {
    bool any = false;
    for (const auto& [id, handle] : captured_) {
      any =
          any || (handle->read_too_early && handle->ranked && product(handle->dims) != kUnknownDim);
      handle->read_too_early = false;
    }
    return any;
  }

  /// A stack holds what the rounds of its loop push.
  void count_stacks() {
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const Node& node = program_.nodes[i];
      if (node.op != "StackPush" && node.op != "StackPushV2") continue;
      const auto inputs = inputs_at(node);
      if (inputs.empty() || inputs[0]->handle == nullptr) continue;
      std::int64_t rounds = 1;
      for (FrameId id = inferred_.loops.frame_of[i]; id != kNoFrame;
           id = inferred_.loops.frames[static_cast<std::size_t>(id)].parent) {
        rounds = product({rounds, trips(id)});
      }
      inputs[0]->handle->size = rounds;
    }
  }

  void declared_shapes(Node& node) {
    if (context_.other_batch) return;
    const std::vector<Value> shapes = node.attributes.shapes("_output_shapes");
    for (std::size_t i = 0; i < shapes.size() && i < node.outputs.size(); ++i) {
      merge_shape(node.outputs[i], shapes[i]);
    }
  }

  void bind(Node& node) {
    if (context_.empty_shapes_say_nothing && node.op == "Placeholder" && node.outputs[0].ranked &&
        node.outputs[0].dims.empty() && !node.attributes.has("_output_shapes")) {
      node.outputs[0].ranked = false;
    }
    if (!node.fixed) node.fixed = node.outputs.size() == 1 && node.outputs[0].fully_known();
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      Value& value = node.outputs[i];
      if (value.type == kResource || value.type == kVariant) continue;
      context_.bindings.apply(i == 0 ? readable(node.name) : cat(readable(node.name), ":", i),
                              value);
    }
  }

  // --- Loops -----------------------------------------------------------------------------------

  std::int64_t trips(FrameId id) {
    Frame& frame = inferred_.loops.frames[static_cast<std::size_t>(id)];
    const NodeId condition = conditions_[static_cast<std::size_t>(id)];
    if (frame.trips == kUnknownDim && condition != kNoNode) {
      frame.trips = count_trips(program_, condition, branches());
    }
    if (frame.trips == kUnknownDim) frame.trips = context_.bindings.trips_or_one(frame.name);
    return frame.trips;
  }

  /// Notes the shapes of states that grow by the same in every round: within their loop those of the
  /// middle round, whose work is the mean of all, and behind it those that the last round leaves.
  /// Returns whether there are any.
  bool follow_frames() {
    for (const NodeId id : inferred_.loops.order) {
      const Node& node = node_at(id);
      if (!is_exit(node.op) || node.inputs.empty()) continue;
      const Node& from = node_at(node.inputs[0].node);
      if (!is_switch(from.op) || from.inputs.empty()) continue;
      const NodeId merge = from.inputs[0].node;
      const auto variable = variable_at(program_, merge);
      const FrameId frame = inferred_.loops.frame_of[static_cast<std::size_t>(merge)];
      if (!variable || frame == kNoFrame) continue;
      const Value& before = node_at(merge).outputs.at(0);
      const std::vector<Value>& end = node_at(variable->end.node).outputs;
      const Value& after = end.at(static_cast<std::size_t>(variable->end.port));
      if (!changes_shape(before, after) || before.dims.size() != after.dims.size()) continue;
      const auto rounds = static_cast<double>(trips(frame));
      grown_[id] = shape_behind(before, after, rounds);
      grown_[merge] = shape_behind(before, after, std::max(rounds - 1, 0.0) / 2);
    }
    return !grown_.empty();
  }

  /// The value of a counter when its loop ends: the count of a gradient's loop.
  void exit_content(NodeId id, Node& node) {
    const FrameId frame = inferred_.loops.frame_of[static_cast<std::size_t>(id)];
    Value& value = node.outputs[0];
    if (frame == kNoFrame || node.inputs.empty() || !value.ranked || !value.dims.empty() ||
        !is_integer_type(value.type)) {
      return;
    }
    const Node& from = node_at(node.inputs[0].node);
    if (!is_switch(from.op) || from.inputs.empty()) return;
    const std::int64_t count = counter_after(program_, from.inputs[0].node, trips(frame));
    if (count != Data::kUnknown) {
      value.data = std::make_shared<const std::vector<std::int64_t>>(1, count);
    }
  }

  // --- Bodies of functional control flow -------------------------------------------------------

  struct BodyResult {
    std::vector<Value> outputs;
    BodyCosts costs;
    std::int64_t unsized = 0;  // tensors in it, and in bodies of its own
    Program program;
  };

  std::vector<Value> inputs_of(const Node& node) const { return inputs_of(program_, node); }

  static std::vector<Value> inputs_of(const Program& program, const Node& node) {
    std::vector<Value> inputs;
    for (const Source& input : node.inputs) {
      const std::vector<Value>& outputs =
          program.nodes[static_cast<std::size_t>(input.node)].outputs;
      const auto port = static_cast<std::size_t>(input.port);
      inputs.push_back(port < outputs.size() ? outputs[port] : Value());
    }
    return inputs;
  }

  /// Takes a function's arguments and the gradients of its results; gives those of the arguments.
  void gradient(NodeId id, Node& node) {
    const std::vector<Value> inputs = inputs_of(node);
    for (std::size_t i = 0; i < node.outputs.size() && i < inputs.size(); ++i) {
      merge_shape(node.outputs[i], inputs[i]);
    }
    const Attributes::Function function = node.attributes.function("f");
    if (context_.library.graph.function(function.name) == nullptr) return;
    constexpr double kPasses = 3;  // the function itself, then twice its work for the gradients
    const BodyResult body = run_body(node, function, inputs);
    inferred_.works[id] = scale_work(body.costs.work, kPasses);
    hold(id, body);
  }

  void bodies(NodeId id, Node& node) {
    if (is_functional_loop(node.op)) {
      functional_loop(id, node);
      return;
    }
    std::vector<Value> inputs = inputs_of(node);
    std::vector<Attributes::Function> branches;
    if (node.op == "If" || node.op == "StatelessIf") {
      branches = {node.attributes.function("then_branch"), node.attributes.function("else_branch")};
    } else {
      branches = node.attributes.functions("branches");
    }
    // The first input chooses, the others are the branches' arguments.
    inputs.erase(inputs.begin(), inputs.begin() + (inputs.empty() ? 0 : 1));
    larger_branch(id, node, branches, inputs);
  }

  void functional_loop(NodeId id, Node& node) {
    const std::vector<Value> initial = inputs_of(node);
    std::vector<Value> inputs = initial;
    const Attributes::Function name = node.attributes.function("body");
    Program round = body_of(node, name);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!is_handed_on(round, i)) inputs[i].forget_content();
    }
    std::int64_t& counted =
        context_.rounds_of.try_emplace(cat(name.name, " ", node.name), 1).first->second;
    const BodyResult body = run_body(name, std::move(round), inputs, counted);
    const BodyResult condition = run_body(node, node.attributes.function("cond"), inputs);
    hold(id, body);
    hold(id, condition);
    std::int64_t rounds = count_trips(condition.program, body.program, initial, branches());
    if (rounds == kUnknownDim) rounds = context_.bindings.trips_or_one(readable(node.name));
    counted = rounds;
    std::vector<Value> last = body.outputs;
    Work work = scale_work(body.costs.work, static_cast<double>(rounds));
    const bool stays =
        std::equal(inputs.begin(), inputs.end(), last.begin(), last.end(),
                   [](const Value& a, const Value& b) { return !changes_shape(a, b); });
    if (rounds > 1 && (!stays || body.unsized > 0)) {
      if (auto all = follow_rounds(node, initial, body, rounds, stays)) {
        last = std::move(all->last);
        work = all->work;
        inferred_.unsized[id] += all->unsized - body.unsized;
      }
    }
    for (std::size_t i = 0; i < std::min({last.size(), inputs.size(), node.outputs.size()}); ++i) {
      if (rounds > 0 && changes_shape(inputs[i], last[i])) node.outputs[i].set_shape(last[i].dims);
      merge_shape(node.outputs[i], last[i]);
      after_rounds(node.outputs[i], body.outputs[i], rounds, puts_the_same(body.program, i));
      set_content(node.outputs[i], content_after(body.program, initial, i, rounds));
    }
    inferred_.works[id] =
        add_work(work, scale_work(condition.costs.work, static_cast<double>(rounds)));
  }

  static bool changes_shape(const Value& before, const Value& after) {
    return before.fully_known() && after.fully_known() && before.dims != after.dims;
  }

  /// The rounds that a functional loop has done, and what they left.
  struct Followed {
    std::vector<Value> last;
    Work work;
    std::int64_t unsized = 0;  // tensors in the round that has most of them
  };

  /// Runs all rounds, each with what counters hold in it and the shapes that the one before has left. Empty where the
  /// rounds are too many to follow, or `stays`, the state keeps its shapes and no more sizes are known than of `first`,
  /// any round.
  std::optional<Followed> follow_rounds(const Node& node, const std::vector<Value>& initial,
                                        const BodyResult& first, std::int64_t rounds, bool stays) {
    const std::int64_t visits = static_cast<std::int64_t>(first.program.nodes.size()) + 1;
    if (rounds > context_.visits_of_rounds / visits) return std::nullopt;
    context_.visits_of_rounds -= rounds * visits;
    Followed all{initial, {}};
    for (std::int64_t at = 0; at < rounds; ++at) {
      for (std::size_t i = 0; i < all.last.size(); ++i) {
        set_content(all.last[i], content_after(first.program, initial, i, at));
      }
      const Attributes::Function name = node.attributes.function("body");
      BodyResult body = run_body(name, body_of(node, name), all.last, rounds);
      if (stays && body.unsized >= first.unsized) return std::nullopt;
      all.work = at == 0 ? body.costs.work : add_work(all.work, body.costs.work);
      all.unsized = std::max(all.unsized, body.unsized);
      all.last = std::move(body.outputs);
    }
    return all;
  }

  static void set_content(Value& value, DataPtr data) {
    const bool fits = data != nullptr && value.fully_known() &&
                      product(value.dims) == static_cast<std::int64_t>(data->size());
    value.forget_content();
    if (fits) value.data = std::move(data);
  }

  /// A list grows or shrinks by the same in every round. `same`: each puts the same tensor into it.
  static void after_rounds(Value& list, const Value& after_one, std::int64_t rounds, bool same) {
    if (list.type != kVariant || after_one.handle == nullptr || rounds == 0) return;
    if (list.handle == after_one.handle && list.length != kUnknownDim &&
        after_one.length != kUnknownDim) {
      const std::int64_t change = after_one.length - list.length;
      const std::int64_t changes = product({rounds, std::abs(change)});
      if (change == 1 && same) list.repeats += std::max<std::int64_t>(0, changes - 1);
      if (change < 0) list.repeats = std::max<std::int64_t>(0, list.repeats - changes);
      if (changes == kUnknownDim || changes > kMaxDim) {
        list.length = kUnknownDim;
      } else {
        list.length = ops::valid_dim(
            change >= 0 ? list.length + changes : std::max<std::int64_t>(0, list.length - changes));
      }
    } else {
      list.length = after_one.length;
      list.repeats = after_one.repeats;
    }
    list.handle = after_one.handle;
    list.other = after_one.other;
  }

  void larger_branch(NodeId id, Node& node, const std::vector<Attributes::Function>& branches,
                     const std::vector<Value>& inputs) {
    BodyResult largest{};
    double room = 0;  // for any of them
    for (std::size_t i = 0; i < branches.size(); ++i) {
      BodyResult result = run_body(node, branches[i], inputs);
      const std::int64_t lacking = inferred_.unsized[id];
      hold(id, result);
      // One of them runs, and another may be for other sizes.
      inferred_.unsized[id] = i == 0 ? result.unsized : std::min(lacking, result.unsized);
      room = std::max(room, result.costs.work.workspace_bytes);
      if (i == 0 || weight(result.costs.work) > weight(largest.costs.work)) {
        largest = std::move(result);
      }
    }
    for (std::size_t i = 0; i < largest.outputs.size() && i < node.outputs.size(); ++i) {
      Value& output = node.outputs[i];
      merge_shape(output, largest.outputs[i]);
      if (output.handle == nullptr) {
        output.handle = largest.outputs[i].handle;
        output.other = largest.outputs[i].other;
      }
      output.length = largest.outputs[i].length;
      output.repeats = largest.outputs[i].repeats;
    }
    inferred_.works[id] = largest.costs.work;
    inferred_.works[id].workspace_bytes = room;
  }

  /// What a body holds resides whether it runs or not.
  void hold(NodeId id, const BodyResult& body) {
    if (body.unsized > 0) inferred_.unsized[id] += body.unsized;
    if (body.costs.param_bytes >= kWeightBytes) inferred_.residents[id] += body.costs.param_bytes;
    inferred_.body_types[id].insert(body.costs.types.begin(), body.costs.types.end());
  }

  Program body_of(const Node& node, const Attributes::Function& name) {
    const FunctionDef* function = context_.library.graph.function(name.name);
    if (function == nullptr) {
      throw Error(ErrorCode::invalid_graph,
                  cat(context_.library.source.file, ": node '", readable(node.name),
                      "' runs function '", readable(name.name),
                      "', which is not in the library; export the graph with its functions"));
    }
    const Call& call = program_.calls[static_cast<std::size_t>(node.call)];
    return make_body(context_.library, *function, name.attrs, call.attributes.get());
  }

  /// Branches in the conditions of loops.
  BranchOf branches() {
    return [&](const Program& program, const Node& node, bool condition) -> std::optional<Program> {
      const Attributes::Function name =
          node.attributes.function(condition ? "then_branch" : "else_branch");
      const FunctionDef* const function = context_.library.graph.function(name.name);
      std::vector<Value> inputs = inputs_of(program, node);
      if (function == nullptr || inputs.empty()) return std::nullopt;
      inputs.erase(inputs.begin());
      const Call& call = program.calls[static_cast<std::size_t>(node.call)];
      Program body = make_body(context_.library, *function, name.attrs, call.attributes.get());
      return run_body(name, std::move(body), inputs).program;
    };
  }

  BodyResult run_body(const Node& node, const Attributes::Function& name,
                      const std::vector<Value>& inputs) {
    return run_body(name, body_of(node, name), inputs);
  }

  /// `rounds`: of the loop whose body it is.
  BodyResult run_body(const Attributes::Function& name, Program body,
                      const std::vector<Value>& inputs, std::int64_t rounds = 1) {
    if (++context_.depth > kDeepestBodies) {
      throw Error(
          ErrorCode::invalid_graph,
          cat(context_.library.source.file, ": bodies nest deeper than ", kDeepestBodies,
              " at function '", readable(name.name), "'; a function that runs itself has no size"));
    }
    context_.rounds = rounds;
    const Inferred inferred = infer(context_, body, inputs);
    BodyResult result;
    result.unsized = inferred.all_unsized;
    for (const Source& source : body.results) {
      const std::vector<Value>& outputs = body.nodes[static_cast<std::size_t>(source.node)].outputs;
      const auto port = static_cast<std::size_t>(source.port);
      result.outputs.push_back(port < outputs.size() ? outputs[port] : Value());
    }
    try {
      result.costs = body_costs(body, inferred, context_.fold);
    } catch (const Error& refusal) {  // of the graph's builder, which knows no file
      throw Error(refusal.code(), cat(context_.library.source.file, ": function '",
                                      readable(name.name), "': ", refusal.what()));
    }
    result.program = std::move(body);
    --context_.depth;
    return result;
  }

  InferenceContext& context_;
  Program& program_;
  Inferred& inferred_;
  const std::int64_t rounds_;       // of the loop whose body this is, as counted before
  std::set<NodeId> routings_;       // counted
  std::vector<NodeId> conditions_;  // LoopCond by frame
  std::vector<std::int32_t> used_ports_;
  std::vector<const Value*> inputs_;
  std::map<NodeId, std::shared_ptr<Handle>> captured_;
  std::map<NodeId, Dims> grown_;  // of Merge and Exit, where a loop's rounds change a shape
};

}  // namespace

bool lacks_size(const Value& value) {
  return value.type != kResource && value.type != kVariant &&
         (!value.ranked || product(value.dims) == kUnknownDim);
}

Inferred infer(InferenceContext& context, Program& program, const std::vector<Value>& arguments) {
  Inferred inferred;
  Inference(context, program, inferred).run(arguments);
  return inferred;
}

}  // namespace berth::tf_frontend
