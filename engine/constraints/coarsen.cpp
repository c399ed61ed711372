#include "groups/coarsen.h"

#include "berth/constraints.h"
#include "constraints/merge_limits.h"

namespace berth {

std::shared_ptr<const Groups> coarsen(const Graph& graph, const Costs& costs, GroupId count,
                                      const Constraints* constraints) {
  if (constraints == nullptr) return coarsen(graph, costs, count);
  const ConstraintLimits limits(*constraints);
  return groups::coarsen_within(graph, costs, count, constraints->classes(), &limits);
}

}  // namespace berth
