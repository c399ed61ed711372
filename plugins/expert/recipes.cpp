#include "expert/recipes.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "berth/support/index.h"

namespace berth::policies::expert {
namespace {

LayerId count_of(const Layers& layers) {
  return static_cast<LayerId>(layers.all().size());
}

bool has_weights(const Layer& layer) {
  return layer.kind != LayerKind::pooling && layer.kind != LayerKind::join;
}

/// So that none comes before one that it reads.
std::vector<std::pair<std::int32_t, LayerId>> layers_by_depth(const Layers& layers) {
  std::vector<std::pair<std::int32_t, LayerId>> order;
  for (LayerId layer = 0; layer < count_of(layers); ++layer) {
    order.emplace_back(layers[layer].depth, layer);
  }
  std::sort(order.begin(), order.end());
  return order;
}

/// The edges of the forward pass from one layer to another.
template <typename Visit>
void for_each_step(const Graph& graph, const Layers& layers, Visit visit) {
  for (const OpId op : graph.topological_order()) {
    const LayerId src = layers.of(op);
    if (src == kNoLayer || !layers.forward(op)) continue;
    for (const Edge& edge : graph.out_edges(op)) {
      const LayerId dst = layers.of(edge.dst);
      if (edge.tensor == kNoTensor || dst == kNoLayer || dst == src) continue;
      if (layers.forward(edge.dst)) visit(src, dst, edge);
    }
  }
}

// --- branches ------------------------------------------------------------------------------------

struct Branch {
  std::string block;  ///< empty: the layer is in none
  int index = 0;
};

/// "branch_2" -> 2 and the like; -1 for any other part of a name.
int branch_number(std::string component) {
  std::transform(component.begin(), component.end(), component.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : static_cast<char>(c);
  });
  if (component == "tower") return 0;
  for (const std::string word : {"branch_", "tower_", "combine_", "comb_iter_"}) {
    if (component.compare(0, word.size(), word) != 0) continue;
    const std::string digits = component.substr(word.size());
    const bool number = !digits.empty() && digits.size() < 5 &&
                        digits.find_first_not_of("0123456789") == std::string::npos;
    if (number) return std::stoi(digits);
  }
  return -1;
}

Branch branch_by_name(const std::string& name) {
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    if (const int number = branch_number(name.substr(begin, end - begin)); number >= 0) {
      return {name.substr(0, begin) + "/", number};
    }
    begin = end + 1;
  }
  return {};
}

std::vector<Branch> branches_by_names(const Graph& graph, const Layers& layers) {
  std::vector<Branch> result;
  for (const Layer& layer : layers.all()) result.push_back(branch_by_name(graph.op_name(layer.op)));
  return result;
}

/// Every layer that leads to a join by one of its inputs alone is in that branch of it; branches
/// nest. The tree of branches is climbed where a layer leads to several.
class JoinTree {
 public:
  JoinTree(const Graph& graph, const Layers& layers) : graph_(graph), layers_(layers) {
    nodes_.push_back({0, 0, kNoLayer, 0});
    node_of_.assign(layers.all().size(), kUnknown);
    std::vector<std::vector<std::pair<LayerId, int>>> next(layers.all().size());
    for_each_step(graph, layers, [&](LayerId src, LayerId dst, const Edge& edge) {
      next[at(src)].emplace_back(dst, input_of_join(dst, edge));
    });
    // An op may belong to a layer that comes before one it reads, by id; by depth none does.
    const auto order = layers_by_depth(layers);
    for (auto entry = order.rbegin(); entry != order.rend(); ++entry) {
      const LayerId layer = entry->second;
      int& node = node_of_[at(layer)];
      for (const auto& [dst, input] : next[at(layer)]) {
        const int other = input < 0 ? node_of_[at(dst)] : branch(dst, input);
        node = node == kUnknown ? other : common(node, other);
      }
      if (node == kUnknown) node = 0;
    }
  }

  /// The outermost branch of a layer.
  [[nodiscard]] Branch of(LayerId layer) const {
    int node = node_of_[at(layer)];
    if (node == 0) return {};
    while (nodes_[static_cast<std::size_t>(node)].parent != 0) {
      node = nodes_[static_cast<std::size_t>(node)].parent;
    }
    const Node& outermost = nodes_[static_cast<std::size_t>(node)];
    return {graph_.op_name(layers_[outermost.join].op), outermost.input};
  }

 private:
  static constexpr int kUnknown = -1;
  struct Node {
    int parent;
    int depth;
    LayerId join;
    int input;
  };

  /// Which input of the join `dst` the edge is; -1 if it does not lead into one.
  [[nodiscard]] int input_of_join(LayerId dst, const Edge& edge) const {
    if (layers_[dst].kind != LayerKind::join || edge.dst != layers_[dst].op) return -1;
    const auto inputs = graph_.inputs(edge.dst);
    return static_cast<int>(std::find(inputs.begin(), inputs.end(), edge.tensor) - inputs.begin());
  }

  int branch(LayerId join, int input) {
    const int parent = node_of_[at(join)];
    const auto [entry, is_new] = known_.try_emplace({join, input}, static_cast<int>(nodes_.size()));
    if (is_new) {
      nodes_.push_back({parent, nodes_[static_cast<std::size_t>(parent)].depth + 1, join, input});
    }
    return entry->second;
  }

