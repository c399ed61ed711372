#include "tf/graph_maker.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "berth/costs.h"
#include "berth/error.h"
#include "berth/sdk/ops/constants.h"
#include "berth/support/disjoint_sets.h"
#include "support/text.h"
#include "tf/colocation.h"
#include "tf/handles.h"
#include "tf/old_branches.h"

namespace berth::tf_frontend {

using frontend::readable;

bool runs_bodies(std::string_view op_type) {
  return op_type == "While" || op_type == "StatelessWhile" || op_type == "If" ||
         op_type == "StatelessIf" || op_type == "Case" || op_type == "StatelessCase";
}

Work add_work(const Work& a, const Work& b) {
  // The part with more to compute (or to move) says what kind of work it is.
  Work sum = a.flops > b.flops || (a.flops == b.flops && a.bytes >= b.bytes) ? a : b;
  sum.flops = a.flops + b.flops;
  sum.bytes = a.bytes + b.bytes;
  sum.launches = a.launches + b.launches;
  sum.workspace_bytes = std::max(a.workspace_bytes, b.workspace_bytes);
  // Sizes of one product say nothing of several.
  if (a.flops > 0 && b.flops > 0) sum.products = {};
  return sum;
}

Work scale_work(Work work, double times) {
  constexpr double kMost = 1e30;       // far above any step, and still finite when summed
  if (times != 1) work.products = {};  // they would be those of one round
  work.flops = std::min(work.flops * times, kMost);
  work.bytes = std::min(work.bytes * times, kMost);
  work.launches = std::min(work.launches * times, kMost);
  return work;
}

double weight(const Work& work) {
  return std::max(work.flops, work.bytes);
}

namespace {

constexpr Work kNoWork{0, 0, OpClass::none, DType::f32, 0};
constexpr const char* kBodyTypes = "body_types";

/// Attributes that rules of costs may ask for: small values, none of TensorFlow's own bookkeeping.
void add_attributes(GraphBuilder& builder, OpId op, const Node& node) {
  constexpr std::size_t kLongestText = 256, kLongestList = 64;
  for (const AttrEntry& entry : node.attributes.entries()) {
    if (entry.key.empty() || entry.key.front() == '_') continue;
    const Attr attr = node.attributes.find(entry.key);
    const std::string name = readable(entry.key);
    switch (attr.kind) {
      case Attr::Kind::integer:
      case Attr::Kind::boolean:
        builder.set_attribute(op, name, attr.integer);
        break;
      case Attr::Kind::real:
        builder.set_attribute(op, name, attr.real);
        break;
      case Attr::Kind::text:
        if (attr.bytes.size() <= kLongestText) {
          builder.set_attribute(op, name, readable(attr.bytes));
        }
        break;
      case Attr::Kind::list: {
        std::vector<std::int64_t> numbers = node.attributes.integers(entry.key);
        if (!numbers.empty() && numbers.size() <= kLongestList) {
          builder.set_attribute(op, name, std::move(numbers));
        }
        break;
      }
      default:
        break;
    }
  }
}

std::int64_t bytes_of(const TensorInfo& info) {
  if (info.bytes != kUnknownBytes) return info.bytes;
  const int bits = dtype_bits(info.dtype);
  if (!info.has_shape || bits == 0) return kUnknownBytes;
  const std::int64_t count = element_count(info.shape);
  return count == kUnknownDim || count > kMaxDim ? kUnknownBytes : (count * bits + 7) / 8;
}

/// Whether a value stands for numbers that are kept elsewhere. A list is what it holds.
bool refers_to_content(const Value& value) {
  return value.handle != nullptr && value.type != kVariant &&
         dtype_bits(dtype_of(value.handle->type)) > 0;
}

/// Bytes that a variable keeps on its device: kUnknownBytes where its shape is not known, 0 for an op
/// that is none.
std::int64_t resident_bytes(const Node& node) {
  if (node.outputs.empty()) return 0;
  Value value = node.outputs[0];
  if (node.op == kVariableOp) {
    if (value.handle == nullptr) return kUnknownBytes;
    const std::shared_ptr<Handle> handle = value.handle;
    value = Value();
    value.type = handle->type;
    value.ranked = handle->ranked;
    value.dims = handle->dims;
  } else if (node.op != "VariableV2" && node.op != "Variable" && node.op != "TemporaryVariable") {
    return 0;
  }
  return bytes_of(tensor_info(value));
}

class GraphMaker {
 public:
  /// `idle`, by node: it does nothing, whatever its type; empty = none of them.
  GraphMaker(const Program& program, const Inferred& inferred, std::string name,
             const std::vector<bool>& idle)
      : program_(program),
        inferred_(inferred),
        idle_(idle),
        builder_(std::move(name), "tf"),
        is_weight_(find_weights(program)) {}

