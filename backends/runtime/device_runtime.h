// What the executor asks of the devices it drives: the side that differs between CPU cores, GPUs
// and a test's stand-ins.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>

#include "berth/types.h"
#include "runtime/kernel.h"
#include "runtime/memory_meter.h"

namespace berth::runtime {

/// One tensor to bring from one device to another.
struct CopyRequest {
  std::uint32_t number;  ///< what CopySink is told again
  DeviceId src;
  DeviceId dst;
  const Value* source;  ///< stays as it is until the sink was told
};

/// Hears of finished copies. [thread-safe]
class CopySink {
 public:
  /// Ops of the receiving device that are issued from now on may use `copy`, and `source` is no
  /// longer needed.
  virtual void copied(std::uint32_t number, Value copy) noexcept = 0;
  /// It could not be done. `error` is what was thrown.
  virtual void copy_failed(std::uint32_t number, std::exception_ptr error) noexcept = 0;

 protected:
  ~CopySink() = default;
};

/// When an op or a copy ran. Microseconds on the executor's clock (now_us).
struct OpTimes {
  double start_us = 0;
  double end_us = 0;
};

/// The devices of one backend, by DeviceId. A device has one worker thread; what is marked [worker]
/// is called by that alone. A device may be asynchronous: then `run` returns once the op is issued,
/// ops issued later on the same device see its outputs (a stream), and copies wait for it by
/// themselves (an event).
class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;

  /// Where kernels compute: KernelContext::device.
  [[nodiscard]] virtual at::Device torch_device(DeviceId device) const = 0;
  [[nodiscard]] virtual MemoryMeter& meter(DeviceId device) = 0;

  /// Once, before anything else this thread does. [worker]
  virtual void enter(DeviceId device) = 0;
  /// Before the first op of a step. [worker]
  virtual void begin_step(DeviceId device) = 0;
  /// Runs or issues one op. Throws what the kernel throws. [worker]
  virtual void run(DeviceId device, const Kernel& kernel, KernelContext& context,
                   std::span<const Value> inputs, std::span<Value> outputs) = 0;
  /// After the last op of a step: returns when all of them have ended. `times` holds, by the order
  /// of `run`, when each call was made and returned; an asynchronous device puts there when the ops
  /// ran. Throws what only shows now. [worker]
  virtual void end_step(DeviceId device, std::span<OpTimes> times) = 0;

  /// Begins a copy and returns; the sink may be told from any thread, also before it returns. At
  /// most one per sending device at a time, and one per receiving device. [any thread]
  virtual void copy(const CopyRequest& request, CopySink& sink) = 0;
  /// After a step that did not fail: when the copy of that number ran, where that was not from the
  /// call until the sink was told.
  [[nodiscard]] virtual std::optional<OpTimes> copy_times(std::uint32_t) { return std::nullopt; }

  /// A value of the host on the device, where it counts as held: a parameter, an input. Throws
  /// Error(out_of_memory). [any thread]
  [[nodiscard]] virtual Value upload(DeviceId device, const Value& host) = 0;
  /// A value of the device on the host. Called between steps. [any thread]
  [[nodiscard]] virtual Value download(DeviceId device, const Value& value) = 0;
};

/// The executor's clock: monotonic, from an unspecified beginning.
[[nodiscard]] double now_us() noexcept;

}  // namespace berth::runtime
