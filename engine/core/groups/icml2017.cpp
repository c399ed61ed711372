// The three heuristics of ICML 2017; see groups.h.
#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "berth/groups.h"
#include "berth/sdk/layers.h"
#include "berth/support/disjoint_sets.h"
#include "berth/support/index.h"
#include "groups/costs_check.h"
#include "groups/merge_rules.h"

namespace berth {
namespace {

/// "Several convolution and pooling layers" are one group. The number is ours: with it Inception-V3
/// comes to the published order of groups, and a network without branches keeps some to place.
constexpr int kLayersInARow = 4;

/// Sets of groups of `base` that may be on one device together.
class Sets {
 public:
  Sets(const Groups& base, const Costs& costs)
      : rules_(costs, /*limits=*/nullptr), sets_(at(base.count())) {
    for (GroupId group = 0; group < base.count(); ++group) {
      may_.push_back(rules_.of(base.members(group)));
    }
  }

  GroupId find(GroupId group) { return sets_.find(group); }

  /// The devices that the group may be on, which those that it joins have in common.
  [[nodiscard]] MergeRules::State may(GroupId group) { return may_[at(find(group))]; }

  /// False where they are one set already or may not be on the same devices. `into` names the
  /// union.
  bool join(GroupId from, GroupId into) {
    from = find(from);
    into = find(into);
    if (from == into || !rules_.allow(may_[at(from)], may_[at(into)])) return false;
    sets_.merge(from, into);
    may_[at(into)] = rules_.join(may_[at(from)], may_[at(into)]);
    return true;
  }

  [[nodiscard]] std::vector<GroupId> group_of_ops(const Groups& base) {
    std::vector<GroupId> result(base.map().begin(), base.map().end());
    for (GroupId& group : result) group = find(group);
    return result;
  }

 private:
  MergeRules rules_;
  DisjointSets sets_;
  std::vector<MergeRules::State> may_;
};

/// The first of the run of convolution and pooling layers that each layer is in; itself elsewhere.
std::vector<LayerId> runs_of_layers(const Graph& graph, const Layers& layers) {
  constexpr LayerId kSeveral = -2;
  const std::size_t count = layers.all().size();
  std::vector<LayerId> before(count, kNoLayer);
  std::vector<LayerId> after(count, kNoLayer);
  const auto note = [&](LayerId& known, LayerId layer) {
    known = known == kNoLayer || known == layer ? layer : kSeveral;
  };
  for (OpId op = 0; op < graph.op_count(); ++op) {
    for (const Edge& edge : graph.out_edges(op)) {
      const LayerId src = layers.of(op);
      const LayerId dst = layers.of(edge.dst);
      if (src == dst || src == kNoLayer || dst == kNoLayer || !layers.forward(edge.dst)) continue;
      note(after[at(src)], dst);
      note(before[at(dst)], src);
    }
  }
  const auto in_rows = [&](LayerId layer) {
    return layers[layer].kind == LayerKind::convolution || layers[layer].kind == LayerKind::pooling;
  };
  std::vector<LayerId> first(count);
  std::vector<int> length(count, 1);
  for (LayerId layer = 0; layer < static_cast<LayerId>(count); ++layer) {  // topological
    first[at(layer)] = layer;
    const LayerId previous = before[at(layer)];
    if (previous < 0 || after[at(previous)] != layer) continue;
    if (!in_rows(layer) || !in_rows(previous) || length[at(previous)] == kLayersInARow) continue;
    first[at(layer)] = first[at(previous)];
    length[at(layer)] = length[at(previous)] + 1;
  }
  return first;
}

/// The layer of a co-location class: of its first forward op that has one, else of its first op
/// that has one (a gradient on its own, by its name).
LayerId layer_of_class(const Layers& layers, std::span<const OpId> members) {
  LayerId result = kNoLayer;
  for (const OpId op : members) {
    if (layers.of(op) == kNoLayer) continue;
    if (layers.forward(op)) return layers.of(op);
    if (result == kNoLayer) result = layers.of(op);
  }
  return result;
}

/// The groups of rule 2.
struct LayerGroups {
  std::shared_ptr<const Groups> groups;
  std::vector<bool> holds_layer;  ///< by group
};

LayerGroups group_layers(const Graph& graph, const Costs& costs, const Groups& base) {
  const Layers layers(graph);
  const std::vector<LayerId> run_of = runs_of_layers(graph, layers);
  Sets sets(base, costs);
  // Ops of a layer that may be on other devices than the rest of it are a group of their own.
  std::map<std::pair<LayerId, MergeRules::State>, GroupId> group_of_run;
  for (GroupId group = 0; group < base.count(); ++group) {
    const LayerId layer = layer_of_class(layers, base.members(group));
    if (layer == kNoLayer) continue;
    const auto of_run = group_of_run.try_emplace({run_of[at(layer)], sets.may(group)}, group).first;
    sets.join(group, of_run->second);
  }
  LayerGroups result{std::make_shared<const Groups>(graph, sets.group_of_ops(base)), {}};
  result.holds_layer.assign(at(result.groups->count()), false);
  for (const auto& [run, group] : group_of_run) {
    result.holds_layer[at(result.groups->of(base.members(group).front()))] = true;
  }
  return result;
}

/// Every group with one consumer joins it, but for layers, which stay as they are; consumers are
/// those of the groups as they are.
std::vector<GroupId> join_only_consumers(const LayerGroups& layers, Sets sets) {
  const Groups& groups = *layers.groups;
  for (GroupId group = groups.count() - 1; group >= 0; --group) {
    const auto edges = groups.out_edges(group);
    if (edges.size() == 1 && !layers.holds_layer[at(group)]) sets.join(group, edges.front().dst);
  }
  return sets.group_of_ops(groups);
}

/// The same until nothing changes, with what has been joined as one consumer.
///
/// A group with several consumers watches two of them, and is looked at again when one is joined to
/// something. Every list moves from the smaller set to the larger, and what a group consumes twice
/// is forgotten when it is seen: O(edges log edges) in all.
class Fixpoint {
 public:
  Fixpoint(const LayerGroups& layers, Sets sets)
      : groups_(*layers.groups),
        sets_(std::move(sets)),
        holds_layer_(layers.holds_layer),
        consumers_(holds_layer_.size()),
        watchers_(holds_layer_.size()) {
    const Groups& groups = groups_;
    for (GroupId group = 0; group < groups.count(); ++group) {
      for (const Groups::Edge& edge : groups.out_edges(group)) {
        consumers_[at(group)].push_back(edge.dst);
      }
      pending_.push_back(group);
    }
  }

