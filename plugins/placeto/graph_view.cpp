#include "graph_view.h"

#include <algorithm>

#include "berth/sdk/observation.h"

namespace berth::placeto {
namespace {

Neighbours neighbours(const Groups& groups, bool incoming) {
  Neighbours result;
  result.begin.push_back(0);
  for (GroupId group = 0; group < groups.count(); ++group) {
    for (const Groups::Edge& edge :
         incoming ? forward_in_edges(groups, group) : forward_out_edges(groups, group)) {
      result.to.push_back(incoming ? edge.src : edge.dst);
    }
    const std::int32_t before = result.begin.back();
    result.begin.push_back(static_cast<std::int32_t>(result.to.size()));
    result.share.push_back(1.0F / static_cast<float>(std::max(result.begin.back() - before, 1)));
  }
  return result;
}

/// Gives `label` to all that `edges` lead to from `from`.
void mark_reachable(const Neighbours& edges, std::size_t from, Relation label, Relation* relations,
                    std::vector<std::size_t>& stack) {
  stack.assign(1, from);
  while (!stack.empty()) {
    const std::size_t v = stack.back();
    stack.pop_back();
    for (auto e = static_cast<std::size_t>(edges.begin[v]);
         e < static_cast<std::size_t>(edges.begin[v + 1]); ++e) {
      const auto next = static_cast<std::size_t>(edges.to[e]);
      if (relations[next] != Relation::parallel) continue;
      relations[next] = label;
      stack.push_back(next);
    }
  }
}

/// Leaves the `peers` nearest of the groups parallel to `from`, of two equally near the earlier
/// one.
void forget_far(Relation* relations, std::size_t count, std::size_t from, std::size_t peers) {
  for (std::size_t distance = 1; distance < count; ++distance) {
    for (const bool later : {false, true}) {
      if (later ? from + distance >= count : distance > from) continue;
      Relation& relation = relations[later ? from + distance : from - distance];
      if (relation != Relation::parallel) continue;
      if (peers == 0) {
        relation = Relation::far_parallel;
      } else {
        --peers;
      }
    }
  }
}

}  // namespace

GraphView::GraphView(const Groups& groups, std::size_t peers)
    : count(static_cast<std::size_t>(groups.count())),
      parents(neighbours(groups, /*incoming=*/true)),
      children(neighbours(groups, /*incoming=*/false)),
      relations(count * count, Relation::parallel) {
  std::vector<std::size_t> stack;
  for (std::size_t v = 0; v < count; ++v) {
    Relation* row = relations.data() + v * count;
    row[v] = Relation::self;
    mark_reachable(parents, v, Relation::ancestor, row, stack);
    mark_reachable(children, v, Relation::descendant, row, stack);
    if (peers > 0) forget_far(row, count, v, peers);
  }
}

}  // namespace berth::placeto
