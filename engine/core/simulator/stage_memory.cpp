#include "simulator/stage_memory.h"

#include <algorithm>

#include "berth/support/index.h"

namespace berth::simulator {

void StageMemory::measure(const Plan& plan, std::span<const std::uint32_t> device,
                          std::vector<StageNeed>& needs) {
  freed_.assign(plan.op_count, 0);
  usage_.assign(plan.device_count, 0);
  last_.assign(plan.device_count, 0);
  for (std::uint32_t m = 0; m < plan.messages.size(); ++m) {
    const std::int64_t bytes = plan.message_bytes[m];
    if (bytes == 0) continue;
    const Message& message = plan.messages[m];
    const Index producer = plan.message_producer[m];
    const std::uint32_t home = device[producer];
    readers_.clear();
    for (std::uint32_t e = message.begin; e < message.end; ++e) {
      const Index reader = plan.consumers[e];
      const std::uint32_t d = device[reader];
      if (last_[d] == 0) readers_.push_back(d);
      last_[d] = std::max(last_[d], reader + 1);
    }
    for (const std::uint32_t d : readers_) {
      if (d != home) {
        usage_[plan.works_in[d]] += bytes;
        freed_[last_[d] - 1] += bytes;
      }
    }
    freed_[last_[home] > 0 ? last_[home] - 1 : producer] += plan.home_bytes[m];
    for (const std::uint32_t d : readers_) last_[d] = 0;
  }
  for (Index op = 0; op < plan.op_count; ++op) {
    usage_[plan.works_in[device[op]]] += plan.resident_bytes[op] - plan.param_bytes[op];
  }
  needs.resize(plan.device_count);
  for (std::uint32_t d = 0; d < plan.device_count; ++d) needs[d] = {usage_[d], usage_[d]};
  for (Index op = 0; op < plan.op_count; ++op) {
    const std::uint32_t d = plan.works_in[device[op]];
    usage_[d] += plan.taken_bytes[op];
    needs[d].waiting = std::max(needs[d].waiting, usage_[d]);
    needs[d].running = std::max(needs[d].running, usage_[d] + plan.workspace_bytes[op]);
    usage_[d] -= plan.unread_bytes[op] + freed_[op];
  }
}

}  // namespace berth::simulator
