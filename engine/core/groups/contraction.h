// An acyclic graph whose edges are contracted one by one, with a topological order kept up.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "berth/groups.h"
#include "berth/support/index.h"

namespace berth {

/// Nodes start as the groups of a Groups and become sets of them.
///
/// Invariant: every edge goes from a smaller to a larger position. Where the groups' quotient graph
/// is cyclic, an edge against the groups' numbering counts as one along it: no order can respect
/// both, and what is merged cannot make that worse for the rest.
///
/// Contracting u -> v keeps the graph acyclic exactly if there is no other path from u to v. The
/// path is searched, and the order repaired, between the positions of u and v alone, as in
/// Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", ACM JEA
/// 2006, with a limit on the search: where it is reached, the edge is left uncontracted.
/// [thread-compatible]
class Contraction {
 public:
  using Node = std::int32_t;
  using EdgeId = std::int32_t;

  /// `search_limit`: edges that one search may look at.
  Contraction(const Groups& groups, std::int32_t search_limit);

  struct Edge {
    Node src;
    Node dst;
    std::int64_t bytes;
    bool alive;
  };
  [[nodiscard]] const std::vector<Edge>& edges() const noexcept { return edges_; }

  /// Merges the ends of a living edge where that creates no cycle; the one that stays, or -1 where
  /// it would (or might) create one. Edges whose bytes grew (they absorbed a parallel one) are
  /// appended to `grown`.
  Node contract(EdgeId edge, std::vector<EdgeId>& grown);

  /// The living nodes in topological order.
  [[nodiscard]] std::vector<Node> order() const;

 private:
  struct Links {
    EdgeId first = -1;
    std::int32_t count = 0;
  };
  /// Neighbours in the doubly linked list of its source (out) and destination (in).
  struct Hooks {
    EdgeId previous = -1;
    EdgeId next = -1;
  };
  /// Walking forward or backward: the same code with the roles of the two ends exchanged.
  struct Direction {
    std::vector<Links> links;
    std::vector<Hooks> hooks;
  };
  enum class Search { complete, reached, too_long };

  [[nodiscard]] static std::uint64_t key(Node src, Node dst) {
    return (static_cast<std::uint64_t>(src) << 32) | static_cast<std::uint32_t>(dst);
  }
  [[nodiscard]] Node tail(const Direction& direction, EdgeId edge) const {
    return &direction == &out_ ? edges_[at(edge)].src : edges_[at(edge)].dst;
  }
  [[nodiscard]] Node head(const Direction& direction, EdgeId edge) const {
    return &direction == &out_ ? edges_[at(edge)].dst : edges_[at(edge)].src;
  }
  void hook(Direction& direction, EdgeId edge);
  void unhook(Direction& direction, EdgeId edge);
  void remove(EdgeId edge);
  void redirect(Direction& direction, Node from, Node to, std::vector<EdgeId>& grown);

  /// Nodes reachable from `from` (itself left out) strictly before the position of `to`, seen in
  /// `direction`, not using `skipped`.
  Search reach(const Direction& direction, Node from, Node to, EdgeId skipped,
               std::vector<Node>& found);
  void reorder(Node u, Node v, Node survivor);

  std::int32_t search_limit_;
  std::vector<Edge> edges_;
  std::unordered_map<std::uint64_t, EdgeId> edge_of_;
  Direction out_;
  Direction in_;
  std::vector<std::int32_t> position_;
  std::vector<bool> alive_;
  // Scratch of contract().
  std::vector<std::int32_t> visited_;  // by node: the last search that saw it
  std::int32_t search_ = 0;
  std::vector<Node> before_;
  std::vector<Node> after_;
};

}  // namespace berth
