#include "reports/scopes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth::reports {
namespace {

/// A scope before it has its number.
struct Node {
  std::string name;
  std::int32_t rank = 0;                                  ///< topological position of its first op
  std::map<std::string, std::size_t, std::less<>> named;  ///< scopes in it, by name
  std::vector<std::size_t> scopes;
  std::vector<OpId> ops;
};

class Maker {
 public:
  explicit Maker(const Graph& graph) : graph_(graph), rank_(at(graph.op_count())) {
    tree_.of_op.resize(rank_.size());
    tree_.op_label.resize(rank_.size());
  }

  ScopeTree make() {
    nodes_.emplace_back();
    std::int32_t rank = 0;
    // In topological order, so that a scope's first op has its lowest rank.
    for (const OpId op : graph_.topological_order()) {
      rank_[at(op)] = rank++;
      add(op);
    }
    number(0, -1, {});
    return std::move(tree_);
  }

 private:
  void add(OpId op) {
    const std::string_view name = graph_.op_name(op);
    std::size_t node = 0;
    std::size_t begin = 0;
    // The last part is the op's own, so that a trailing separator opens no scope.
    for (std::size_t i = 0; i + 1 < name.size(); ++i) {
      if (name[i] != '/' && name[i] != '.') continue;
      if (i > begin) node = child(node, name.substr(begin, i - begin), rank_[at(op)]);
      begin = i + 1;
    }
    tree_.op_label[at(op)] = name.substr(begin);
    nodes_[node].ops.push_back(op);
  }

  std::size_t child(std::size_t node, std::string_view name, std::int32_t rank) {
    const auto found = nodes_[node].named.find(name);
    if (found != nodes_[node].named.end()) return found->second;
    const std::size_t made = nodes_.size();
    nodes_[node].named.emplace(name, made);
    nodes_[node].scopes.push_back(made);
    Node& added = nodes_.emplace_back();
    added.name = name;
    added.rank = rank;
    return made;
  }

  /// Something in a scope: another scope, or an op.
  struct Item {
    std::int32_t rank;
    std::size_t scope;
    OpId op;  ///< kNoOp: a scope
  };

  std::int32_t new_scope(std::int32_t parent, std::string name) {
    tree_.parent.push_back(parent);
    tree_.name.push_back(std::move(name));
    return static_cast<std::int32_t>(tree_.parent.size()) - 1;
  }

  /// `prefix`: of scopes that are one with this.
  void number(std::size_t index, std::int32_t parent, const std::string& prefix) {
    const Node& node = nodes_[index];
    const std::string name = prefix.empty() ? node.name : cat(prefix, "/", node.name);
    if (index != 0 && node.ops.empty() && node.scopes.size() == 1) {
      number(node.scopes.front(), parent, name);
      return;
    }
    std::vector<Item> items;
    for (const std::size_t scope : node.scopes) items.push_back({nodes_[scope].rank, scope, kNoOp});
    for (const OpId op : node.ops) items.push_back({rank_[at(op)], 0, op});
    std::sort(items.begin(), items.end(),
              [](const Item& a, const Item& b) { return a.rank < b.rank; });
    fill(new_scope(parent, name), items.data(), items.data() + items.size());
  }

  void fill(std::int32_t scope, const Item* begin, const Item* end) {
    const auto count = static_cast<std::size_t>(end - begin);
    if (count <= ScopeTree::kMostChildren) {
      for (const Item* item = begin; item != end; ++item) put(scope, *item);
      return;
    }
    // A few scopes among many ops keep their names: the ops alone make runs.
    constexpr std::size_t kRuns = 20;
    const auto is_op = [](const Item& item) { return item.op != kNoOp; };
    std::vector<Item> ops;
    std::copy_if(begin, end, std::back_inserter(ops), is_op);
    if (!ops.empty() && ops.size() < count && count - ops.size() <= kRuns) {
      for (const Item* item = begin; item != end; ++item) {
        if (!is_op(*item)) put(scope, *item);
      }
      fill(scope, ops.data(), ops.data() + ops.size());
      return;
    }
    // Some twenty runs, each of some twenty at least.
    const std::size_t length = std::max(kRuns, (count + kRuns - 1) / kRuns);
    for (const Item* from = begin; from != end;) {
      const Item* const to = from + std::min(length, static_cast<std::size_t>(end - from));
      if (to - from == 1) {
        put(scope, *from);
      } else {
        fill(new_scope(scope, cat(label(*from), " ... ", label(*(to - 1)))), from, to);
      }
      from = to;
    }
  }

  void put(std::int32_t scope, const Item& item) {
    if (item.op == kNoOp) {
      number(item.scope, scope, {});
    } else {
      tree_.of_op[at(item.op)] = scope;
    }
  }

  [[nodiscard]] const std::string& label(const Item& item) const {
    return item.op == kNoOp ? nodes_[item.scope].name : tree_.op_label[at(item.op)];
  }

  const Graph& graph_;
  std::vector<std::int32_t> rank_;  // by op
  std::vector<Node> nodes_;
  ScopeTree tree_;
};

}  // namespace

ScopeTree make_scopes(const Graph& graph) {
  return Maker(graph).make();
}

}  // namespace berth::reports
