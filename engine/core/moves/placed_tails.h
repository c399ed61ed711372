// Longest paths through a placed graph: the time left after an op's start, without queues.
#pragma once

#include <span>

#include "simulator/plan.h"

namespace berth::moves {

/// A lower bound of the time from the op's start to the end of the step: its duration, and the most
/// of any of its readers' tails, after the transfer where that is elsewhere, the device's pause
/// where it is not (placeto). `word` has the devices (simulator::kDeviceMask), by Index.
[[nodiscard]] double placed_tail_us(const simulator::Plan& plan,
                                    std::span<const std::uint32_t> word,
                                    std::span<const double> tail_us, simulator::Index op);

/// Writes the tails of the ops before `end` into `tail_us`, by Index, which has those of the others.
void placed_tails(const simulator::Plan& plan, std::span<const std::uint32_t> word,
                  simulator::Index end, std::span<double> tail_us);

}  // namespace berth::moves
