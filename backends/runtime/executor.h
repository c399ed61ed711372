// Executes placed programs: asynchronous dataflow, with the simulator's scheduling policy.
//
// Each device has a worker thread. Among the device's ready ops, the worker runs the one with the
// largest priority; among equals, the one that became ready first (berth::priorities_us). On its
// own device, the worker handles the end of an op at once and alone: the counts of waiting ops and
// the ready queue belong to it. For other devices there are two mechanisms:
//   messages  are tensors, sent through TransferQueue and DeviceRuntime::copy or, where devices read
//             each other's memory, copied by the receiver between two ops (a small one from the
//             message itself); or control signals.
//             They arrive in the receiver's inbox, which takes no lock and has room for a step.
//   holders   is a count per slot of those that still read or send it. Who takes it to 0 drops the
//             tensor.
// When a plan has run once, a step allocates nothing for an op or a message besides what ops
// allocate.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "berth/backend.h"
#include "berth/cluster.h"
#include "runtime/device_runtime.h"
#include "runtime/kernel.h"
#include "runtime/parcel.h"
#include "runtime/plan.h"

namespace berth::runtime {

/// The input of a step besides its plan. Everything must outlive the step.
struct StepInputs {
  const Program& program;
  std::span<const Kernel> kernels;  ///< by op
  /// The value of a parameter tensor on a device; others absent.
  std::function<const Value*(TensorId, DeviceId)> parameter;
  std::span<DeviceState> states;  ///< by device
  std::uint64_t seed = 0;
  /// Program::outputs live to the end of the step in any case; with this, until the next.
  bool keep_outputs = false;
  std::function<bool()> should_stop;
};

/// Times of a message that was sent.
struct MessageTimes {
  double queued_us = 0;
  double start_us = 0;
  double end_us = 0;
  std::int64_t bytes = 0;
};

/// A plan, with the memory that its steps use.
class Step {
 public:
  Step(std::shared_ptr<const Plan> plan, const StepInputs& inputs);
  ~Step();
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  [[nodiscard]] const Plan& plan() const noexcept { return *plan_; }

  // Figures of the last run, on the executor's clock. Indexed by op:
  [[nodiscard]] std::span<const OpTimes> op_times() const noexcept { return op_times_; }
  [[nodiscard]] std::span<const DeviceId> executed() const noexcept { return executed_; }
  [[nodiscard]] std::span<const std::int64_t> workspace_bytes() const noexcept {
    return workspace_bytes_;
  }
  /// Bytes that the op's device held when it ended, and the most while it ran.
  [[nodiscard]] std::span<const std::int64_t> held_bytes() const noexcept { return held_bytes_; }
  [[nodiscard]] std::span<const std::int64_t> op_peak_bytes() const noexcept {
    return op_peak_bytes_;
  }
  /// The order in which a device ran its ops, as op indices.
  [[nodiscard]] std::span<const std::uint32_t> order(DeviceId device) const noexcept;
  [[nodiscard]] std::span<const MessageTimes> message_times() const noexcept {
    return message_times_;
  }
  [[nodiscard]] std::span<const std::int64_t> peak_bytes() const noexcept { return peak_bytes_; }
  [[nodiscard]] std::span<const std::int64_t> resident_bytes() const noexcept {
    return resident_bytes_;
  }
  /// Absent unless the step kept outputs and this is one.
  [[nodiscard]] const Value& value(TensorId tensor) const noexcept;

 private:
  friend class Executor;
  struct Ready {
    double priority_us;
    std::uint32_t sequence;
    std::uint32_t op;
    /// For a heap with the op to run first on top.
    bool operator<(const Ready& other) const noexcept {
      return priority_us != other.priority_us ? priority_us < other.priority_us
                                              : sequence > other.sequence;
    }
  };
  /// A message in an inbox has a line of the caches to itself.
  struct alignas(64) Notice {
    std::atomic<std::uint32_t> step = 0;  ///< in which it was filled
    std::uint32_t entry = 0;
    Parcel parcel;
  };
  static_assert(sizeof(Notice) == 64);
  /// The state of one worker.
  struct alignas(64) Lane {
    std::vector<Ready> ready;
    std::uint32_t sequence = 0;
    std::uint32_t done = 0;
    std::vector<std::uint32_t> order;
    std::vector<OpTimes> times;  ///< by position in `order`
    std::vector<Value> inputs;
    std::vector<Value> outputs;
    std::uint32_t read = 0;  ///< of the inbox
    // The inbox: writers take a place and fill it.
    std::unique_ptr<Notice[]> inbox;
    std::uint32_t room = 0;  ///< of the inbox, and one behind that nobody fills
    alignas(64) std::atomic<std::uint32_t> written = 0;
    std::atomic<std::uint32_t> bell = 0;  ///< raised with every arrival; what a worker sleeps on
  };

  void prepare(const StepInputs& inputs);
  void clear() noexcept;
  void drop_holder(std::uint32_t slot) noexcept;
  void post(Lane& lane, std::uint32_t entry, const Parcel& parcel = {}) noexcept;
  [[nodiscard]] const Notice* next(const Lane& lane) const noexcept;
  void arrive(std::uint32_t message, const Parcel& parcel = {}) noexcept;
  void give_back(std::uint32_t message) noexcept;
  void ring(Lane& lane) noexcept;

  std::shared_ptr<const Plan> plan_;
  std::uint32_t number_ = 0;              ///< of the run: what is left in an inbox is of another
  std::vector<const Value*> parameters_;  ///< by position in plan.inputs.entries; null: none
  std::vector<std::uint32_t> pending_;
  std::vector<Value> slots_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> holders_;
  std::vector<Lane> lanes_;
  std::vector<OpTimes> op_times_;
  std::vector<DeviceId> executed_;
  std::vector<std::int64_t> workspace_bytes_, held_bytes_, op_peak_bytes_;
  std::vector<MessageTimes> message_times_;
  std::vector<std::int64_t> peak_bytes_, resident_bytes_;
};

/// The workers of a backend's devices. [thread-compatible: one step at a time]
class Executor {
 public:
  /// Both must outlive it. Starts the workers.
  Executor(DeviceRuntime& runtime, const Cluster& cluster);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Runs one step and leaves what happened in `step`. Throws Error(cancelled),
  /// Error(out_of_memory) and Error(execution), naming op, device and the shapes of its inputs.
  /// Every device is then idle again, and no tensor of the step is left.
  void run(Step& step, const StepInputs& inputs);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::runtime
