// Scotch behind a C++ interface: one call, exceptions for errors, nothing printed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/weighted_graph.h"

namespace berth::policies::scotch {

/// Processors and their distances.
struct MappingTarget {
  std::vector<double> speeds;  ///< > 0
  /// Time to move a unit of data between two processors, symmetric, row-major, > 0 off the
  /// diagonal.
  std::vector<double> distances;
};

/// Static mapping by dual recursive bipartitioning (Pellegrini and Roman, "Scotch: a software
/// package for static mapping by dual recursive bipartitioning of process and architecture graphs",
/// HPCN 1996): processor of each vertex, so that loads follow speeds within `imbalance` and the sum
/// of edge weight times distance is small. It uses one thread, so the answer depends on the seed
/// only. `strategy` is a value of the option. Requires at least one vertex and one processor. Throws Error(unsupported) with Scotch's
/// message if it fails. [thread-safe: calls wait for each other]
[[nodiscard]] std::vector<std::int32_t> map_statically(const WeightedGraph& graph,
                                                       const MappingTarget& target,
                                                       std::string_view strategy, double imbalance,
                                                       std::uint64_t seed);

}  // namespace berth::policies::scotch
