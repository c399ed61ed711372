/// @file
/// Repairs that policies apply to their answers.
#pragma once

#include "berth/evaluator.h"
#include "berth/export.h"
#include "berth/options.h"
#include "berth/policy.h"
#include "berth/problem.h"

namespace berth {

inline constexpr OptionSpec kRepairOption = {
    "repair", OptionType::boolean, "true",
    "move groups from devices whose memory they exceed; false leaves them there"};

/// Moves every group that its device cannot run, or that constraints keep off it, to the possible
/// device where it adds least: compute time plus the transfers from and to its neighbours. Also
/// moves groups apart that must be apart; throws Error(infeasible) if there are no devices for
/// them.
BERTH_EXPORT void keep_to_kinds(const Problem& problem, GroupPlacement& placement);

/// keep_to_kinds; also moves groups off devices whose memory their parameters exceed. Repair never
/// changes a valid answer. The most restricted and largest groups are considered first, so that
/// large ones stay and small ones move (first fit decreasing). Where that leaves a group without room,
/// a search of some milliseconds packs the largest anew. Throws Error(infeasible) naming a group for
/// which there is no room, and saying whether it is proven that there is none.
BERTH_EXPORT void keep_to_parameters(const Problem& problem, GroupPlacement& placement);

/// The placement per op. With `fit_memory`: keep_to_parameters, then up to twelve rounds of
/// evaluating the placement and moving groups off devices that still overflow (outputs, workspace),
/// as many as they exceed. If that does not help, the same after making room beforehand for a share
/// of all outputs, a larger one each time; throws Error(infeasible) if none helps. Told to stop, it
/// returns the fastest of context.initial that fits, or else one device for all, if that fits; with
/// neither it goes on, since a placement that comes late is better than none. Without: only
/// keep_to_kinds.
[[nodiscard]] BERTH_EXPORT Placement repair_placement(const Problem& problem, Evaluator& evaluator,
                                                      GroupPlacement placement, bool fit_memory,
                                                      const PlaceContext& context);

}  // namespace berth
