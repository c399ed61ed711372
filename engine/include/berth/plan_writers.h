/// @file
/// Placements in the form that other tools take. A form says what was placed, or nothing: it is never
/// rounded. The page share/berth/formats/plans.md says for each of them what is lost.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "berth/cluster.h"
#include "berth/export.h"
#include "berth/graph.h"
#include "berth/placement.h"

namespace berth {

/// A form of a plan. To add one: a function beside those of the others, and a row in their table.
struct PlanWriter {
  std::string_view name;     ///< "device_map"
  std::string_view meaning;  ///< for help: who takes it
  /// The text of the file, for a valid placement. Throws Error(unsupported) naming what of the
  /// placement the tool cannot express, and the fix.
  std::string (*text)(const Graph& graph, const Cluster& cluster, const Placement& placement);
  /// Before there is a placement: throws Error(unsupported) where no placement of this model on this
  /// machine can have the form. Null = every one can.
  void (*check)(const Graph& graph, const Cluster& cluster);
};

[[nodiscard]] BERTH_EXPORT std::span<const PlanWriter> plan_writers();
/// Throws Error(not_found) listing the names.
[[nodiscard]] BERTH_EXPORT const PlanWriter& plan_writer(std::string_view name);

}  // namespace berth
