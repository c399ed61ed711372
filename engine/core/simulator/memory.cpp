#include "simulator/memory.h"

#include "berth/support/index.h"

namespace berth::simulator {

namespace {

void add_resident(const Plan& plan, const std::vector<std::int64_t>& own_bytes,
                  std::span<const DeviceId> placement, MemoryScratch& scratch) {
  scratch.usage_bytes.assign(plan.device_count, 0);
  for (Index i = 0; i < plan.op_count; ++i) {
    const DeviceId device = placement[at(plan.ids[i])];
    scratch.usage_bytes[at(device)] += own_bytes[i];
  }
  scratch.marks.assign(plan.device_count, 0);
  std::uint32_t mark = 0;
  for (const Graph::SharedParameter& shared : plan.graph().shared_parameters()) {
    ++mark;
    for (const OpId consumer : shared.consumers) {
      const auto device = at(placement[at(consumer)]);
      if (scratch.marks[device] == mark) continue;
      scratch.marks[device] = mark;
      scratch.usage_bytes[device] += shared.bytes;
    }
  }
}

}  // namespace

void resident_tensors(const Plan& plan, std::span<const DeviceId> placement,
                      MemoryScratch& scratch) {
  add_resident(plan, plan.resident_bytes, placement, scratch);
  if (!plan.cluster().has_keepers()) return;
  for (Index i = 0; i < plan.op_count; ++i) {
    const auto device = at(placement[at(plan.ids[i])]);
    const std::int64_t inputs = plan.resident_bytes[i] - plan.param_bytes[i];
    scratch.usage_bytes[device] -= inputs;
    scratch.usage_bytes[plan.works_in[device]] += inputs;
  }
}

void resident_parameters(const Plan& plan, std::span<const DeviceId> placement,
                         MemoryScratch& scratch) {
  add_resident(plan, plan.param_bytes, placement, scratch);
}

}  // namespace berth::simulator
