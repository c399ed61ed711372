#include "moves/placed_tails.h"

#include <algorithm>

namespace berth::moves {

using simulator::Index;
using simulator::Plan;

double placed_tail_us(const Plan& plan, std::span<const std::uint32_t> word,
                      std::span<const double> tail_us, Index op) {
  const auto device_of = [&](Index i) {
    return static_cast<DeviceId>(word[i] & simulator::kDeviceMask);
  };
  const DeviceId here = device_of(op);
  const double duration_us = plan.durations_on(here)[op];
  const double pause_us =
      plan.placeto && duration_us != 0 ? plan.problem->options().device_gap_us : 0;
  double rest_us = pause_us;
  const simulator::OpRow& row = plan.rows[op];
  for (std::uint32_t m = row.first_message; m < row.first_message + row.message_count; ++m) {
    const bool signal = plan.message_tensor[m] == kNoTensor && !plan.placeto;
    for (std::uint32_t e = plan.messages[m].begin; e < plan.messages[m].end; ++e) {
      const Index reader = plan.consumers[e];
      const DeviceId there = device_of(reader);
      const double gap_us = there == here ? pause_us
                            : signal      ? plan.cluster().route(here, there).latency_us
                                          : plan.transfer_us(m, here, there);
      rest_us = std::max(rest_us, gap_us + tail_us[reader]);
    }
  }
  return duration_us + rest_us;
}

void placed_tails(const Plan& plan, std::span<const std::uint32_t> word, Index end,
                  std::span<double> tail_us) {
  for (Index op = end; op > 0; --op) {
    tail_us[op - 1] = placed_tail_us(plan, word, tail_us, op - 1);
  }
}

}  // namespace berth::moves
