// HEFT: heterogeneous earliest finish time.
#pragma once

#include <vector>

#include "berth/policy.h"
#include "common/schedule.h"

namespace berth::policies::heft {

/// Topcuoglu, Hariri, Wu, "Performance-effective and low-complexity task scheduling for
/// heterogeneous computing", TPDS 13(3), 2002, section 4: ops in the order of their upward ranks,
/// each on the device where it ends first, in the earliest gap that is long enough. A group of
/// several ops goes to where all of them, one after the other, would end first. Devices other than
/// `devices` get what nothing else can run. It searches for O(edges x devices) gaps. Stopped early
/// it leaves the ops that rank lowest unplaced.
[[nodiscard]] Schedule schedule_by_earliest_finish(const Problem& problem,
                                                   const std::vector<DeviceId>& devices,
                                                   ScheduleRules rules,
                                                   const PlaceContext& context);

}  // namespace berth::policies::heft