  std::vector<GroupId> run() {
    while (!pending_.empty()) {
      const GroupId group = pending_.front();
      pending_.pop_front();
      if (sets_.find(group) == group) look_at(group);
    }
    return sets_.group_of_ops(groups_);
  }

 private:
  void look_at(GroupId group) {
    std::vector<GroupId>& consumers = consumers_[at(group)];
    GroupId only = kNoGroup;
    for (std::size_t i = 0; i < consumers.size();) {
      consumers[i] = sets_.find(consumers[i]);
      if (consumers[i] == group || (i > 0 && consumers[i] == only)) {
        consumers[i] = consumers.back();
        consumers.pop_back();
      } else if (only == kNoGroup) {
        only = consumers[i++];
      } else {
        watchers_[at(only)].push_back(group);
        watchers_[at(consumers[i])].push_back(group);
        return;
      }
    }
    if (only != kNoGroup && !holds_layer_[at(group)]) join(group, only);
  }

  void join(GroupId a, GroupId b) {
    const auto weight = [this](GroupId g) {
      return consumers_[at(g)].size() + watchers_[at(g)].size();
    };
    const GroupId small = weight(a) < weight(b) ? a : b;
    const GroupId large = small == a ? b : a;
    if (!sets_.join(small, large)) return;
    holds_layer_[at(large)] = holds_layer_[at(large)] || holds_layer_[at(small)];
    append(consumers_[at(large)], consumers_[at(small)]);
    pending_.insert(pending_.end(), watchers_[at(small)].begin(), watchers_[at(small)].end());
    append(watchers_[at(large)], watchers_[at(small)]);
    pending_.push_back(large);
  }

  static void append(std::vector<GroupId>& to, std::vector<GroupId>& from) {
    to.insert(to.end(), from.begin(), from.end());
    from = {};
  }

  const Groups& groups_;
  Sets sets_;
  std::vector<bool> holds_layer_;
  std::vector<std::vector<GroupId>> consumers_;
  std::vector<std::vector<GroupId>> watchers_;
  std::deque<GroupId> pending_;
};

}  // namespace

std::shared_ptr<const Groups> icml2017_groups(const Graph& graph, const Costs& costs) {
  groups::require_costs_of(graph, costs);
  const std::shared_ptr<const Groups> base = colocation_groups(graph);
  LayerGroups layers = group_layers(graph, costs, *base);
  // Kinds or co-location can tear a layer apart so that the rest of it would be on a cycle.
  if (base->acyclic() && !layers.groups->acyclic()) {
    layers = {base, std::vector<bool>(at(base->count()), false)};
  }
  Sets sets(*layers.groups, costs);
  return std::make_shared<const Groups>(graph, base->acyclic()
                                                   ? join_only_consumers(layers, std::move(sets))
                                                   : Fixpoint(layers, std::move(sets)).run());
}

}  // namespace berth
