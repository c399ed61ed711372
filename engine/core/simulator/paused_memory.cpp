#include "simulator/paused_memory.h"

namespace berth::simulator {

void PausedMemory::clear() {
  usage_bytes_.clear();
  peaks_.clear();
  holders_.clear();
  edges_.clear();
  kept_by_view_.clear();
}

void PausedMemory::save(const Plan& plan, const MemoryScratch& memory,
                        std::span<const std::int64_t> resident_bytes, std::uint32_t sent) {
  usage_bytes_ = memory.usage_bytes;
  peaks_ = memory.peaks;
  for (std::uint32_t d = 0; d < plan.device_count; ++d) {
    usage_bytes_[d] -= resident_bytes[d];
    peaks_[d].bytes -= resident_bytes[d];
  }
  holders_.clear();
  edges_.clear();
  const auto keep = [&](std::uint32_t holder, std::uint32_t message) {
    holders_.push_back({holder, memory.holders[holder], message});
    const Message& held = plan.messages[message];
    for (std::uint32_t e = held.begin; e < held.end; ++e) {
      if (memory.holder_of_edge[e] == holder) edges_.push_back({e, holder});
    }
  };
  const auto messages = static_cast<std::uint32_t>(plan.messages.size());
  const std::uint32_t* const holders = memory.holders.data();
  for (std::uint32_t m = 0; m < messages; ++m) {
    if (holders[m] != 0) keep(m, m);
  }
  for (std::uint32_t number = 0; number < sent; ++number) {
    if (holders[messages + number] != 0) keep(messages + number, memory.held_message[number]);
  }
  kept_by_view_.clear();
  for (const Index view : plan.views) {
    const std::uint32_t kept = memory.kept_by_view[view];
    if (kept != 0 && kept != plan.kept_by_view[view]) kept_by_view_.emplace_back(view, kept);
  }
}

void PausedMemory::restore(const Plan& plan, MemoryScratch& memory) const {
  if (usage_bytes_.empty()) return;
  for (std::uint32_t d = 0; d < plan.device_count; ++d) {
    memory.usage_bytes[d] += usage_bytes_[d];
    const std::int64_t resident_bytes = memory.peaks[d].bytes;
    memory.peaks[d] = peaks_[d];
    memory.peaks[d].bytes += resident_bytes;
  }
  const std::size_t messages = plan.messages.size();
  for (const Holder& holder : holders_) {
    memory.holders[holder.holder] = holder.count;
    if (holder.holder >= messages) memory.held_message[holder.holder - messages] = holder.message;
  }
  for (const HeldEdge& held : edges_) memory.holder_of_edge[held.edge] = held.holder;
  for (const auto& [view, kept] : kept_by_view_) memory.kept_by_view[view] = kept;
}

}  // namespace berth::simulator
