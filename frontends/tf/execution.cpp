#include "tf/execution.h"

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "berth/error.h"
#include "support/text.h"
#include "tf/bodies.h"
#include "tf/colocation.h"
#include "tf/graph_maker.h"
#include "tf/handles.h"
#include "tf/initial_values.h"
#include "tf/tensor_content.h"

namespace berth::tf_frontend {

using frontend::readable;

namespace {

bool is_placeholder(std::string_view op) {
  return op == "Placeholder" || op == "PlaceholderV2" || op == kArgumentOp;
}

class Maker {
 public:
  explicit Maker(const ExecutionSource& source)
      : source_(source),
        weights_(find_weights(source.program)),
        map_(map_ops(source.program, source.loops, weights_)),
        bodies_(source.library, source.file, source.graph->tensor_count()) {}

  std::shared_ptr<const berth::Program> run() {
    made_->graph = source_.graph;
    made_->instructions.resize(static_cast<std::size_t>(source_.graph->op_count()));
    made_->parameters.resize(static_cast<std::size_t>(source_.graph->tensor_count()));
    for (NodeId id = 0; id < static_cast<NodeId>(source_.program.nodes.size()); ++id) {
      if (op_of(id) == kNoOp) continue;
      if (source_.loops.outermost(id) == kNoFrame) {
        add_instruction(id);
      } else {
        add_loop(id);
      }
    }
    add_initial_values();
    add_outputs();
    return std::move(made_);
  }

