// A search for a packing where first fit leaves a group without room.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/placement.h"
#include "berth/problem.h"

namespace berth {

enum class PackingEnd { found, none_exists, gave_up };

/// Moves the largest groups so that the `bytes` [groups] on no device exceed its `capacity`
/// [devices], and every group is on a device that can run it. Small groups beyond the largest
/// hundred or so stay where they are, and what separates groups is not looked at: the caller fits
/// in the rest. `placement` is as it was unless a packing is found.
///
/// Bin completion (Korf, "An improved algorithm for optimal bin packing", 2003): device by device is
/// filled with the largest group left and others beside it, the fullest way first, and never in a way
/// that wastes more than all devices together may. Gives up after some thousand ways.
[[nodiscard]] PackingEnd pack_largest(const Problem& problem,
                                      const std::vector<std::int64_t>& bytes,
                                      const std::vector<std::int64_t>& capacity,
                                      GroupPlacement& placement);

}  // namespace berth
