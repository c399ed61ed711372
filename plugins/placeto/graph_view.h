// A problem's groups as a graph, as the network needs them.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/groups.h"

namespace berth::placeto {

/// Compressed rows: the neighbours of v are to[begin[v], begin[v + 1]).
struct Neighbours {
  std::vector<std::int32_t> begin;
  std::vector<std::int32_t> to;
  std::vector<float> share;  ///< by v: 1 / the number of its neighbours; 1 if it has none
};

/// How a group stands to the one that is placed. The first kRelations have a pool each.
enum class Relation : std::uint8_t { ancestor, descendant, parallel, self, far_parallel };
inline constexpr std::size_t kRelations = 3;

/// The graph of the edges that run with the groups' order (forward_out_edges), which has no cycle.
/// Immutable.
struct GraphView {
  /// Groups parallel to one, but the `peers` nearest in topological order, are
  /// far_parallel (n_peers in the released code); 0 = none is.
  explicit GraphView(const Groups& groups, std::size_t peers = 0);

  [[nodiscard]] Relation relation(std::size_t current, std::size_t other) const {
    return relations[current * count + other];
  }

  std::size_t count;
  Neighbours parents;
  Neighbours children;
  /// [current][other].
  std::vector<Relation> relations;
};

}  // namespace berth::placeto
