// Favourite children by the relaxed linear program of SCT.
#pragma once

#include <vector>

#include "berth/policy.h"
#include "common/list_scheduling.h"

namespace berth::policies::baechi {

/// The consumer that each op should share a device with, by op; kNoOp = none. Every op has at most
/// one favourite child and is the favourite child of at most one op. The exception is within a node
/// of the program (see below), where they follow each other.
///
/// The program (Hanen and Munier, "An approximation algorithm for scheduling dependent tasks on m
/// processors with small communication delays", ETFA 1995; Jeon et al., SoCC 2020, section 3.3):
/// start times s, a makespan w and x_ij in [0, 1] per edge, 0 where j is the favourite child of i;
/// least w such that s_i + k_i + c_ij x_ij <= s_j, s_i + k_i <= w, and the x of the edges from any
/// i, and of those to any j, add up to at least their number less one. x below 0.5 is taken as 0.
/// k and c are mean times. It is solved by Clp's dual simplex.
///
/// Its nodes are the problem's groups, or `coarsen(graph, costs, max_nodes)` if there are more.
/// Edges against the order of the groups, which co-location can force, are left out. If stopped
/// early, or if the solver fails, no op has a favourite outside its node.
[[nodiscard]] std::vector<OpId> favourite_children(const Problem& problem, const MeanTimes& means,
                                                   GroupId max_nodes, const PlaceContext& context);

}  // namespace berth::policies::baechi
