// The objective `throughput`: steps pass through the devices as through a pipeline, and the device
// with the largest load sets the pace.
#pragma once

#include <span>

#include "simulator/plan.h"
#include "simulator/workspace.h"

namespace berth::simulator {

/// Writes the load of each device to `load_us`: the time of its ops, of every distinct tensor it
/// receives, and of every output it sends; an output counts once, over the slowest of its
/// receivers' routes. A host device pays for no transfers, and control edges cost nothing.
void device_loads(const Plan& plan, std::span<const DeviceId> placement, Workspace& workspace,
                  std::vector<double>& load_us);

/// The compute part alone.
void device_compute(const Plan& plan, std::span<const DeviceId> placement,
                    std::vector<double>& busy_us);

}  // namespace berth::simulator