  [[nodiscard]] int common(int a, int b) const {
    while (a != b) {
      const Node& first = nodes_[static_cast<std::size_t>(a)];
      const Node& second = nodes_[static_cast<std::size_t>(b)];
      if (first.depth >= second.depth) a = first.parent;
      if (second.depth >= first.depth) b = second.parent;
    }
    return a;
  }

  const Graph& graph_;
  const Layers& layers_;
  std::vector<Node> nodes_;  // the first is the root: in no branch
  std::vector<int> node_of_;
  std::map<std::pair<LayerId, int>, int> known_;
};

/// The part of every branch of a block with two or more of them, by (block, branch).
std::map<std::pair<std::string, int>, int> parts_of_branches(const Layers& layers,
                                                             const std::vector<Branch>& branches,
                                                             int parts) {
  std::map<std::string, std::map<int, int>> length;  // layers by block and branch
  for (LayerId layer = 0; layer < count_of(layers); ++layer) {
    const Branch& branch = branches[at(layer)];
    if (!branch.block.empty()) ++length[branch.block][branch.index];
  }
  std::map<std::pair<std::string, int>, int> result;
  for (const auto& [block, lengths] : length) {
    if (lengths.size() < 2) continue;
    const auto longest =
        std::max_element(lengths.begin(), lengths.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    int next = 1;
    for (const auto& [index, layer_count] : lengths) {
      result[{block, index}] = index == longest->first ? 0 : next++ % parts;
    }
  }
  return result;
}

std::optional<Recipe> recipe_of_branches(const Layers& layers, const std::vector<Branch>& branches,
                                         int parts, const std::string& told_by) {
  const auto part_of = parts_of_branches(layers, branches, parts);
  if (part_of.empty()) return std::nullopt;
  Recipe recipe;
  std::size_t blocks = 0;
  const std::string* block = nullptr;
  for (const auto& [branch, part] : part_of) {
    if (block == nullptr || *block != branch.first) ++blocks;
    block = &branch.first;
  }
  for (const Branch& branch : branches) {
    const auto found = part_of.find({branch.block, branch.index});
    recipe.part_of_layer.push_back(found == part_of.end() ? 0 : found->second);
  }
  std::ostringstream text;
  text << part_of.size() << " branches of " << blocks << " blocks, told by " << told_by
       << ", on devices of their own";
  recipe.text = text.str();
  return recipe;
}

}  // namespace

std::optional<Recipe> recurrent_layer_per_part(const Graph& graph, const Layers& layers,
                                               int parts) {
  std::map<TensorId, int> number_of;  // by weights
  std::vector<int> number(layers.all().size(), -1);
  int next = 0;
  for (LayerId layer = 0; layer < count_of(layers); ++layer) {
    if (layers[layer].kind != LayerKind::recurrent) continue;
    const TensorId weights = layers[layer].weights;
    const auto entry = weights == kNoTensor ? number_of.end() : number_of.find(weights);
    number[at(layer)] = entry == number_of.end() ? next++ : entry->second;
    if (weights != kNoTensor) number_of.emplace(weights, number[at(layer)]);
  }
  if (next == 0) return std::nullopt;

  std::vector<bool> follows(layers.all().size(), false);
  std::vector<std::vector<LayerId>> before(layers.all().size());
  for_each_step(graph, layers,
                [&](LayerId src, LayerId dst, const Edge&) { before[at(dst)].push_back(src); });
  Recipe recipe;
  recipe.part_of_layer.resize(layers.all().size());
  for (const auto& [depth, layer] : layers_by_depth(layers)) {
    follows[at(layer)] =
        number[at(layer)] >= 0 || std::any_of(before[at(layer)].begin(), before[at(layer)].end(),
                                              [&](LayerId l) { return follows[at(l)]; });
    const int its_own = number[at(layer)];
    recipe.part_of_layer[at(layer)] = (its_own >= 0         ? its_own
                                       : follows[at(layer)] ? next - 1
                                                            : 0) %
                                      parts;
  }
  std::ostringstream text;
  text << next << " recurrent layers, one per device, the rest beside the last";
  recipe.text = text.str();
  return recipe;
}

std::optional<Recipe> branch_per_part(const Graph& graph, const Layers& layers, int parts) {
  if (auto named =
          recipe_of_branches(layers, branches_by_names(graph, layers), parts, "their scopes")) {
    return named;
  }
  const JoinTree tree(graph, layers);
  std::vector<Branch> branches;
  for (LayerId layer = 0; layer < count_of(layers); ++layer) branches.push_back(tree.of(layer));
  return recipe_of_branches(layers, branches, parts, "the concatenations that end them");
}

std::optional<Recipe> equal_layers_per_part(const Graph&, const Layers& layers, int parts) {
  const auto all = layers.all();
  const auto weighted = std::count_if(all.begin(), all.end(), has_weights);
  if (weighted == 0) return std::nullopt;
  Recipe recipe;
  std::int64_t seen = 0;
  for (const Layer& layer : all) {
    // A layer without weights goes with the one before it.
    if (has_weights(layer)) ++seen;
    recipe.part_of_layer.push_back(
        static_cast<int>(std::max<std::int64_t>(seen - 1, 0) * parts / weighted));
  }
  std::ostringstream text;
  text << weighted << " layers in contiguous parts of equally many";
  recipe.text = text.str();
  return recipe;
}

}  // namespace berth::policies::expert
