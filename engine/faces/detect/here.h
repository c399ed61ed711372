// The word "here": this machine, which the engine does not look at.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/cluster.h"
#include "berth/settings.h"

namespace berth::detect {

/// load_cluster (files.h), which also knows "here". A process looks at its machine once: what it measures
/// may not be the same twice.
[[nodiscard]] std::shared_ptr<const Cluster> load_machine(const std::string& machine);

/// Replaces "here" in `cluster` and `clusters` by the text of this machine's berth.cluster/1. Returns what could
/// not be found out of it, and what this process may not use; nothing where no machine is "here".
std::vector<std::string> find_here(Settings& settings);

}  // namespace berth::detect
