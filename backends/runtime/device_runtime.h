// The interface of the executor to the devices it drives. This is the part that differs between CPU
// cores, GPUs and a test's stand-ins.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>

#include "berth/types.h"
#include "runtime/kernel.h"
#include "runtime/memory_meter.h"

namespace berth::runtime {

/// One tensor to copy from one device to another; or a signal, whose value is absent, that what its sender ran so far
/// has ended.
struct CopyRequest {
  std::uint32_t number;  ///< passed on to CopySink
  DeviceId src;
  DeviceId dst;
  const Value* source;  ///< unchanged until the sink is notified
};

/// Is notified of finished copies. [thread-safe]
class CopySink {
 public:
  /// Ops of the receiving device that are issued from now on may use `copy`, and `source` is no
  /// longer needed.
  virtual void copied(std::uint32_t number, Value copy) noexcept = 0;
  /// The copy failed. `error` is what was thrown.
  virtual void copy_failed(std::uint32_t number, std::exception_ptr error) noexcept = 0;

 protected:
  ~CopySink() = default;
};

/// When an op or a copy ran. Microseconds on the executor's clock (now_us).
struct OpTimes {
  double start_us = 0;
  double end_us = 0;
};

/// The devices of one backend, by DeviceId. Each device has one worker thread; only that thread
/// calls what is marked [worker]. A device may be asynchronous. Then `run` returns once the op is
/// issued, ops issued later on the same device see its outputs (a stream), and copies wait for the
/// op by themselves (an event).
class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;

  /// The device on which kernels compute: KernelContext::device.
  [[nodiscard]] virtual at::Device torch_device(DeviceId device) const = 0;
  [[nodiscard]] virtual MemoryMeter& meter(DeviceId device) = 0;

  /// How long a worker looks for a message before it sleeps, in us. Waking takes tens of microseconds: a
  /// device that has its cores to itself need not sleep within a step.
  [[nodiscard]] virtual double patience_us() const { return 30; }
  /// Whether `run` may return before the op has ended: a signal then takes a copy's way.
  [[nodiscard]] virtual bool is_asynchronous(DeviceId) const { return false; }
  /// Once, before anything else this thread does. [worker]
  virtual void enter(DeviceId device) = 0;
  /// Before the first op of a step. [worker]
  virtual void begin_step(DeviceId device) = 0;
  /// Runs or issues one op. Throws what the kernel throws. [worker]
  virtual void run(DeviceId device, const Kernel& kernel, KernelContext& context,
                   std::span<const Value> inputs, std::span<Value> outputs) = 0;
  /// After the last op of a step: returns when all of them have ended. `times` holds, in the order
  /// of `run`, when each call was made and returned; an asynchronous device replaces them with when
  /// the ops ran. Throws errors that only show now. [worker]
  virtual void end_step(DeviceId device, std::span<OpTimes> times) = 0;

  /// True where every device reads the memory of every other, and messages take no longer than that: a
  /// message is then there at once, and its receiver makes itself a copy. Else it is sent by `copy`.
  [[nodiscard]] virtual bool reads_others() const { return false; }
  /// A copy of what another device holds, as the device's own. Throws Error(out_of_memory). [worker]
  [[nodiscard]] virtual Value receive(DeviceId, const Value& sent) { return sent; }

  /// Starts a copy and returns. The sink may be notified from any thread, also before this returns.
  /// There is at most one copy per sending device and one per receiving device at a time. [any
  /// thread]
  virtual void copy(const CopyRequest& request, CopySink& sink) = 0;
  /// After a step without failure: when the copy of that number ran, unless that was from the call
  /// until the sink was notified.
  [[nodiscard]] virtual std::optional<OpTimes> copy_times(std::uint32_t) { return std::nullopt; }

  /// Brings a host value (a parameter, an input) to the device, where it counts as held. Throws
  /// Error(out_of_memory). [any thread]
  [[nodiscard]] virtual Value upload(DeviceId device, const Value& host) = 0;
  /// Brings a value of the device to the host. Called between steps. [any thread]
  [[nodiscard]] virtual Value download(DeviceId device, const Value& value) = 0;
};

/// The executor's clock: monotonic, with an unspecified origin.
[[nodiscard]] double now_us() noexcept;

}  // namespace berth::runtime