  /// Every node an op of its own, with what it reads from outside as parameters; ends of loops are
  /// cut. Only nodes that are in a loop.
  std::shared_ptr<const Graph> loop_bodies() {
    in_bodies_ = true;
    map_.op_of.assign(program_.nodes.size(), kNoOp);
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      if (inferred_.loops.frame_of[i] == kNoFrame) continue;
      map_.op_of[i] = builder_.add_op(cat("node ", i), readable(program_.nodes[i].op));
    }
    add_tensors();
    add_edges();
    return builder_.build();
  }

  GraphBuilder run(const std::vector<Work>& loop_works) {
    map_ = map_ops(program_, inferred_.loops, is_weight_);
    classes_ = colocation_classes(program_);
    for (std::size_t i = 0; i < map_.op_names.size(); ++i) {
      const Node& first = first_node(static_cast<OpId>(i));
      const bool loop = frame_of(first) != kNoFrame;
      const OpId op = builder_.add_op(map_.op_names[i], loop ? "While" : readable(first.op));
      if (loop) builder_.set_requested_device(op, readable(first.device));
    }
    for (std::size_t frame = 0; frame < loop_works.size(); ++frame) {
      const OpId op = op_of_frame(static_cast<FrameId>(frame));
      if (op != kNoOp) builder_.set_work(op, loop_works[frame]);
    }
    name_loop_nodes();
    name_body_types();
    add_tensors();
    add_edges();
    add_results();
    add_classes();
    return std::move(builder_);
  }

  [[nodiscard]] GraphMap& map() { return map_; }

 private:
  void name_loop_nodes() {
    std::map<OpId, std::vector<std::string>> names;
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const Node& node = program_.nodes[i];
      if (frame_of(node) != kNoFrame) names[map_.op_of[i]].push_back(readable(node.name));
    }
    for (auto& [op, list] : names) {
      builder_.set_attribute(op, std::string(kLoopNodes), std::move(list));
    }
  }

