// The layers of a network whose graph names no modules.
#pragma once

#include <memory>
#include <vector>

#include "berth/groups.h"
#include "berth/problem.h"

namespace berth::policies {

/// Layers: ops that read or change the same weights, in any step of a loop and in both directions,
/// with their surroundings. Cycles lead through such layers, so that coarsening never finds them. Null where there
/// are fewer than two.
[[nodiscard]] std::shared_ptr<const Groups> layers_of(const Problem& problem);

/// Those layers, in the order in which a step comes to them first, where it comes back to most, as
/// training does; else none: then a cut between two layers is one between two ops as well.
[[nodiscard]] std::vector<std::vector<OpId>> layers_in_turn(const Problem& problem);

}  // namespace berth::policies
