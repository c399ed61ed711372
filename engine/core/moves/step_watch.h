// Follows the steps of IncrementalStep.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "berth/types.h"
#include "simulator/memory.h"
#include "simulator/observer.h"
#include "simulator/step_record.h"

namespace berth::moves {

using simulator::Index;
using simulator::kNotEnded;

inline const auto no_log = [](std::uint32_t, double, std::int64_t) {};
using StepMemory = simulator::DataflowMemory<decltype(no_log)>;

/// Follows a step beside its memory. What kRecords names is written; what kBounds names bounds the
/// runtime from below.
template <typename Memory, bool kRecords, bool kBounds>
struct Watch : Memory {
  static constexpr bool kPauses = true;
  static constexpr bool kBounding = kBounds;
  static constexpr bool kRemembers = !std::is_same_v<Memory, simulator::NoObserver>;
  using Memory::Memory;

  [[nodiscard]] bool pauses() const { return ended >= stop; }
  void op_started(Index op, std::uint32_t d, double start_us, double end_us) {
    if constexpr (kRecords) {
      if (op_start_us != nullptr) op_start_us[ids[op]] = start_us;
    }
    if constexpr (kBounds) {
      left_us[d] -= busy_us[d][op];
      if (start_us + tail_us[op] >= limit_us) {
        hopeless = true;
        stop = 0;
      }
      // Paths through the moved op are others now, but no op that starts later has one.
      if (op == moved) limit_us = limit_after_moved_us;
    } else if constexpr (!kRecords) {
      // Beside the memory the bounds above cost more (15 % of a look-ahead) than the ops they save.
      if (end_us >= limit_us) {
        hopeless = true;
        stop = 0;
      }
    }
    Memory::op_started(op, d, start_us, end_us);
  }
  void op_ended(Index op, std::uint32_t d, double now_us) {
    if constexpr (kRecords) {
      position[op] = ended;
      end_of_readers = std::max(end_of_readers, ends_of_readers[op]);
    }
    ++ended;
    Memory::op_ended(op, d, now_us);
  }
  void arrived(std::uint32_t sent) {
    if constexpr (kRecords) arrival[sent] = arrivals++;
  }

  std::uint32_t ended = 0;
  std::uint32_t stop = kNotEnded;
  // kRecords
  std::uint32_t* position = nullptr;
  std::uint32_t* arrival = nullptr;
  std::uint32_t arrivals = 0;
  const Index* ends_of_readers = nullptr;
  Index end_of_readers = 0;  ///< ops from here on know nothing yet
  const OpId* ids = nullptr;
  double* op_start_us = nullptr;
  // kBounds
  double* left_us = nullptr;
  const double* const* busy_us = nullptr;
  const double* tail_us = nullptr;
  Index moved = kNotEnded;
  double limit_after_moved_us = kCannotRun;
  // All but kRecords
  double limit_us = kCannotRun;
  bool hopeless = false;
};

}  // namespace berth::moves