  /// Names what is in loops and in bodies that are functions.
  void name_body_types() {
    std::map<OpId, std::set<std::string>> types;
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const OpId op = map_.op_of[i];
      if (op == kNoOp) continue;
      const Node& node = program_.nodes[i];
      if (frame_of(node) != kNoFrame && !runs_bodies(node.op)) types[op].insert(readable(node.op));
      const auto within = inferred_.body_types.find(static_cast<NodeId>(i));
      if (within != inferred_.body_types.end()) {
        types[op].insert(within->second.begin(), within->second.end());
      }
    }
    for (const auto& [op, set] : types) {
      std::string text;
      for (const std::string& type : set) text += cat(text.empty() ? "" : ",", type);
      builder_.set_attribute(op, kBodyTypes, std::move(text));
    }
  }

  [[nodiscard]] FrameId frame_of(const Node& node) const {
    return inferred_.loops.outermost(id_of(node));
  }
  [[nodiscard]] NodeId id_of(const Node& node) const {
    return static_cast<NodeId>(&node - program_.nodes.data());
  }

  const Node& first_node(OpId op) {
    if (first_of_.empty()) {
      first_of_.assign(map_.op_names.size(), kNoNode);
      for (std::size_t i = program_.nodes.size(); i > 0; --i) {
        const OpId of = map_.op_of[i - 1];
        if (of != kNoOp) first_of_[static_cast<std::size_t>(of)] = static_cast<NodeId>(i - 1);
      }
    }
    return program_.nodes[static_cast<std::size_t>(first_of_[static_cast<std::size_t>(op)])];
  }

  OpId op_of_frame(FrameId frame) {
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      if (inferred_.loops.outermost(static_cast<NodeId>(i)) == frame) return map_.op_of[i];
    }
    return kNoOp;
  }

  /// In the whole graph a loop is one op: what only its own nodes read is inside it.
  [[nodiscard]] bool inside_one_loop(NodeId a, NodeId b) const {
    const FrameId frame = inferred_.loops.outermost(a);
    return !in_bodies_ && frame != kNoFrame && frame == inferred_.loops.outermost(b);
  }

  void add_tensors() {
    begin_.assign(program_.nodes.size() + 1, 0);
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      begin_[i + 1] = begin_[i] + program_.nodes[i].outputs.size();
    }
    tensors_.assign(begin_.back(), kNoTensor);
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const Node& node = program_.nodes[i];
      const OpId op = map_.op_of[i];
      if (op == kNoOp) continue;
      const bool in_loop = !in_bodies_ && frame_of(node) != kNoFrame;
      if (in_loop) continue;  // outputs of a loop follow from who reads them
      for (std::size_t port = 0; port < node.outputs.size(); ++port) {
        tensors_[begin_[i] + port] = add_output(op, node, tensor_info(node.outputs[port]));
      }
      describe(op, static_cast<NodeId>(i));
    }
  }

  /// The graph keeps no name of a tensor; a refusal says which node gives it.
  TensorId add_output(OpId op, const Node& node, const TensorInfo& info) {
    try {
      return builder_.add_output(op, info);
    } catch (const Error& refusal) {
      throw Error(refusal.code(), cat("op '", readable(node.name), "': ", refusal.what()));
    }
  }

  void describe(OpId op, NodeId id) {
    const Node& node = program_.nodes[static_cast<std::size_t>(id)];
    add_attributes(builder_, op, node);
    if (!node.outputs.empty() && node.outputs[0].content_size() == 1) {
      if (const auto number = node.outputs[0].number(0)) {
        builder_.set_attribute(op, std::string(ops::kKnownNumber), *number);
      }
    }
    if (!idle_.empty() && idle_[static_cast<std::size_t>(id)]) {
      builder_.set_work(op, kNoWork);
    } else if (const auto work = inferred_.works.find(id); work != inferred_.works.end()) {
      builder_.set_work(op, work->second);
    } else if (runs_bodies(node.op)) {
      builder_.set_work(op, kNoWork);
    }
    if (in_bodies_) return;
    if (inferred_.fixes_sizes && ops::reads_sizes_alone("tf", node.op)) {
      builder_.set_attribute(op, std::string(ops::kFixedSizesAttribute), std::int64_t{1});
    }
    if (const std::int64_t bytes = resident_bytes(node); bytes > 0 && is_first(node)) {
      builder_.set_param_bytes(op, bytes);
    } else if (const auto held = inferred_.residents.find(id); held != inferred_.residents.end()) {
      builder_.set_param_bytes(op, held->second);
    }
    if (!node.device.empty()) builder_.set_requested_device(op, readable(node.device));
  }

  /// The first of the ops that stand for one variable counts its bytes.
  bool is_first(const Node& variable) {
    const std::string name = shared_name(variable);
    return name.empty() || variables_.insert(name).second;
  }

  /// The tensor behind `source` as `consumer` reads it.
  TensorId tensor(const Source& source, NodeId consumer) {
    const auto from = static_cast<std::size_t>(source.node);
    const Node& node = program_.nodes[from];
    TensorId& tensor = tensors_[begin_[from] + static_cast<std::size_t>(source.port)];
    if (tensor != kNoTensor) return tensor;
    const TensorInfo info = tensor_info(node.outputs[static_cast<std::size_t>(source.port)]);
    const OpId op = map_.op_of[from];
    if (op == kNoOp) {
      tensor = builder_.add_parameter(info, readable(node.name));
    } else if (!inside_one_loop(source.node, consumer)) {
      tensor = add_output(op, node, info);
    }
    return tensor;
  }

  void add_edges() {
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const OpId op = map_.op_of[i];
      if (op == kNoOp) continue;
      const Node& node = program_.nodes[i];
      const auto id = static_cast<NodeId>(i);
      for (const Source& input : node.inputs) {
        const Node& from = program_.nodes[static_cast<std::size_t>(input.node)];
        if (is_merge(node.op) && is_next_iteration(from.op)) continue;
        if (inside_one_loop(input.node, id)) continue;
        builder_.add_input(op, tensor(input, id));
      }
      for (const NodeId control : node.controls) {
        const OpId from = map_.op_of[static_cast<std::size_t>(control)];
        if (from != kNoOp && from != op && !in_bodies_) builder_.add_control_edge(from, op);
      }
    }
    if (!in_bodies_) free_references();
  }

  /// What is fetched; a training step returns nothing.
  void add_results() {
    for (const Source& result : program_.results) {
      const auto from = static_cast<std::size_t>(result.node);
      const std::size_t count = program_.nodes[from].outputs.size();
      for (std::size_t port = 0; port < count; ++port) {
        if (result.port != kEveryPort && port != static_cast<std::size_t>(result.port)) continue;
        const TensorId tensor = tensors_[begin_[from] + port];
        if (tensor != kNoTensor) builder_.add_result(tensor);
      }
    }
    if (!program_.results.empty()) builder_.name_results();
  }

  /// References are no copies: where all that read one stay with it, it occupies nothing.
  void free_references() {
    std::vector<bool> copied(program_.nodes.size(), false);
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      for (const Source& input : program_.nodes[i].inputs) {
        const auto from = static_cast<std::size_t>(input.node);
        if (classes_[i] != classes_[from]) copied[from] = true;
      }
    }
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const Node& node = program_.nodes[i];
      const bool reference = !copied[i] && gives_reference(node.op);
      const bool maker = makes_content(node.op);
      for (std::size_t port = 0; port < node.outputs.size(); ++port) {
        const TensorId tensor = tensors_[begin_[i] + port];
        const bool handle = !maker && refers_to_content(node.outputs[port]);
        if (tensor == kNoTensor || !(reference || handle)) continue;
        TensorInfo info = tensor_info(node.outputs[port]);
        info.bytes = 0;
        builder_.set_tensor(tensor, info);
      }
    }
  }

  /// Classes of nodes, as classes of ops: a loop joins those of all its nodes. The first op of a
  /// class names it.
  void add_classes() {
    DisjointSets sets(map_.op_names.size());
    std::unordered_map<NodeId, OpId> first;
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const OpId op = map_.op_of[i];
      if (op != kNoOp) sets.merge_to_smallest(op, first.try_emplace(classes_[i], op).first->second);
    }
    const std::vector<OpId> names = sets.names();
    std::vector<int> size(names.size(), 0);
    for (const OpId name : names) ++size[at(name)];
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::size_t name = at(names[i]);
      if (size[name] > 1) builder_.set_colocation(static_cast<OpId>(i), map_.op_names[name]);
    }
  }

  const Program& program_;
  const Inferred& inferred_;
  const std::vector<bool>& idle_;
  GraphBuilder builder_;
  std::vector<bool> is_weight_;
  bool in_bodies_ = false;
  GraphMap map_;
  std::vector<NodeId> classes_;
  std::vector<NodeId> first_of_;
  std::vector<std::size_t> begin_;
  std::vector<TensorId> tensors_;
  std::unordered_set<std::string> variables_;  // names that count already
};

