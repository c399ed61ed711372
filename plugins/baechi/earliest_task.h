// Earliest task first, alone and with favourite children.
#pragma once

#include <vector>

#include "berth/policy.h"
#include "common/schedule.h"

namespace berth::policies::baechi {

/// Earliest task first (Hwang, Chow, Anger, Lee, SIAM J. Comput. 18(2), 1989), within memory as
/// m-ETF of Baechi has it (Jeon et al., SoCC 2020, section 3.2): of all ready ops and devices with
/// room, the pair that can start first; among equals the op with the highest upward rank, then the
/// device where it ends first. Devices other than `devices` get what nothing else can run.
///
/// `favourite_child` by op (kNoOp = none; empty = none at all) makes it m-SCT (section 3.3, after
/// Hanen and Munier, 1995): a device whose last op's favourite child is ready, and can start
/// nowhere earlier than there, is awake for it. Until that start it takes only urgent ops: those
/// whose inputs would be there wherever they come from.
///
/// Each device keeps a heap of waiting and one of ready ops and looks only at their tops, because a
/// start that was found once can only move back. Of those that have moved back it looks at a few:
/// where many have, a pair that can start a little later may be taken. If stopped early, it leaves ops unplaced.
[[nodiscard]] Schedule schedule_earliest_task_first(const Problem& problem,
                                                    const std::vector<DeviceId>& devices,
                                                    ScheduleRules rules,
                                                    const std::vector<OpId>& favourite_child,
                                                    const PlaceContext& context);

}  // namespace berth::policies::baechi
