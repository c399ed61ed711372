#include "layers/recurrent_cells.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "berth/support/index.h"

namespace berth::layers {
namespace {

template <std::size_t n>
bool one_of(std::string_view type, const std::array<std::string_view, n>& types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

constexpr std::array<std::string_view, 9> kViews = {
    "Identity", "ReadVariableOp", "Cast",         "Transpose",       "Enter",
    "RefEnter", "RefIdentity",    "StopGradient", "DequantizeLinear"};
constexpr std::array<std::string_view, 6> kHolders = {
    "VariableV2", "Variable", "VarHandleOp", "AutoReloadVariable", "Const", "Constant"};

/// Views of a weight, one behind the other, that are followed before giving up.
constexpr int kMostViews = 16;

/// The parameter, variable or constant behind `tensor`.
TensorId weight_behind(const Graph& graph, TensorId tensor) {
  for (int views = 0; views < kMostViews && tensor != kNoTensor; ++views) {
    const OpId producer = graph.maker(tensor);
    if (producer == kNoOp) return tensor;
    const auto inputs = graph.inputs(producer);
    if (inputs.empty()) return one_of(graph.op_type(producer), kHolders) ? tensor : kNoTensor;
    if (!one_of(graph.op_type(producer), kViews)) return kNoTensor;
    tensor = inputs.front();
  }
  return kNoTensor;
}

class Search {
 public:
  Search(const Graph& graph, const std::vector<OpClass>& op_class, const std::vector<bool>& forward)
      : graph_(graph), class_(op_class), forward_(forward) {
    cells_.of.assign(at(graph.op_count()), kNoCell);
  }

  RecurrentCells run() {
    for (const OpId op : graph_.topological_order()) {
      if (!forward_[at(op)]) continue;
      if (splits_gates(op)) {
        cells_.of[at(op)] = static_cast<CellId>(cells_.gates.size());
        cells_.gates.push_back(op);
      } else if (passes_on(op)) {
        // The state of the step before comes in beside the gates of this one: the latest counts.
        for (const Edge& edge : graph_.in_edges(op)) {
          if (edge.tensor == kNoTensor) continue;
          cells_.of[at(op)] = std::max(cells_.of[at(op)], cells_.of[at(edge.src)]);
        }
      }
    }
    for (CellId cell = 0; cell < static_cast<CellId>(cells_.gates.size()); ++cell)
      take_inputs(cell);
    return std::move(cells_);
  }

 private:
  [[nodiscard]] bool elementwise(OpId op) const { return class_[at(op)] == OpClass::elementwise; }
  [[nodiscard]] bool passes_on(OpId op) const {
    return elementwise(op) || graph_.op_type(op) == "Identity";
  }

  /// "Sigmoid", "Tanh", or empty: what a gate is put through, at once or after a bias is added.
  [[nodiscard]] std::string_view activation(TensorId gate, OpId producer, int further) const {
    for (const Edge& edge : graph_.out_edges(producer)) {
      if (edge.tensor != gate || !forward_[at(edge.dst)]) continue;
      const std::string& type = graph_.op_type(edge.dst);
      if (type == "Sigmoid" || type == "Tanh") return type;
      if (further == 0 || !elementwise(edge.dst) || graph_.outputs(edge.dst).size() != 1) continue;
      const std::string_view after =
          activation(graph_.outputs(edge.dst).front(), edge.dst, further - 1);
      if (!after.empty()) return after;
    }
    return {};
  }

  [[nodiscard]] bool splits_gates(OpId op) const {
    const std::string& type = graph_.op_type(op);
    if ((type != "Split" && type != "SplitV") || graph_.outputs(op).size() != 4) return false;
    int sigmoids = 0;
    int tanhs = 0;
    for (const TensorId gate : graph_.outputs(op)) {
      const std::string_view function = activation(gate, op, 1);
      sigmoids += function == "Sigmoid" ? 1 : 0;
      tanhs += function == "Tanh" ? 1 : 0;
    }
    return sigmoids == 3 && tanhs == 1;
  }

  [[nodiscard]] bool serves_only(OpId op, CellId cell) const {
    for (const Edge& edge : graph_.out_edges(op)) {
      if (forward_[at(edge.dst)] && cells_.of[at(edge.dst)] != cell) return false;
    }
    return true;
  }

  /// Takes the ops computed for this step alone, up to its product with the weights and the
  /// concatenations and lookups before that.
  void take_inputs(CellId cell) {
    cells_.weights.push_back(kNoTensor);
    std::vector<OpId> pending{cells_.gates[at(cell)]};
    while (!pending.empty()) {
      const OpId op = pending.back();
      pending.pop_back();
      const bool product = class_[at(op)] == OpClass::matmul;
      const bool before_product =
          class_[at(op)] == OpClass::data_movement && op != cells_.gates[at(cell)];
      for (const Edge& edge : graph_.in_edges(op)) {
        if (edge.tensor == kNoTensor || cells_.of[at(edge.src)] != kNoCell) continue;
        if (!takes(edge.src, product || before_product) || !serves_only(edge.src, cell)) continue;
        cells_.of[at(edge.src)] = cell;
        pending.push_back(edge.src);
        TensorId& weights = cells_.weights.back();
        if (class_[at(edge.src)] == OpClass::matmul && weights == kNoTensor) {
          weights = weights_of(graph_, edge.src);
        }
      }
    }
  }

  [[nodiscard]] bool takes(OpId op, bool before_product) const {
    switch (class_[at(op)]) {
      case OpClass::none:
      case OpClass::data_movement:
        return true;
      case OpClass::elementwise:
      case OpClass::matmul:
        return !before_product;
      default:
        return false;
    }
  }

  const Graph& graph_;
  const std::vector<OpClass>& class_;
  const std::vector<bool>& forward_;
  RecurrentCells cells_;
};

}  // namespace

TensorId weights_of(const Graph& graph, OpId op) {
  for (const TensorId input : graph.inputs(op)) {
    const TensorId weight = weight_behind(graph, input);
    if (weight != kNoTensor) return weight;
  }
  return kNoTensor;
}

RecurrentCells find_recurrent_cells(const Graph& graph, const std::vector<OpClass>& op_class,
                                    const std::vector<bool>& forward) {
  return Search(graph, op_class, forward).run();
}

}  // namespace berth::layers
