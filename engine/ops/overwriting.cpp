#include "berth/sdk/ops/overwriting.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_map>

#include "berth/sdk/ops/views.h"
#include "berth/support/index.h"
#include "ops/tables.h"

namespace berth::ops {
namespace {

struct Overwriting {
  std::size_t inputs;  ///< the op may write over any of as many of its first ones
  bool on_hosts_alone;
};

struct OverwritingTypes {
  Overwriting overwriting;
  std::string_view ops;  ///< separated by blanks
};

// ONNX Runtime: kernels that are registered with MayInplace(0, 0). For CUDA activations alone are, but none of GELU.
// Kernels for processors were measured in 1.32: those of sums, products, roots and signs do not.
constexpr OverwritingTypes kOnnxTypes[] = {
    {{1, false},
     "Elu HardSigmoid LeakyRelu Relu Selu Sigmoid Softplus Softsign Tanh ThresholdedRelu"},
    {{1, true}, "Celu Clip LogSoftmax Softmax"},
};

// TensorFlow: kernels that take an input's buffer where nobody else has it (forward_input_or_allocate_output), on all
// devices.
constexpr OverwritingTypes kTfTypes[] = {
    {{1, false},
     "Abs BiasAdd BiasAddV1 Ceil Cos Elu Erf Exp Expm1 Floor LeakyRelu Log Log1p LogSoftmax Neg "
     "Reciprocal Relu Relu6 Rint Round Rsqrt Selu Sigmoid Sin Softmax Softplus Softsign Sqrt "
     "Square Tanh"},
    {{2, false}, "Add AddN AddV2 Div Maximum Minimum Mul RealDiv SquaredDifference Sub"},
};

using OverwritingTable = std::unordered_map<std::string_view, Overwriting>;

OverwritingTable made_of(std::span<const OverwritingTypes> rows) {
  OverwritingTable table;
  for (const OverwritingTypes& row : rows) {
    for_each_word(row.ops, [&](std::string_view type) { table.emplace(type, row.overwriting); });
  }
  return table;
}

/// Null for a dialect without any.
const OverwritingTable* overwriting_of(std::string_view dialect) {
  static const OverwritingTable onnx = made_of(kOnnxTypes), tf = made_of(kTfTypes);
  return dialect == "onnx" ? &onnx : dialect == "tf" ? &tf : nullptr;
}

class OverwritingFinder {
 public:
  explicit OverwritingFinder(const Graph& graph)
      : graph_(graph), reads_(at(graph.tensor_count())), is_state_(reads_.size()) {
    for (OpId op = 0; op < graph.op_count(); ++op) {
      for (const TensorId tensor : graph.inputs(op)) {
        if (tensor != kNoTensor) ++reads_[at(tensor)];
      }
    }
    for (const Graph::State& state : graph.states()) is_state_[at(state.result)] = true;
  }

  /// kNoTensor: the op writes over none of its first `count` inputs.
  [[nodiscard]] TensorId find(OpId op, std::size_t count) const {
    if (graph_.is_constant(op) || graph_.is_input(op) || is_view(graph_, op)) return kNoTensor;
    const auto outputs = graph_.outputs(op);
    if (outputs.size() != 1 || graph_.is_result(outputs[0])) return kNoTensor;
    if (graph_.reused_bytes(op) != 0 || graph_.bytes(outputs[0]) == 0) return kNoTensor;
    for (const TensorId tensor : graph_.inputs(op)) {
      if (count-- == 0) break;
      const bool alike = tensor != kNoTensor && graph_.dtype(tensor) == graph_.dtype(outputs[0]) &&
                         graph_.bytes(tensor) == graph_.bytes(outputs[0]);
      if (alike && is_alone(tensor)) return tensor;
    }
    return kNoTensor;
  }

 private:
  /// Whether the tensor lies in memory that its only reader alone needs from then on.
  [[nodiscard]] bool is_alone(TensorId tensor) const {
    for (;;) {
      const OpId maker = graph_.producer(tensor);
      if (maker == kNoOp || graph_.is_input(maker) || graph_.is_result(tensor)) return false;
      if (reads_[at(tensor)] != 1 || is_state_[at(tensor)]) return false;
      if (!is_view(graph_, maker)) return makes_memory(maker);
      if (graph_.outputs(maker).size() != 1 || graph_.reused_bytes(maker) != 0) return false;
      const TensorId whole = viewed(maker, tensor);
      if (whole == kNoTensor) return false;
      tensor = whole;
    }
  }

  /// The tensor that the view's output lies in; kNoTensor if that is not sure.
  [[nodiscard]] TensorId viewed(OpId view, TensorId output) const {
    const auto inputs = graph_.inputs(view);
    const WorkRule* const rule = find_work(graph_.dialect(), graph_.op_type(view));
    if (inputs.empty() || inputs[0] == kNoTensor || rule == nullptr || rule->in_place) {
      return kNoTensor;
    }
    const auto holds = [&](TensorId tensor) {
      return tensor != kNoTensor && graph_.bytes(tensor) >= graph_.bytes(output);
    };
    const bool other = std::any_of(inputs.begin() + 1, inputs.end(), holds);
    return holds(inputs[0]) && !other ? inputs[0] : kNoTensor;
  }

  /// Whether what the op gives is its own: sources hand out what stays, and ops of control flow what they are given.
  [[nodiscard]] bool makes_memory(OpId op) const {
    const WorkRule* const rule = find_work(graph_.dialect(), graph_.op_type(op));
    return rule != nullptr && rule->estimate != work::nothing;
  }

  const Graph& graph_;
  std::vector<std::uint32_t> reads_;  ///< by tensor
  std::vector<bool> is_state_;        ///< by tensor
};

}  // namespace

std::vector<TensorId> overwritten_inputs(const Graph& graph, bool hosts_alone) {
  std::vector<TensorId> found(at(graph.op_count()), kNoTensor);
  const OverwritingTable* const table = overwriting_of(graph.dialect());
  if (table == nullptr) return found;
  const OverwritingFinder finder(graph);
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const auto row = table->find(graph.op_type(op));
    if (row == table->end() || (row->second.on_hosts_alone && !hosts_alone)) continue;
    found[at(op)] = finder.find(op, row->second.inputs);
  }
  return found;
}

}  // namespace berth::ops
