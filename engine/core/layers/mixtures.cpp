// Mixtures of experts that an exporter spelled out, expert by expert.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "berth/blocks.h"
#include "layers/module_names.h"

namespace berth {
namespace {

/// A mixture of a block: which ops its experts, its router and their sum are.
class Mixture {
 public:
  Mixture(const Graph& graph, const Blocks& blocks, BlockId block)
      : graph_(graph), blocks_(blocks), block_(block) {
    for (const OpId op : graph.topological_order()) {
      if (blocks.of(op) == block) order_.push_back(op);
    }
    for (const OpId op : order_) {
      const std::string expert = expert_of(op);
      if (expert.empty()) continue;
      holds_.emplace(op, numbers_.try_emplace(expert, numbers_.size()).first->second);
    }
  }

  [[nodiscard]] std::vector<OpId> ops() const {
    std::set<OpId> result = held();
    if (numbers_.size() > 1) add_routing(result);
    return {result.begin(), result.end()};
  }

 private:
  /// "layers.0.mlp.experts.7"; empty where the op holds none.
  [[nodiscard]] std::string expert_of(OpId op) const {
    const std::vector<std::string> parts = module_parts(blocks_.module_of(op));
    const auto list = std::find(parts.begin(), parts.end(), "experts");
    if (list == parts.end()) return {};
    const auto end = static_cast<std::size_t>(list - parts.begin()) + 1;
    const bool numbered = end < parts.size() && number_of_part(parts[end]) >= 0;
    return joined_parts(parts, end + (numbered ? 1 : 0));
  }

  template <typename Visit>
  void for_inputs(OpId op, const Visit& visit) const {
    for (const Edge& edge : graph_.in_edges(op)) {
      if (blocks_.of(edge.src) == block_) visit(edge.src);
    }
  }

  /// Those that hold experts, and those between two of them.
  [[nodiscard]] std::set<OpId> held() const {
    std::set<OpId> behind, leading, result;
    for (const OpId op : order_) {
      if (holds_.contains(op)) result.insert(op);
      for_inputs(op, [&](OpId input) {
        if (behind.contains(input) || holds_.contains(input)) behind.insert(op);
      });
    }
    for (auto op = order_.rbegin(); op != order_.rend(); ++op) {
      if (behind.contains(*op) && leading.contains(*op)) result.insert(*op);
      if (!leading.contains(*op) && !holds_.contains(*op)) continue;
      for_inputs(*op, [&](OpId input) { leading.insert(input); });
    }
    return result;
  }

  /// Adds the sum to which one expert after the other adds, and what is made of the router's choice for
  /// that.
  void add_routing(std::set<OpId>& result) const {
    std::map<OpId, std::vector<bool>> experts;  // by op: those whose results it has
    std::set<OpId> all, chosen;
    for (const OpId op : order_) {
      std::vector<bool>& its = experts.try_emplace(op, numbers_.size(), false).first->second;
      bool whole = false;
      const bool projects = !blocks_.module_of(op).empty();
      bool of_choice = graph_.op_type(op).find("TopK") != std::string::npos;
      for_inputs(op, [&](OpId input) {
        const std::vector<bool>& other = experts.at(input);
        for (std::size_t i = 0; i < its.size(); ++i) its[i] = its[i] || other[i];
        whole = whole || all.contains(input);
        // A projection is of no choice: it follows attention that chooses positions.
        of_choice = of_choice || (chosen.contains(input) && !projects);
      });
      if (const auto own = holds_.find(op); own != holds_.end()) its[own->second] = true;
      if (of_choice) chosen.insert(op);
      if (std::find(its.begin(), its.end(), false) == its.end()) all.insert(op);
      if (!whole && std::find(its.begin(), its.end(), true) != its.end()) result.insert(op);
    }
    for (auto op = order_.rbegin(); op != order_.rend(); ++op) {
      if (!result.contains(*op)) continue;
      for_inputs(*op, [&](OpId input) {
        if (chosen.contains(input) && !all.contains(input)) result.insert(input);
      });
    }
  }

  const Graph& graph_;
  const Blocks& blocks_;
  const BlockId block_;
  std::vector<OpId> order_;                     // the block's ops
  std::map<std::string, std::size_t> numbers_;  // of experts
  std::map<OpId, std::size_t> holds_;           // by op: its expert
};

}  // namespace

std::vector<OpId> expert_ops(const Graph& graph, const Blocks& blocks, BlockId block) {
  return Mixture(graph, blocks, block).ops();
}

}  // namespace berth
