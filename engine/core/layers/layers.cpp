#include "berth/sdk/layers.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "berth/costs.h"
#include "berth/support/index.h"
#include "layers/recurrent_cells.h"

namespace berth {
namespace {

bool starts_with(std::string_view text, std::string_view front) {
  return text.substr(0, front.size()) == front;
}
bool ends_with(std::string_view text, std::string_view back) {
  return text.size() >= back.size() && text.substr(text.size() - back.size()) == back;
}

/// Judges by its own name and type; ops computed from a gradient are not forward either.
bool is_gradient(const Graph& graph, OpId op) {
  const std::string_view type = graph.op_type(op);
  const std::string_view name = graph.op_name(op);
  return ends_with(type, "Grad") || type.find("Backprop") != std::string_view::npos ||
         starts_with(name, "gradients") || starts_with(name, "gradient_tape") ||
         name.find("/gradients") != std::string_view::npos;
}

/// The op that "gradients/X_grad/..." is the gradient of; kNoOp where the name says none.
OpId differentiated(const Graph& graph, OpId op) {
  constexpr std::string_view kMark = "_grad/";
  const std::string_view name = graph.op_name(op);
  const std::size_t begin = name.find('/');
  const std::size_t end = name.find(kMark);
  if (begin == std::string_view::npos || end == std::string_view::npos || end <= begin) {
    return kNoOp;
  }
  return graph.find_op(name.substr(begin + 1, end - begin - 1)).value_or(kNoOp);
}

class Reading {
 public:
  Reading(const Graph& graph, std::vector<Layer>& layers, std::vector<LayerId>& layer_of,
          std::vector<bool>& forward)
      : graph_(graph), layers_(layers), layer_of_(layer_of), forward_(forward) {}

  void run() {
    const std::size_t ops = at(graph_.op_count());
    layer_of_.assign(ops, kNoLayer);
    forward_.assign(ops, true);
    class_.resize(ops);
    for (const OpId op : graph_.topological_order()) {
      class_[at(op)] = op_work(graph_, op).op_class;
      forward_[at(op)] = !is_gradient(graph_, op) && all_inputs_forward(op);
    }
    cells_ = layers::find_recurrent_cells(graph_, class_, forward_);
    layer_of_cell_.assign(cells_.gates.size(), kNoLayer);
    deepest_input_.assign(cells_.gates.size(), kNoLayer);
    for (const OpId op : graph_.topological_order()) {
      if (forward_[at(op)]) layer_of_[at(op)] = layer_of_forward(op);
    }
    // Inputs that a cell took before its gates were not known to be a layer yet.
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      if (layer_of_[at(op)] == kNoLayer && cells_.of[at(op)] != layers::kNoCell) {
        layer_of_[at(op)] = layer_of_cell_[at(cells_.of[at(op)])];
      }
    }
    give_to_the_served();
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      if (forward_[at(op)]) continue;
      const OpId origin = differentiated(graph_, op);
      if (origin != kNoOp && forward_[at(origin)]) layer_of_[at(op)] = layer_of_[at(origin)];
    }
  }

 private:
  [[nodiscard]] bool all_inputs_forward(OpId op) const {
    const auto edges = graph_.in_edges(op);
    return std::all_of(edges.begin(), edges.end(), [this](const Edge& edge) {
      return edge.tensor == kNoTensor || forward_[at(edge.src)];
    });
  }

  [[nodiscard]] LayerId deeper(LayerId a, LayerId b) const {
    if (a == kNoLayer || b == kNoLayer) return std::max(a, b);
    return std::tie(layers_[at(a)].depth, a) < std::tie(layers_[at(b)].depth, b) ? b : a;
  }

  [[nodiscard]] LayerId deepest_input(OpId op) const {
    LayerId deepest = kNoLayer;
    for (const Edge& edge : graph_.in_edges(op)) {
      if (edge.tensor != kNoTensor) deepest = deeper(deepest, layer_of_[at(edge.src)]);
    }
    return deepest;
  }

