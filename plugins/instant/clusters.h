// Groups that stay together through a pass.
#pragma once

#include <memory>
#include <vector>

#include "berth/groups.h"
#include "berth/problem.h"
#include "common/list_scheduling.h"

namespace berth::policies::instant {

/// A problem whose groups are clusters of another's, which a pass places as wholes.
struct Clustered {
  std::shared_ptr<const Problem> problem;
  std::vector<GroupId> of;       ///< cluster by group of the other problem
  std::vector<GroupId> longest;  ///< the group that takes longest, by cluster

  /// The placement by cluster, from one by group: each where its longest group is.
  [[nodiscard]] GroupPlacement gather(const GroupPlacement& placement) const;
  /// The placement by group, from one by cluster.
  [[nodiscard]] GroupPlacement spread(const GroupPlacement& placement) const;
};

/// Joins groups along their longest transfers first, as Kruskal's algorithm does. Two clusters that the same devices can
/// run become one where the transfer takes at least `bind` times as long as the shorter one of them, which would gain no
/// more by running beside the other, and where both together take at most `share` of what each of `count` devices would
/// have to do. Their quotient graph may have cycles. Takes O(edges log edges). Null where `share` is 0, where constraints
/// keep groups apart, and where nothing is joined.
[[nodiscard]] std::unique_ptr<const Clustered> clustered(const Problem& problem,
                                                         const MeanTimes& means, std::size_t count,
                                                         double share, double bind);

}  // namespace berth::policies::instant