 private:
  [[nodiscard]] const Node& node(NodeId id) const {
    return source_.program.nodes[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] OpId op_of(NodeId id) const { return map_.op_of[static_cast<std::size_t>(id)]; }

  /// The op's name, type and tensors, as the graph has them.
  Instruction& begin(OpId op) {
    const Graph& graph = *source_.graph;
    Instruction& instruction = made_->instructions[static_cast<std::size_t>(op)];
    instruction.name = graph.op_name(op);
    instruction.type = graph.op_type(op);
    const auto inputs = graph.inputs(op), outputs = graph.outputs(op);
    instruction.inputs.assign(inputs.begin(), inputs.end());
    instruction.outputs.assign(outputs.begin(), outputs.end());
    return instruction;
  }

  /// The first of a loop's nodes stands for it.
  void add_loop(NodeId id) {
    const FrameId frame = source_.loops.outermost(id);
    if (!loops_.insert(frame).second) return;
    Instruction& instruction = begin(op_of(id));
    const LoopBorder border = border_of(
        source_.program, [&](NodeId node) { return source_.loops.outermost(node) == frame; },
        [&](NodeId node) { return op_of(node) != kNoOp; });
    const bool whole = border.inputs.size() == instruction.inputs.size() &&
                       border.outputs.size() <= instruction.outputs.size();
    try {
      for (std::size_t i = 0; i < border.inputs.size() && whole; ++i) {
        add_weight(border.inputs[i].node, instruction.inputs[i]);
      }
      if (!whole) throw Error(ErrorCode::unsupported, "what enters and leaves it is not clear");
      bodies_.add_loop(instruction, source_.program, source_.loops, frame, border);
    } catch (const Error& refusal) {
      if (refusal.code() != ErrorCode::unsupported) throw;
      instruction.obstacle = refusal.what();
    }
    for (std::size_t i = 0; i < border.outputs.size() && whole; ++i) {
      tensor_of_output_[{border.outputs[i].node, border.outputs[i].port}] = instruction.outputs[i];
    }
  }

  void add_instruction(NodeId id) {
    const Node& from = node(id);
    Instruction& instruction = begin(op_of(id));
    try {
      add_attributes(instruction, from, source_.library.source, source_.file);
      for (std::size_t i = 0; i < instruction.inputs.size(); ++i) {
        add_weight(from.inputs[i].node, instruction.inputs[i]);
      }
      if (runs_bodies(from.op)) bodies_.add_functions(instruction, source_.program, from);
    } catch (const Error& refusal) {
      if (refusal.code() != ErrorCode::unsupported) throw;
      instruction.obstacle = refusal.what();
    }
    if (is_placeholder(from.op)) {
      made_->inputs.push_back(op_of(id));
      made_->input_names.push_back(readable(from.name));
    }
  }

  void add_weight(NodeId from, ValueId tensor) {
    if (!weights_[static_cast<std::size_t>(from)]) return;
    tensor_of_weight_[from] = tensor;
    auto& content = made_->parameters[static_cast<std::size_t>(tensor)];
    if (content) return;
    const Node& constant = node(from);
    const Attr value = constant.attributes.find("value");
    if (value.kind == Attr::Kind::tensor) content = read(value, constant);
  }

  [[nodiscard]] TensorContent read(const Attr& attr, const Node& owner) const {
    return read_content(attr.bytes, source_.library.source, owner.name, source_.file);
  }

  void add_initial_values() {
    std::vector<std::string_view> wanted;
    for (const Node& from : source_.program.nodes) {
      if (is_variable(from.op) && !source_.saved.of.contains(from.name))
        wanted.push_back(from.name);
    }
    const auto values = find_initial_values(source_.library, wanted, source_.file);
    for (NodeId id = 0; id < static_cast<NodeId>(source_.program.nodes.size()); ++id) {
      if (!is_variable(node(id).op) || op_of(id) == kNoOp) continue;
      auto& attributes = made_->instructions[static_cast<std::size_t>(op_of(id))].attributes;
      if (const auto saved = source_.saved.of.find(node(id).name);
          saved != source_.saved.of.end()) {
        attributes.emplace_back("initial_value", saved->second);
      } else if (const auto value = values.find(node(id).name); value != values.end()) {
        attributes.push_back(value->second);
      }
    }
  }

  void add_outputs() {
    const Program& program = source_.program;
    for (std::size_t i = 0; i < program.results.size(); ++i) {
      const Source& result = program.results[i];
      if (result.port == kEveryPort && node(result.node).outputs.empty()) {
        add_changed_variables(result.node);
      } else if (result.port == kEveryPort) {
        for (std::size_t port = 0; port < node(result.node).outputs.size(); ++port) {
          add_output(result.node, port, cat(program.result_names[i], ":", port));
        }
      } else {
        add_output(result.node, static_cast<std::size_t>(result.port), program.result_names[i]);
      }
    }
  }

  void add_output(NodeId id, std::size_t port, std::string name) {
    TensorId tensor = kNoTensor;
    if (const OpId op = op_of(id); op != kNoOp) {
      const auto outputs = source_.graph->outputs(op);
      if (source_.loops.outermost(id) != kNoFrame) {
        const auto left = tensor_of_output_.find({id, static_cast<std::int32_t>(port)});
        if (left != tensor_of_output_.end()) tensor = left->second;
      } else if (port < outputs.size()) {
        tensor = outputs[port];
      }
    } else if (const auto weight = tensor_of_weight_.find(id); weight != tensor_of_weight_.end()) {
      tensor = weight->second;
    }
    // A weight that only a loop reads has no tensor.
    if (tensor == kNoTensor) return;
    made_->outputs.push_back(tensor);
    made_->output_names.push_back(std::move(name));
  }

  /// The variables that what `root` needs has changed, in the order of the file.
  void add_changed_variables(NodeId root) {
    std::vector<bool> needed(source_.program.nodes.size(), false);
    for (std::vector<NodeId> stack{root}; !stack.empty();) {
      const NodeId id = stack.back();
      stack.pop_back();
      if (needed[static_cast<std::size_t>(id)]) continue;
      needed[static_cast<std::size_t>(id)] = true;
      for (const Source& input : node(id).inputs) stack.push_back(input.node);
      stack.insert(stack.end(), node(id).controls.begin(), node(id).controls.end());
    }
    for (NodeId id = 0; id < static_cast<NodeId>(needed.size()); ++id) {
      const std::string_view op = node(id).op;
      if (needed[static_cast<std::size_t>(id)] && gives_reference(op) && !is_variable(op)) {
        add_output(id, 0, cat(readable(node(id).name), ":0"));
      }
    }
  }

  const ExecutionSource& source_;
  std::vector<bool> weights_;
  GraphMap map_;
  BodyMaker bodies_;
  std::set<FrameId> loops_;  ///< that have their instruction
  std::unordered_map<NodeId, TensorId> tensor_of_weight_;
  std::map<std::pair<NodeId, std::int32_t>, TensorId> tensor_of_output_;  ///< of loops
  std::shared_ptr<berth::Program> made_ = std::make_shared<berth::Program>();
};

}  // namespace

std::shared_ptr<const berth::Program> make_execution(const ExecutionSource& source) {
  return Maker(source).run();
}

}  // namespace berth::tf_frontend
