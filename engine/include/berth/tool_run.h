/// @file
/// Runs for tools: a search under a tool's rules, the simplest placement near to the best, and rules that
/// give way.
#pragma once

#include <optional>
#include <string>

#include "berth/engine.h"
#include "berth/export.h"
#include "berth/outcome.h"
#include "berth/run.h"
#include "berth/settings.h"

namespace berth {

/// Choices of a run beside its settings.
struct ToolRun {
  std::optional<std::string> tool;   ///< of tools(): the placement keeps its rules
  std::optional<double> within;      ///< a share, >= 0; default: 0.03 with a tool, else nothing
  std::optional<std::string> start;  ///< a berth.placement/1 file to start from
  /// Constraints that cannot be kept are left out, later ones first, with a note.
  bool soft = false;

  [[nodiscard]] bool asks() const { return tool || within || start || soft; }
};

/// berth::run under these. With `within`, the result is the simplest placement that is found at most so
/// much slower than the best of the policy's own and of `stages`. For a tool whose devices have runs of
/// layers in a fixed order the policy is `stages`, and the settings may name no other; of a tool that
/// spills, hosts are left out until nothing fits. Throws Error(unsupported) where the tool cannot have
/// the model or the machine, Error(not_found) for an unknown tool, Error(infeasible) where nothing
/// fits.
[[nodiscard]] BERTH_EXPORT Outcome run_for(Engine& engine, const std::string& model,
                                           const Settings& settings, const ToolRun& wanted,
                                           const RunHooks& hooks = {});

}  // namespace berth
