#include "tf/old_branches.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "tf/graph_maker.h"

namespace berth::tf_frontend {
namespace {

bool chooses(std::string_view op) {
  return is_switch(op) || op == "_SwitchN";
}

/// The condition that the node chooses by, behind the names that it is given; no node where that is a loop's condition
/// or where it does not choose.
Source condition_of(const Program& program, const Node& node) {
  if (!chooses(node.op) || node.inputs.size() < 2) return {};
  Source source = node.inputs[1];
  while (true) {
    const Node& from = program.nodes[static_cast<std::size_t>(source.node)];
    if (from.op == "LoopCond") return {};
    if (from.op != "Identity" || from.inputs.empty()) return source;
    source = from.inputs[0];
  }
}

class Branches {
 public:
  Branches(const Program& program, const Loops& loops)
      : program_(program), behind_(program.nodes.size()) {
    for (const NodeId id : loops.order) {
      for (const std::size_t side : behind(program.nodes[at(id)])) {
        behind_[at(id)].push_back(side);
        sides_[side].nodes.push_back(id);
      }
    }
  }

  [[nodiscard]] std::vector<bool> smaller(const std::function<Work(NodeId)>& work_of) const {
    std::vector<bool> left_out(program_.nodes.size(), false);
    for (const std::vector<std::size_t>& sides : innermost_first()) {
      const std::size_t largest = *std::max_element(
          sides.begin(), sides.end(),
          [&, known = weights(sides, left_out, work_of)](std::size_t a, std::size_t b) {
            return known.at(a) < known.at(b);
          });
      for (const std::size_t side : sides) {
        if (side == largest) continue;
        for (const NodeId id : sides_[side].nodes) left_out[at(id)] = true;
      }
    }
    return left_out;
  }

 private:
  using Sides = std::vector<std::size_t>;  // ascending
  struct Side {
    std::pair<NodeId, std::int32_t> condition;
    std::vector<NodeId> nodes;  // that run only if it is taken
  };

  static std::size_t at(NodeId id) { return static_cast<std::size_t>(id); }

  static Sides joined(const Sides& a, const Sides& b) {
    Sides all;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
    return all;
  }

  Sides behind(const Source& source) {
    const Sides& of_node = behind_[at(source.node)];
    const Source condition = condition_of(program_, program_.nodes[at(source.node)]);
    if (condition.node == kNoNode) return of_node;
    const std::pair of{condition.node, condition.port};
    const auto [found, is_new] = ids_.try_emplace({of, source.port}, sides_.size());
    if (is_new) sides_.push_back({of, {}});
    return joined(of_node, {found->second});
  }

  /// A Merge runs with any of its inputs, any other op with all. The end of a loop's round begins none.
  Sides behind(const Node& node) {
    Sides sides;
    bool first = true;
    for (const Source& input : node.inputs) {
      const bool merges = is_merge(node.op);
      if (merges && is_next_iteration(program_.nodes[at(input.node)].op)) continue;
      const Sides more = behind(input);
      if (first || !merges) {
        sides = joined(sides, more);
      } else {
        Sides both;
        std::set_intersection(sides.begin(), sides.end(), more.begin(), more.end(),
                              std::back_inserter(both));
        sides = std::move(both);
      }
      first = false;
    }
    for (const NodeId control : node.controls) sides = joined(sides, behind_[at(control)]);
    return sides;
  }

  /// The sides of each condition. One that is within another has no more nodes.
  [[nodiscard]] std::vector<Sides> innermost_first() const {
    std::map<std::pair<NodeId, std::int32_t>, std::pair<std::size_t, Sides>> by_condition;
    for (std::size_t side = 0; side < sides_.size(); ++side) {
      auto& [count, sides] = by_condition[sides_[side].condition];
      count += sides_[side].nodes.size();
      sides.push_back(side);
    }
    std::vector<std::pair<std::size_t, Sides>> ordered;
    for (auto& [condition, sides] : by_condition) ordered.push_back(std::move(sides));
    std::sort(ordered.begin(), ordered.end());
    std::vector<Sides> all;
    for (auto& [count, sides] : ordered) all.push_back(std::move(sides));
    return all;
  }

  [[nodiscard]] std::map<std::size_t, double> weights(
      const Sides& sides, const std::vector<bool>& left_out,
      const std::function<Work(NodeId)>& work_of) const {
    std::map<std::size_t, double> known;
    for (const std::size_t side : sides) {
      Work sum{0, 0, OpClass::none, DType::f32, 0};
      for (const NodeId id : sides_[side].nodes) {
        if (!left_out[at(id)]) sum = add_work(sum, work_of(id));
      }
      known[side] = weight(sum);
    }
    return known;
  }

  const Program& program_;
  std::vector<Side> sides_;
  std::map<std::pair<std::pair<NodeId, std::int32_t>, std::int32_t>, std::size_t> ids_;
  std::vector<Sides> behind_;  // by node
};

}  // namespace

bool has_old_branches(const Program& program) {
  return std::any_of(program.nodes.begin(), program.nodes.end(),
                     [&](const Node& node) { return condition_of(program, node).node != kNoNode; });
}

std::vector<bool> find_smaller_branches(const Program& program, const Loops& loops,
                                        const std::function<Work(NodeId)>& work_of) {
  return Branches(program, loops).smaller(work_of);
}

}  // namespace berth::tf_frontend
