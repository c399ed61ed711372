// Memory under the objective `throughput`: each device holds a stage of a pipeline, and for every
// step in flight what that stage needs at the worst. One of its ops runs at a time, whatever the number
// of steps: its workspace is there once.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "simulator/plan.h"

namespace berth::simulator {

/// The most that a step takes on a device.
struct StageNeed {
  std::int64_t waiting = 0;  ///< between two of its ops
  std::int64_t running = 0;  ///< with the workspace of the op that runs
};

/// `in_flight` steps on top of the parameters, an op of one of which runs; saturates.
[[nodiscard]] inline std::int64_t stage_bytes(std::int64_t parameters, const StageNeed& need,
                                              std::int64_t in_flight) {
  if (in_flight == 0) return parameters;
  std::int64_t bytes = 0;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (__builtin_mul_overflow(need.waiting, in_flight - 1, &bytes)) return kMost;
  if (__builtin_add_overflow(bytes, need.running, &bytes)) return kMost;
  return __builtin_add_overflow(bytes, parameters, &bytes) ? kMost : bytes;
}

/// The most that one step in flight takes on each device (Cluster::works_in). The ops of a device run in the graph's
/// order, from when all that they receive has arrived:
///   inputs    of the model, throughout;
///   copies    of what other devices send, from the start until the last reader here has run;
///   outputs   from their op until the last reader here has run, or the op itself; what the step
///             returns to the end; those of a view nothing, and what it reads as long as they would;
///   workspace while the op runs.
class StageMemory {
 public:
  /// After it, `measure` allocates nothing.
  void reserve(const Plan& plan) {
    freed_.reserve(plan.op_count + 1);
    over_.reserve(plan.op_count);
    usage_.reserve(plan.device_count);
    last_.reserve(plan.device_count);
    readers_.reserve(plan.device_count);
  }
  /// `device` by Index; `needs` by device.
  void measure(const Plan& plan, std::span<const std::uint32_t> device,
               std::vector<StageNeed>& needs);

 private:
  std::vector<std::int64_t> freed_;  ///< by Index: by its end
  std::vector<Index> over_;          ///< by Index: the op at whose end it needs its inputs no more
  std::vector<std::int64_t> usage_;  ///< by device
  std::vector<Index> last_;          ///< by device: the last reader of a message, plus one
  std::vector<std::uint32_t> readers_;  ///< devices with readers of a message
};

}  // namespace berth::simulator
