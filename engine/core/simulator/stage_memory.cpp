#include "simulator/stage_memory.h"

#include <algorithm>
#include <numeric>

#include "berth/support/index.h"

namespace berth::simulator {
void StageMemory::measure(const Plan& plan, std::span<const std::uint32_t> device,
                          std::vector<StageNeed>& needs) {
  freed_.assign(plan.op_count + 1, 0);  // and what the step's end frees
  usage_.assign(plan.device_count, 0);
  last_.assign(plan.device_count, 0);
  over_.resize(plan.op_count);
  std::iota(over_.begin(), over_.end(), 0U);
  for (const Index view : plan.views) {
    if (plan.is_returned[view] != 0) over_[view] = plan.op_count;
  }
  // Backwards, so that it is known of every view how long its outputs stay.
  for (auto m = static_cast<std::uint32_t>(plan.messages.size()); m-- > 0;) {
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
      const bool kept = plan.views.empty() || plan.keeps(reader, e);
      last_[d] = std::max(last_[d], (kept ? over_[reader] : reader) + 1);
    }
    for (const std::uint32_t d : readers_) {
      if (d != home) {
        usage_[plan.works_in[d]] += bytes;
        freed_[last_[d] - 1] += bytes;
      }
    }
    if (last_[home] > 0 && !plan.views.empty() && plan.is_view[producer] != 0) {
      over_[producer] = std::max(over_[producer], last_[home] - 1);
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