/// How often each loop runs, within those around it.
std::vector<double> rounds_of(const Loops& loops) {
  std::vector<double> rounds(loops.frames.size(), 1);
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const Frame& frame = loops.frames[i];
    rounds[i] = static_cast<double>(frame.trips);
    if (frame.parent != kNoFrame) rounds[i] *= rounds[static_cast<std::size_t>(frame.parent)];
  }
  return rounds;
}

/// Work of each outermost loop, rounds of the loops in it multiplied.
std::vector<Work> loop_works(const Program& program, const Inferred& inferred,
                             const std::vector<bool>& idle) {
  const Loops& loops = inferred.loops;
  std::vector<Work> works(loops.frames.size(), kNoWork);
  if (works.empty()) return works;
  const std::vector<double> rounds = rounds_of(loops);
  GraphMaker maker(program, inferred, "loops", idle);
  const std::shared_ptr<const Graph> graph = maker.loop_bodies();
  std::vector<FrameId> frame_of(static_cast<std::size_t>(graph->op_count()), kNoFrame);
  std::vector<std::vector<OpId>> ops_of(loops.frames.size());
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    const OpId op = maker.map().op_of[i];
    if (op == kNoOp) continue;
    const auto frame = static_cast<std::size_t>(loops.frame_of[i]);
    Work& sum = works[static_cast<std::size_t>(loops.frames[frame].outermost)];
    sum = add_work(sum, scale_work(op_work(*graph, op), rounds[frame]));
    frame_of[static_cast<std::size_t>(op)] = loops.frames[frame].outermost;
  }
  for (const OpId op : graph->topological_order()) {
    const FrameId frame = frame_of[static_cast<std::size_t>(op)];
    if (frame != kNoFrame) ops_of[static_cast<std::size_t>(frame)].push_back(op);
  }
  for (std::size_t frame = 0; frame < works.size(); ++frame) {
    works[frame].workspace_bytes = work_in_turn(*graph, ops_of[frame]).workspace_bytes;
  }
  return works;
}

