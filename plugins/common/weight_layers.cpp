#include "common/weight_layers.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>

#include "berth/support/index.h"

namespace berth::policies {
namespace {

/// Grows layers from weights, over the units of the finest groups.
class LayerFinder {
 public:
  explicit LayerFinder(const Problem& problem)
      : graph_(problem.graph()), finest_(problem.finest_groups()), units_(*finest_) {
    find_weights();
    layer_of_.assign(at(units_.count()), kNoLayer);
  }

  std::shared_ptr<const Groups> run() {
    std::int32_t layers = 0;
    for (const Weights& weights : weights_) layers += spread(weights, layers) ? 1 : 0;
    if (layers < 2) return nullptr;
    while (join_neighbours()) continue;
    for (std::int32_t& layer : layer_of_) {
      if (layer == kNoLayer) layer = layers++;
    }
    std::vector<GroupId> of;
    for (OpId op = 0; op < graph_.op_count(); ++op) of.push_back(layer_of_[at(units_.of(op))]);
    return std::make_shared<const Groups>(graph_, std::move(of));
  }

 private:
  static constexpr std::int32_t kNoLayer = -1;
  /// Share of all bytes of weights: the rest is too small to hold a layer together, such as biases.
  static constexpr double kOfAll = 0.99;

  struct Weights {
    std::int64_t bytes;  ///< of the tensor that is read
    std::vector<GroupId> units;
  };

  /// The largest first.
  void find_weights() {
    for (GroupId unit = 0; unit < units_.count(); ++unit) {
      std::int64_t held = 0;
      std::int64_t read = 0;
      for (const OpId op : units_.members(unit)) {
        held += graph_.own_param_bytes(op);
        for (const TensorId tensor : graph_.outputs(op)) {
          read = std::max(read, graph_.bytes(tensor));
        }
      }
      if (held > 0) weights_.push_back({std::min(read, held), {unit}});
    }
    for (const Graph::SharedParameter& shared : graph_.shared_parameters()) {
      Weights weights{shared.bytes, {}};
      for (const OpId op : shared.consumers) weights.units.push_back(units_.of(op));
      weights_.push_back(std::move(weights));
    }
    std::stable_sort(weights_.begin(), weights_.end(),
                     [](const Weights& a, const Weights& b) { return a.bytes > b.bytes; });
    double left = 0;
    for (const Weights& weights : weights_) left += static_cast<double>(weights.bytes);
    left *= kOfAll;
    std::size_t kept = 0;
    while (kept < weights_.size() && left > 0) left -= static_cast<double>(weights_[kept++].bytes);
    weights_.resize(kept);
  }

  /// To all units between which the weights, or what they change by, are sent. False if there is none.
  bool spread(const Weights& weights, std::int32_t layer) {
    std::vector<GroupId> reached;
    const auto reach = [&](GroupId unit) {
      if (layer_of_[at(unit)] != kNoLayer) return;
      layer_of_[at(unit)] = layer;
      reached.push_back(unit);
    };
    for (const GroupId unit : weights.units) reach(unit);
    for (std::size_t i = 0; i < reached.size(); ++i) {
      for (const OpId op : units_.members(reached[i])) {
        for (const Edge& edge : graph_.out_edges(op)) {
          if (carries(edge, weights)) reach(units_.of(edge.dst));
        }
        for (const Edge& edge : graph_.in_edges(op)) {
          if (carries(edge, weights)) reach(units_.of(edge.src));
        }
      }
    }
    return !reached.empty();
  }

  [[nodiscard]] bool carries(const Edge& edge, const Weights& weights) const {
    return edge.tensor != kNoTensor && graph_.bytes(edge.tensor) == weights.bytes;
  }

  /// Every unit next to layers joins the one with which it exchanges most. Whether any did.
  bool join_neighbours() {
    std::vector<std::pair<GroupId, std::int32_t>> joining;
    for (GroupId unit = 0; unit < units_.count(); ++unit) {
      if (layer_of_[at(unit)] != kNoLayer) continue;
      std::unordered_map<std::int32_t, double> bytes;
      std::int32_t most = kNoLayer;
      const auto look = [&](OpId other, TensorId tensor) {
        const std::int32_t layer = layer_of_[at(units_.of(other))];
        if (layer == kNoLayer) return;
        bytes[layer] += tensor == kNoTensor ? 1 : 1 + static_cast<double>(graph_.bytes(tensor));
        if (most == kNoLayer || bytes[layer] > bytes[most]) most = layer;
      };
      for (const OpId op : units_.members(unit)) {
        for (const Edge& edge : graph_.in_edges(op)) look(edge.src, edge.tensor);
        for (const Edge& edge : graph_.out_edges(op)) look(edge.dst, edge.tensor);
      }
      if (most != kNoLayer) joining.emplace_back(unit, most);
    }
    for (const auto& [unit, layer] : joining) layer_of_[at(unit)] = layer;
    return !joining.empty();
  }

  const Graph& graph_;
  std::shared_ptr<const Groups> finest_;
  const Groups& units_;
  std::vector<Weights> weights_;
  std::vector<std::int32_t> layer_of_;  // by unit
};

/// Whether tensors go back and forth between most layers and another: between a few they do around
/// branches, too.
bool comes_back(const Graph& graph, const Groups& layers) {
  std::set<std::pair<GroupId, GroupId>> seen;
  std::vector<bool> both_ways(at(layers.count()), false);
  for (OpId op = 0; op < graph.op_count(); ++op) {
    for (const Edge& edge : graph.out_edges(op)) {
      const GroupId from = layers.of(edge.src);
      const GroupId to = layers.of(edge.dst);
      if (from == to) continue;
      seen.emplace(from, to);
      if (seen.contains({to, from})) both_ways[at(from)] = both_ways[at(to)] = true;
    }
  }
  return 2 * std::count(both_ways.begin(), both_ways.end(), true) > layers.count();
}

/// The most ops on a path to each op.
std::vector<std::int32_t> depths_of(const Graph& graph) {
  std::vector<std::int32_t> depths(at(graph.op_count()), 0);
  for (const OpId op : graph.topological_order()) {
    for (const Edge& edge : graph.in_edges(op)) {
      depths[at(op)] = std::max(depths[at(op)], depths[at(edge.src)] + 1);
    }
  }
  return depths;
}

}  // namespace

std::shared_ptr<const Groups> layers_of(const Problem& problem) {
  return LayerFinder(problem).run();
}

std::vector<std::vector<OpId>> layers_in_turn(const Problem& problem) {
  const Graph& graph = problem.graph();
  const std::shared_ptr<const Groups> layers = layers_of(problem);
  if (!layers || !comes_back(graph, *layers)) return {};
  const std::vector<std::int32_t> depths = depths_of(graph);
  struct Layer {
    std::int32_t depth;
    std::vector<OpId> ops;
  };
  std::vector<Layer> all(at(layers->count()), {graph.op_count(), {}});
  for (OpId op = 0; op < graph.op_count(); ++op) {
    Layer& layer = all[at(layers->of(op))];
    layer.ops.push_back(op);
    // Weights come from nowhere, whatever their layer is behind.
    if (!graph.in_edges(op).empty()) layer.depth = std::min(layer.depth, depths[at(op)]);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Layer& a, const Layer& b) { return a.depth < b.depth; });
  std::vector<std::vector<OpId>> in_turn;
  for (Layer& layer : all) in_turn.push_back(std::move(layer.ops));
  return in_turn;
}

}  // namespace berth::policies
