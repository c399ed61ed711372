// What every policy does with its answer before it hands it over.
#pragma once

#include <vector>

#include "berth/environment.h"
#include "berth/evaluator.h"
#include "berth/options.h"
#include "berth/policy.h"
#include "berth/problem.h"

namespace berth::policies {

inline constexpr OptionSpec kRepairOption = {
    "repair", OptionType::boolean, "true",
    "move groups from devices whose memory they exceed; false leaves them there"};

/// Devices that a baseline spreads a graph over, in the cluster's order: all of them, or without
/// the hosts (where there is nothing but hosts: all of them). Never empty.
[[nodiscard]] std::vector<DeviceId> spread_devices(const Problem& problem, bool hosts);

/// Whether to return the best so far now.
[[nodiscard]] inline bool stopped(const PlaceContext& context) {
  return context.should_stop && context.should_stop();
}

/// Moves every group that its device cannot run, or that constraints keep from it, to the able
/// device where it adds least: compute time plus the transfers from and to its neighbours; and
/// groups that are to be apart away from each other. Throws Error(infeasible) where those find no
/// devices.
void keep_to_kinds(const Problem& problem, GroupPlacement& placement);

/// keep_to_kinds, and also moves groups from devices whose memory their parameters exceed. A
/// placement that needs neither is left as it is. Groups are considered from the most restricted
/// and the largest on, so that large ones stay and small ones move (first fit decreasing).
/// Throws Error(infeasible) naming the group that finds no room.
void keep_to_parameters(const Problem& problem, GroupPlacement& placement);

/// The placement per op. With `fit_memory`: keep_to_parameters, then up to twelve rounds of
/// evaluating the placement and moving groups away from devices that still overflow (outputs,
/// workspace) by as much as they do; throws Error(infeasible) where that does not help. Without:
/// keep_to_kinds alone.
[[nodiscard]] Placement finish(const Problem& problem, Evaluator& evaluator,
                               GroupPlacement placement, bool fit_memory);

}  // namespace berth::policies
