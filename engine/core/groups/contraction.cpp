#include "groups/contraction.h"

#include <algorithm>
#include <numeric>

#include "berth/support/index.h"

namespace berth {
Contraction::Contraction(const Groups& groups, std::int32_t search_limit)
    : search_limit_(search_limit),
      position_(at(groups.count())),
      alive_(at(groups.count()), true),
      visited_(at(groups.count()), 0) {
  std::iota(position_.begin(), position_.end(), 0);
  out_.links.resize(position_.size());
  in_.links.resize(position_.size());
  for (GroupId group = 0; group < groups.count(); ++group) {
    for (const Groups::Edge& edge : groups.out_edges(group)) {
      const Node src = std::min(edge.src, edge.dst);
      const Node dst = std::max(edge.src, edge.dst);
      const auto id = static_cast<EdgeId>(edges_.size());
      const auto [entry, is_new] = edge_of_.try_emplace(key(src, dst), id);
      if (is_new) {
        edges_.push_back({src, dst, edge.bytes, true});
      } else {
        edges_[at(entry->second)].bytes += edge.bytes;
      }
    }
  }
  out_.hooks.resize(edges_.size());
  in_.hooks.resize(edges_.size());
  for (EdgeId edge = 0; edge < static_cast<EdgeId>(edges_.size()); ++edge) {
    hook(out_, edge);
    hook(in_, edge);
  }
}

void Contraction::hook(Direction& direction, EdgeId edge) {
  Links& links = direction.links[at(tail(direction, edge))];
  direction.hooks[at(edge)] = {-1, links.first};
  if (links.first >= 0) direction.hooks[at(links.first)].previous = edge;
  links.first = edge;
  ++links.count;
}

void Contraction::unhook(Direction& direction, EdgeId edge) {
  Links& links = direction.links[at(tail(direction, edge))];
  const Hooks hooks = direction.hooks[at(edge)];
  if (hooks.previous >= 0) {
    direction.hooks[at(hooks.previous)].next = hooks.next;
  } else {
    links.first = hooks.next;
  }
  if (hooks.next >= 0) direction.hooks[at(hooks.next)].previous = hooks.previous;
  --links.count;
}

void Contraction::remove(EdgeId edge) {
  unhook(out_, edge);
  unhook(in_, edge);
  edge_of_.erase(key(edges_[at(edge)].src, edges_[at(edge)].dst));
  edges_[at(edge)].alive = false;
}

Contraction::Search Contraction::reach(const Direction& direction, Node from, Node to,
                                       EdgeId skipped, std::vector<Node>& found) {
  const bool forward = &direction == &out_;
  found.clear();
  ++search_;
  std::int32_t looked_at = 0;
  std::size_t next = 0;
  for (Node node = from;; node = found[next++]) {
    for (EdgeId edge = direction.links[at(node)].first; edge >= 0;
         edge = direction.hooks[at(edge)].next) {
      if (edge == skipped) continue;
      if (++looked_at > search_limit_) return Search::too_long;
      const Node other = head(direction, edge);
      if (other == to) return Search::reached;
      const bool inside = forward ? position_[at(other)] < position_[at(to)]
                                  : position_[at(other)] > position_[at(to)];
      if (!inside || visited_[at(other)] == search_) continue;
      visited_[at(other)] = search_;
      found.push_back(other);
    }
    if (next == found.size()) return Search::complete;
  }
}

/// Before: u, then in some order the ancestors of v (before_) and the descendants of u (after_),
/// then v. After: the ancestors, the merged node, the descendants, on the same positions. An
/// ancestor only moves to an earlier position and a descendant to a later one, and everything
/// between them that could mind is in the same set; so every edge still goes forward.
void Contraction::reorder(Node u, Node v, Node survivor) {
  const auto by_position = [this](Node a, Node b) { return position_[at(a)] < position_[at(b)]; };
  std::sort(before_.begin(), before_.end(), by_position);
  std::sort(after_.begin(), after_.end(), by_position);
  std::vector<std::int32_t> slots{position_[at(u)], position_[at(v)]};
  for (const Node node : before_) slots.push_back(position_[at(node)]);
  for (const Node node : after_) slots.push_back(position_[at(node)]);
  std::sort(slots.begin(), slots.end());
  for (std::size_t i = 0; i < before_.size(); ++i) position_[at(before_[i])] = slots[i];
  position_[at(survivor)] = slots[before_.size()];
  const std::size_t last = slots.size() - after_.size();
  for (std::size_t i = 0; i < after_.size(); ++i) position_[at(after_[i])] = slots[last + i];
}

void Contraction::redirect(Direction& direction, Node from, Node to, std::vector<EdgeId>& grown) {
  while (direction.links[at(from)].first >= 0) {
    const EdgeId edge = direction.links[at(from)].first;
    Edge& moved = edges_[at(edge)];
    const bool forward = &direction == &out_;
    const std::uint64_t new_key = forward ? key(to, moved.dst) : key(moved.src, to);
    if (const auto parallel = edge_of_.find(new_key); parallel != edge_of_.end()) {
      edges_[at(parallel->second)].bytes += moved.bytes;
      grown.push_back(parallel->second);
      remove(edge);
      continue;
    }
    edge_of_.erase(key(moved.src, moved.dst));
    unhook(direction, edge);
    (forward ? moved.src : moved.dst) = to;
    hook(direction, edge);
    edge_of_.emplace(new_key, edge);
  }
}

Contraction::Node Contraction::contract(EdgeId edge, std::vector<EdgeId>& grown) {
  const Node u = edges_[at(edge)].src;
  const Node v = edges_[at(edge)].dst;
  const Search backward = reach(in_, v, u, edge, before_);
  if (backward == Search::reached) return -1;
  const bool no_ancestors = backward == Search::complete && before_.empty();
  const Search forward = no_ancestors ? Search::complete : reach(out_, u, v, edge, after_);
  if (forward == Search::reached) return -1;
  const bool no_descendants = !no_ancestors && forward == Search::complete && after_.empty();

  const auto degree = [this](Node n) { return out_.links[at(n)].count + in_.links[at(n)].count; };
  // Moving the shorter list bounds the moves of all contractions to O(edges log nodes).
  const Node survivor = degree(u) >= degree(v) ? u : v;
  if (no_ancestors) {
    position_[at(survivor)] = position_[at(u)];
  } else if (no_descendants) {
    position_[at(survivor)] = position_[at(v)];
  } else if (backward == Search::complete && forward == Search::complete) {
    reorder(u, v, survivor);
  } else {
    return -1;
  }
  const Node absorbed = survivor == u ? v : u;
  remove(edge);
  redirect(out_, absorbed, survivor, grown);
  redirect(in_, absorbed, survivor, grown);
  alive_[at(absorbed)] = false;
  return survivor;
}

std::vector<Contraction::Node> Contraction::order() const {
  std::vector<Node> nodes;
  for (Node node = 0; node < static_cast<Node>(alive_.size()); ++node) {
    if (alive_[at(node)]) nodes.push_back(node);
  }
  std::sort(nodes.begin(), nodes.end(),
            [this](Node a, Node b) { return position_[at(a)] < position_[at(b)]; });
  return nodes;
}

}  // namespace berth
