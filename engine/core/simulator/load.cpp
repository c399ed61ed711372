#include "simulator/load.h"

#include <algorithm>

#include "berth/support/index.h"

namespace berth::simulator {

void device_compute(const Plan& plan, std::span<const DeviceId> placement,
                    std::vector<double>& busy_us) {
  busy_us.assign(plan.device_count, 0.0);
  for (Index i = 0; i < plan.op_count; ++i) {
    const DeviceId device = placement[at(plan.ids[i])];
    busy_us[at(device)] += plan.durations_on(device)[i];
  }
}

void step_loads(const Plan& plan, std::span<const DeviceId> placement, Workspace& workspace,
                std::vector<double>& load_us) {
  device_compute(plan, placement, load_us);
  const Cluster& cluster = plan.cluster();
  workspace.sent_to.assign(plan.device_count, 0);
  workspace.channel_us.assign(plan.channel_count(), 0.0);
  for (std::uint32_t m = 0; m < plan.messages.size(); ++m) {
    if (plan.message_tensor[m] == kNoTensor) continue;
    const DeviceId src = placement[at(plan.ids[plan.message_producer[m]])];
    double slowest_us = 0;
    for (std::uint32_t e = plan.messages[m].begin; e < plan.messages[m].end; ++e) {
      const DeviceId dst = placement[at(plan.ids[plan.consumers[e]])];
      const auto receiver = at(dst);
      if (dst == src || workspace.sent_to[receiver] == m + 1) continue;
      workspace.sent_to[receiver] = m + 1;
      const double us = plan.transfer_us(m, src, dst);
      if (pays(cluster, src, dst)) slowest_us = std::max(slowest_us, us);
      if (pays(cluster, dst, src)) load_us[receiver] += us;
      if (workspace.channel_us.empty()) continue;
      for (const ChannelId channel : cluster.route(src, dst).channels) {
        workspace.channel_us[at(channel)] += us;
      }
    }
    load_us[at(src)] += slowest_us;
  }
}

}  // namespace berth::simulator
