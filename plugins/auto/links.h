// Machines whose links are unlike: the same problem as if they were alike, and which device should take whose part.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "berth/problem.h"

namespace berth::policies::auto_policy {

/// Whether links between devices that can take each other's part differ, and there are at most kMostMapped devices.
[[nodiscard]] bool has_unlike_links(const Problem& problem);
inline constexpr DeviceId kMostMapped = 128;

/// The problem with links between such devices that are all like the median one. Requires has_unlike_links.
[[nodiscard]] std::shared_ptr<const Problem> with_links_alike(const Problem& problem);

/// The placement with devices in each other's place, so that those that exchange much have quick links: a descent by
/// exchanges of two devices of one class and memory, from there and from around the best found. Transfers are
/// counted as if none waited for another.
[[nodiscard]] Placement mapped(const Problem& problem, std::span<const DeviceId> placement,
                               std::uint64_t seed);

}  // namespace berth::policies::auto_policy
