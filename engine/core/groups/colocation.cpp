#include <string_view>
#include <unordered_map>

#include "berth/groups.h"
#include "berth/support/index.h"

namespace berth {

std::shared_ptr<const Groups> colocation_groups(const Graph& graph) {
  std::vector<GroupId> group_of(at(graph.op_count()));
  std::unordered_map<std::string_view, GroupId> group_of_class;
  GroupId next = 0;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    GroupId& group = group_of[at(op)];
    const std::string& name = graph.colocation(op);
    if (name.empty()) {
      group = next++;
    } else {
      const auto [entry, is_new] = group_of_class.try_emplace(name, next);
      group = entry->second;
      if (is_new) ++next;
    }
  }
  // A constant takes no part in the step: it goes with what reads it.
  for (OpId op = 0; op < graph.op_count() && graph.constant_count() > 0; ++op) {
    const OpId reader = graph.first_reader(op);
    if (reader != kNoOp && graph.colocation(op).empty()) group_of[at(op)] = group_of[at(reader)];
  }
  return std::make_shared<const Groups>(graph, std::move(group_of));
}

}  // namespace berth
