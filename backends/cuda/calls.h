// The calls that this backend makes to the CUDA Runtime, and the few things that ATen must do on
// the same streams. A test has a substitute that checks their order.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <string>
#include <vector>

namespace berth::cuda {

/// Made by Calls, and only valid there.
using Stream = struct StreamTag*;
using Event = struct EventTag*;

/// As the number of a GPU: the host's memory.
inline constexpr int kHost = -1;

struct Gpu {
  std::string model;  ///< "NVIDIA H100 80GB HBM3"
  std::int64_t memory_bytes = 0;
  std::int64_t free_bytes = 0;
  double flops = 0;             ///< nominal peak in f32
  double memory_bandwidth = 0;  ///< bytes per second
  int multiprocessors = 0;
};

/// GPUs are numbered from 0. A failing call throws Error(execution) with CUDA's reason. Unless
/// stated otherwise, calls return before the GPU has done its work, and nothing waits for it.
/// [thread-safe]
class Calls {
 public:
  virtual ~Calls() = default;

  /// Throws Error(not_found) without a GPU, without a driver, or with a LibTorch without CUDA.
  [[nodiscard]] virtual std::vector<Gpu> gpus() = 0;
  /// Versions of the libraries and the driver, in one line.
  [[nodiscard]] virtual std::string versions() = 0;
  /// Lets `gpu` read the memory of `peer` directly; false: copies between them go through the host.
  virtual bool connect(int gpu, int peer) = 0;

  [[nodiscard]] virtual Stream make_stream(int gpu) = 0;
  [[nodiscard]] virtual Event make_event(int gpu) = 0;
  virtual void destroy(Stream stream) noexcept = 0;
  virtual void destroy(Event event) noexcept = 0;

  virtual void record(Event event, Stream stream) = 0;
  /// Work given to `stream` from now on starts after `event`, as last recorded.
  virtual void wait(Stream stream, Event event) = 0;
  /// Whether the event has happened. Throws if it never will.
  [[nodiscard]] virtual bool done(Event event) = 0;
  /// Makes the host wait for everything that `stream` was given.
  virtual void synchronize(Stream stream) = 0;
  /// Time between two events of one GPU, both of which have happened.
  [[nodiscard]] virtual double elapsed_us(Event from, Event to) = 0;

  /// `to_gpu` and `from_gpu` may be kHost. If host memory is not pinned, the host waits.
  virtual void copy(Stream stream, void* to, int to_gpu, const void* from, int from_gpu,
                    std::size_t bytes) = 0;
  /// Calls `function` on one of CUDA's threads when `stream` has done what it was given so far;
  /// never if the GPU fails. The function must not make calls itself.
  virtual void call_after(Stream stream, void (*function)(void*), void* argument) = 0;

  /// Null if there is none.
  [[nodiscard]] virtual void* allocate_pinned(std::size_t bytes) = 0;
  virtual void free_pinned(void* block) noexcept = 0;

  [[nodiscard]] virtual at::Device torch_device(int gpu) const = 0;
  [[nodiscard]] virtual c10::Stream torch_stream(int gpu, Stream stream) const = 0;
  /// From now on ATen works on this stream where the calling thread uses it.
  virtual void make_current(int gpu, Stream stream) = 0;
  /// ATen returns freed memory to the stream on which it was allocated. This makes it return the
  /// block only after everything that `stream` will have been given when the block is freed.
  virtual void keep_for(const c10::DataPtr& block, int gpu, Stream stream) = 0;
};

}  // namespace berth::cuda
