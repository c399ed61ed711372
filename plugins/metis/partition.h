// Weighted graphs cut into parts by METIS (Karypis and Kumar, SIAM J. Sci. Comput. 20(1), 1998; JPDC
// 48(1), 1998; with several weights per vertex: SC 1998).
#pragma once

#include <cstdint>
#include <vector>

#include "common/weighted_graph.h"

namespace berth::policies::metis {

struct PartitionSettings {
  bool recursive = false;   ///< by repeated bisection; always where there are phases
  double imbalance = 0.03;  ///< by how much a load may pass its share, relative
  std::uint64_t seed = 0;
};

/// Weights of the vertices in one phase after the other: [vertex * phases + phase], which add up to
/// their weights. Every part gets its share of every phase.
struct Phases {
  int count = 1;
  std::vector<double> weights;  ///< empty where `count` is 1
};

/// The part of every vertex, where the parts' shares of all the weight are as `speeds` and little
/// weight of edges lies between parts. `node_of`: by part, ascending, which parts are near each
/// other; bisection separates nodes before it cuts one. There are no more parts than vertices, and
/// at least 2. Deterministic for a seed. [thread-safe: METIS is locked]
[[nodiscard]] std::vector<int> partition(const WeightedGraph& graph, const Phases& phases,
                                         const std::vector<double>& speeds,
                                         const std::vector<int>& node_of,
                                         const PartitionSettings& settings);

}  // namespace berth::policies::metis