/// Whether another branch than its own counts, by node. Empty where there are no branches.
std::vector<bool> idle_nodes(const Program& program, const Inferred& inferred) {
  if (!has_old_branches(program)) return {};
  const std::vector<bool> none;
  const std::vector<double> rounds = rounds_of(inferred.loops);
  GraphMaker maker(program, inferred, "all branches", none);
  const std::shared_ptr<const Graph> graph = maker.run({}).build();
  GraphMaker loops_maker(program, inferred, "loops", none);
  const std::shared_ptr<const Graph> loops = loops_maker.loop_bodies();
  return find_smaller_branches(program, inferred.loops, [&](NodeId node) {
    const auto i = static_cast<std::size_t>(node);
    const FrameId frame = inferred.loops.frame_of[i];
    if (frame == kNoFrame) {
      const OpId op = maker.map().op_of[i];
      return op == kNoOp ? kNoWork : op_work(*graph, op);
    }
    const OpId op = loops_maker.map().op_of[i];
    return op == kNoOp ? kNoWork
                       : scale_work(op_work(*loops, op), rounds[static_cast<std::size_t>(frame)]);
  });
}

}  // namespace

std::vector<std::string> variables_without_size(const Program& program) {
  std::vector<std::string> names;
  for (const Node& node : program.nodes) {
    if (resident_bytes(node) == kUnknownBytes) names.push_back(readable(node.name));
  }
  return names;
}

std::vector<bool> find_weights(const Program& program) {
  std::vector<bool> read(program.nodes.size(), false);
  for (const Node& node : program.nodes) {
    for (const Source& input : node.inputs) read[static_cast<std::size_t>(input.node)] = true;
  }
  std::vector<bool> weights(program.nodes.size(), false);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Node& node = program.nodes[i];
    const bool is_constant = node.op == "Const" && !node.outputs.empty() &&
                             bytes_of(tensor_info(node.outputs[0])) >= kWeightBytes;
    weights[i] = read[i] && (is_constant || node.parameter);
  }
  return weights;
}

GraphMap map_ops(const Program& program, const Loops& loops, const std::vector<bool>& is_weight) {
  GraphMap map;
  map.op_of.assign(program.nodes.size(), kNoOp);
  map.op_names.reserve(program.nodes.size());
  std::unordered_set<std::string> taken;
  taken.reserve(program.nodes.size());
  const auto add = [&](std::string name) {
    std::string unique = name;
    for (int i = 1; !taken.insert(unique).second; ++i) unique = cat(name, "_", i);
    map.op_names.push_back(std::move(unique));
    return static_cast<OpId>(map.op_names.size() - 1);
  };
  std::vector<OpId> op_of_frame(loops.frames.size(), kNoOp);
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    const FrameId frame = loops.outermost(static_cast<NodeId>(i));
    if (frame != kNoFrame) {
      OpId& op = op_of_frame[static_cast<std::size_t>(frame)];
      if (op == kNoOp) op = add(loops.frames[static_cast<std::size_t>(frame)].name);
      map.op_of[i] = op;
    } else if (!is_weight[i]) {
      map.op_of[i] = add(readable(program.nodes[i].name));
    }
  }
  return map;
}

BodyCosts body_costs(const Program& program, const Inferred& inferred, bool fold) {
  std::shared_ptr<const Graph> graph = describe_graph(program, inferred, "body").build();
  if (fold) graph = ops::fold_constants(std::move(graph));
  BodyCosts costs{work_in_turn(*graph, graph->topological_order()), graph->total_param_bytes(), {}};
  for (OpId op = 0; op < graph->op_count(); ++op) {
    if (graph->is_constant(op)) continue;
    const AttributeValue* const within = graph->attribute(op, kBodyTypes);
    costs.types.insert(within == nullptr ? graph->op_type(op) : std::get<std::string>(*within));
  }
  return costs;
}

GraphBuilder describe_graph(const Program& program, const Inferred& inferred,
                            const std::string& name) {
  const std::vector<bool> idle = idle_nodes(program, inferred);
  return GraphMaker(program, inferred, name, idle).run(loop_works(program, inferred, idle));
}

}  // namespace berth::tf_frontend
