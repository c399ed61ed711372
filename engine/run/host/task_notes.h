// Notes for readers of a task's figures.
#pragma once

#include <string>
#include <vector>

#include "berth/problem.h"
#include "berth/settings.h"

namespace berth {

/// Settings that say nothing about this run; whoever gave them expects more of them.
void note_unused(const Settings& settings, std::vector<std::string>& notes);

/// Devices that stay idle, figures that say nothing, steps that wait for one another, ops without kernels or
/// work rules. `machine` is the user's, without the links that a tool's rules add. With `own_model` the tool has
/// kernels of its own.
void add_notes(const Problem& problem, const Cluster& machine, bool own_model,
               std::vector<std::string>& notes);

/// Whether f32 is in TF32, where costs rest on that and nobody has said it.
void note_tf32(const Graph& graph, const Cluster& cluster, const Costs& costs,
               const Settings& settings, std::vector<std::string>& notes);

}  // namespace berth
