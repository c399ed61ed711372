#include <utility>

#include "berth/constraints.h"
#include "berth/groups.h"
#include "berth/support/disjoint_sets.h"
#include "berth/support/index.h"
#include "constraints/merge_limits.h"
#include "groups/merge_rules.h"

namespace berth {
namespace {

/// For every group, the union of groups it must be part of: those that share a class.
std::vector<GroupId> joined(const Groups& groups, const Groups& classes) {
  DisjointSets sets(at(groups.count()));
  for (GroupId of_classes = 0; of_classes < classes.count(); ++of_classes) {
    const auto members = classes.members(of_classes);
    for (const OpId op : members) sets.merge(groups.of(op), groups.of(members.front()));
  }
  return sets.names();
}

}  // namespace

std::shared_ptr<const Groups> regroup(const Graph& graph, const Costs& costs, const Groups& groups,
                                      const Constraints& constraints) {
  const Groups& classes = *constraints.classes();
  const std::vector<GroupId> join = joined(groups, classes);
  const ConstraintLimits limits(constraints);
  MergeRules rules(costs, &limits);
  std::vector<MergeRules::State> state_of(at(classes.count()));
  std::vector<std::vector<MergeRules::State>> states(at(groups.count()));  // by union
  for (GroupId of_classes = 0; of_classes < classes.count(); ++of_classes) {
    state_of[at(of_classes)] = rules.of(classes.members(of_classes));
    states[at(join[at(groups.of(classes.members(of_classes).front()))])].push_back(
        state_of[at(of_classes)]);
  }
  std::vector<bool> whole(at(groups.count()), false);
  for (GroupId group = 0; group < groups.count(); ++group) {
    whole[at(group)] = !states[at(group)].empty() && rules.allow(states[at(group)]);
  }
  // The piece of each union that is being filled: what is cut off never grows again, so that pieces
  // are runs of the union's classes and lie one after the other in topological order.
  struct Piece {
    GroupId label = kNoGroup;
    MergeRules::State state;
  };
  std::vector<Piece> open(at(groups.count()));
  GroupId next = 0;
  std::vector<GroupId> label_of_class(at(classes.count()), kNoGroup);
  std::vector<GroupId> group_of(at(graph.op_count()));
  for (const OpId op : graph.topological_order()) {
    GroupId& label = label_of_class[at(classes.of(op))];
    if (label == kNoGroup) {
      const GroupId group = join[at(groups.of(op))];
      Piece& piece = open[at(group)];
      const MergeRules::State state = state_of[at(classes.of(op))];
      if (piece.label == kNoGroup || !(whole[at(group)] || rules.allow(piece.state, state))) {
        piece = {next++, state};
      } else if (!whole[at(group)]) {
        piece.state = rules.join(piece.state, state);
      }
      label = piece.label;
    }
    group_of[at(op)] = label;
  }
  return std::make_shared<const Groups>(graph, std::move(group_of));
}

}  // namespace berth
