// Coarsening under limits that lie above groups.
#pragma once

#include <memory>

#include "berth/groups.h"
#include "groups/merge_rules.h"

namespace berth::groups {

/// berth::coarsen from `base`, which are the classes of `limits` where these are not null.
[[nodiscard]] std::shared_ptr<const Groups> coarsen_within(const Graph& graph, const Costs& costs,
                                                           GroupId count,
                                                           std::shared_ptr<const Groups> base,
                                                           const MergeLimits* limits);

}  // namespace berth::groups
