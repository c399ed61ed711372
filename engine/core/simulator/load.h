// The objective `throughput`: steps pass through the devices as through a pipeline, and the device
// or the channel with the largest load sets the pace.
#pragma once

#include <span>

#include "simulator/plan.h"
#include "simulator/workspace.h"

namespace berth::simulator {

/// Whether `device` pays for a transfer from or to `other`. A host leaves that to the other end, which
/// copies; between two hosts both of them do.
[[nodiscard]] inline bool pays(const Cluster& cluster, DeviceId device, DeviceId other) noexcept {
  return !cluster.device(device).host || cluster.device(other).host;
}

/// Writes the load of each device to `load_us`: the time of its ops, of every distinct tensor it
/// receives, and of every output it sends, if it pays for them; an output counts once, over the slowest
/// of its receivers' routes. Control edges cost nothing. Workspace::channel_us becomes the load of each
/// channel, which carries one transfer at a time: that of every transfer over it (dataflow).
void step_loads(const Plan& plan, std::span<const DeviceId> placement, Workspace& workspace,
                std::vector<double>& load_us);

/// The compute part alone.
void device_compute(const Plan& plan, std::span<const DeviceId> placement,
                    std::vector<double>& busy_us);

}  // namespace berth::simulator
