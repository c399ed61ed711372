#pragma once

#include "berth/groups.h"

namespace berth::groups {

/// Throws Error(invalid_argument) unless `placement` has one device per group.
void require_device_per_group(const GroupPlacement& placement, const Groups& groups);

}  // namespace berth::groups