  LayerId add(LayerKind kind, OpId op, TensorId weights, LayerId after) {
    const std::int32_t depth = after == kNoLayer ? 1 : layers_[at(after)].depth + 1;
    layers_.push_back({kind, op, weights, depth});
    return static_cast<LayerId>(layers_.size()) - 1;
  }

  /// Ops behind no layer go to the one layer that they serve.
  void give_to_the_served() {
    constexpr LayerId kSeveral = -2;
    const auto order = graph_.topological_order();
    for (auto op = order.rbegin(); op != order.rend(); ++op) {
      LayerId& layer = layer_of_[at(*op)];
      if (!forward_[at(*op)] || layer != kNoLayer) continue;
      for (const Edge& edge : graph_.out_edges(*op)) {
        const LayerId served = layer_of_[at(edge.dst)];
        if (edge.tensor == kNoTensor || !forward_[at(edge.dst)] || served == kNoLayer) continue;
        layer = layer == kNoLayer || layer == served ? served : kSeveral;
      }
    }
    std::replace(layer_of_.begin(), layer_of_.end(), kSeveral, kNoLayer);
  }

  LayerId layer_of_forward(OpId op) {
    const LayerId before = deepest_input(op);
    const layers::CellId cell = cells_.of[at(op)];
    if (cell != layers::kNoCell) {
      LayerId& layer = layer_of_cell_[at(cell)];
      if (layer == kNoLayer) {
        LayerId& deepest = deepest_input_[at(cell)];
        deepest = deeper(deepest, before);
        if (op == cells_.gates[at(cell)]) {
          layer = add(LayerKind::recurrent, op, cells_.weights[at(cell)], deepest);
        }
        return layer;
      }
      return deeper(layer, before);  // the cell's, unless something deeper comes in late
    }
    switch (class_[at(op)]) {
      case OpClass::recurrent:
        return add(LayerKind::recurrent, op, layers::weights_of(graph_, op), before);
      case OpClass::convolution:
      case OpClass::pointwise_convolution:
      case OpClass::grouped_convolution:
      case OpClass::depthwise_convolution:
        return add(LayerKind::convolution, op, layers::weights_of(graph_, op), before);
      case OpClass::pooling:
        return add(LayerKind::pooling, op, kNoTensor, before);
      case OpClass::matmul: {
        const TensorId weights = layers::weights_of(graph_, op);
        return weights == kNoTensor ? before : add(LayerKind::dense, op, weights, before);
      }
      default:
        return joins(op) ? add(LayerKind::join, op, kNoTensor, before) : before;
    }
  }

  [[nodiscard]] bool joins(OpId op) const {
    const std::string& type = graph_.op_type(op);
    if (type != "Concat" && type != "ConcatV2") return false;
    LayerId first = kNoLayer;
    bool several = false;
    for (const Edge& edge : graph_.in_edges(op)) {
      const LayerId layer = edge.tensor == kNoTensor ? kNoLayer : layer_of_[at(edge.src)];
      if (layer == kNoLayer) continue;
      const LayerKind kind = layers_[at(layer)].kind;
      if (kind == LayerKind::recurrent || kind == LayerKind::dense) return false;
      several = several || (first != kNoLayer && layer != first);
      first = layer;
    }
    return several;
  }

  const Graph& graph_;
  std::vector<Layer>& layers_;
  std::vector<LayerId>& layer_of_;
  std::vector<bool>& forward_;
  std::vector<OpClass> class_;
  layers::RecurrentCells cells_;
  std::vector<LayerId> layer_of_cell_;
  std::vector<LayerId> deepest_input_;  // by cell, of what it takes before its gates
};

}  // namespace

Layers::Layers(const Graph& graph) {
  Reading(graph, layers_, layer_of_, forward_).run();
}

}  // namespace berth
