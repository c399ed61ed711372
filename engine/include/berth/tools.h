/// @file
/// Tools that run a model on several devices, and what each of them asks of a placement. The page
/// share/berth/formats/plans.md has them in a table.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster.h"
#include "berth/constraints.h"
#include "berth/costs.h"
#include "berth/export.h"
#include "berth/graph.h"
#include "berth/placement.h"

namespace berth {

/// The conditions on a placement for a tool to run it as it is.
struct ToolRules {
  std::vector<ConstraintRule> constraints;
  std::shared_ptr<const Costs> costs;  ///< null: those of the problem
  std::shared_ptr<const Cluster>
      cluster;                     ///< the same devices with other links; null: the problem's
  std::vector<std::string> notes;  ///< sentences without a full stop
  bool overwrites = true;          ///< ProblemOptions::overwrites
};

/// The graph and machine that the rules are for.
struct ToolTask {
  const Graph& graph;
  const Cluster& cluster;
  const Costs& costs;
  /// For a tool that spills: the accelerators do not hold everything.
  bool spill = false;
  /// The objective is throughput: steps follow each other through the devices.
  bool pipeline = false;
  /// That of `costs`.
  Arithmetic arithmetic = {};
};

struct Tool {
  std::string_view name;  ///< "llama.cpp"
  std::string_view form;  ///< of plan_writers(), or "model": the model's own format
  /// Hosts are left out at first, and asked for again with ToolTask::spill where nothing fits.
  bool spills;
  /// The devices have runs of blocks, which constraints cannot say: the policies `stages`, with these
  /// as its options of the same names, `fill` and `even` keep to it. Null = ops may be anywhere.
  const char* order;
  const char* hosts;
  /// Throws Error(unsupported) saying what of the model or the machine the tool cannot have.
  ToolRules (*rules)(const ToolTask& task);
  /// The model with the caches that the tool allots in place of the file's: the same ops with tensors of
  /// other sizes, for which costs and rules are asked for. Throws as `rules` does. Null = the file's.
  std::shared_ptr<const Graph> (*held)(std::shared_ptr<const Graph> graph);
  /// How its products are computed by default.
  Arithmetic arithmetic;
};

[[nodiscard]] BERTH_EXPORT std::span<const Tool> tools();
/// Throws Error(not_found) listing the names.
[[nodiscard]] BERTH_EXPORT const Tool& tool(std::string_view name);
/// The placement in the tool's form; empty where that is the model's own format, or a table. Throws
/// Error(unsupported) naming what of it the tool cannot express.
[[nodiscard]] BERTH_EXPORT std::string plan_text(const Tool& tool, const Graph& graph,
                                                 const Cluster& cluster,
                                                 const Placement& placement);
/// Whether the tool can run the placement as it is: plan_text does not throw.
[[nodiscard]] BERTH_EXPORT bool can_have(const Tool& tool, const Graph& graph,
                                         const Cluster& cluster, const Placement& placement);

}  // namespace berth
