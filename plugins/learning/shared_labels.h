// Labels of groups where there are more groups than labels.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/problem.h"

namespace berth::learning {

/// A label per group, below `capacity`: its own, or where there are too many, one shared with those
/// that come next in topological order and may be on the same devices. Groups of other devices share
/// one only where there are more sets of devices than labels.
[[nodiscard]] std::vector<std::int32_t> shared_labels(const Problem& problem,
                                                      std::int64_t capacity);

}  // namespace berth::learning
