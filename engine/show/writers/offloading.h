// Costs and links of a problem where hosts hold weights and an accelerator computes with them.
#pragma once

#include <memory>

#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/tools.h"

namespace berth::writers {

/// A GPU computes what a host holds, and is sent its weights in every step.
[[nodiscard]] std::shared_ptr<const Costs> offloaded(const ToolTask& task, DeviceId main);
/// Blocks that a host holds are on the accelerator that computes them as far as what goes in and out is
/// concerned.
[[nodiscard]] std::shared_ptr<const Cluster> held_by_hosts(const Cluster& cluster, DeviceId main);

}  // namespace berth::writers
