#include <algorithm>
#include <numeric>

#include "berth/sdk/environment.h"
#include "berth/sdk/observation.h"
#include "berth/support/index.h"
#include "support/enum_name.h"

namespace berth {
namespace {

constexpr std::string_view kNames[] = {"topological", "reverse", "breadth_first", "depth_first",
                                       "random"};
static_assert(ends_with(kNames, Traversal::random));

/// Groups that no edge leads to, by number. All others can be reached from them.
std::vector<GroupId> roots(const Groups& groups) {
  std::vector<GroupId> roots;
  for (GroupId group = 0; group < groups.count(); ++group) {
    if (forward_in_edges(groups, group).empty()) roots.push_back(group);
  }
  return roots;
}

std::vector<GroupId> breadth_first(const Groups& groups) {
  std::vector<GroupId> order;
  std::vector<bool> seen(at(groups.count()));
  const auto visit = [&](GroupId group) {
    if (seen[at(group)]) return;
    seen[at(group)] = true;
    order.push_back(group);
  };
  for (const GroupId root : roots(groups)) visit(root);
  for (std::size_t next = 0; next < order.size(); ++next) {
    for (const Groups::Edge& edge : forward_out_edges(groups, order[next])) visit(edge.dst);
  }
  return order;
}

std::vector<GroupId> depth_first(const Groups& groups) {
  std::vector<GroupId> order;
  std::vector<bool> seen(at(groups.count()));
  std::vector<GroupId> stack;
  for (const GroupId start : roots(groups)) {
    stack.push_back(start);
    while (!stack.empty()) {
      const GroupId group = stack.back();
      stack.pop_back();
      if (seen[at(group)]) continue;
      seen[at(group)] = true;
      order.push_back(group);
      const auto edges = forward_out_edges(groups, group);
      for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge) stack.push_back(edge->dst);
    }
  }
  return order;
}

}  // namespace

std::string_view traversal_name(Traversal traversal) noexcept {
  return name_of(kNames, traversal);
}

Traversal traversal_from_name(std::string_view name) {
  return value_by_name<Traversal>("no traversal", name, kNames);
}

std::vector<GroupId> traversal_order(const Groups& groups, Traversal traversal, Random& random) {
  std::vector<GroupId> order(at(groups.count()));
  std::iota(order.begin(), order.end(), GroupId{0});  // groups are numbered topologically
  switch (traversal) {
    case Traversal::topological:
      break;
    case Traversal::reverse:
      std::reverse(order.begin(), order.end());
      break;
    case Traversal::breadth_first:
      return breadth_first(groups);
    case Traversal::depth_first:
      return depth_first(groups);
    case Traversal::random:
      for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[random.below(i)]);
      break;
  }
  return order;
}

}  // namespace berth
