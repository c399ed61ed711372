// The host's side of copies to and from GPUs, on its own thread, so that workers can go on.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "cuda/calls.h"
#include "runtime/device_runtime.h"

namespace berth::cuda {

/// [thread-safe]
class HostBridge {
 public:
  /// `devices`: how many may send.
  HostBridge(std::shared_ptr<Calls> calls, std::size_t devices);
  /// No arrival may be expected any more.
  ~HostBridge();
  HostBridge(const HostBridge&) = delete;
  HostBridge& operator=(const HostBridge&) = delete;

  /// A copy to the host that a GPU has been asked for.
  struct Arrival {
    std::uint32_t number;
    runtime::CopySink* sink;
    runtime::Value copy;
    runtime::Value source;  ///< kept until the copy is there
    Event end;
  };
  /// The sink is told when `stream`, which was given the copy, has done it. One at a time per
  /// sender. Throws as Calls, and then the sink is not told.
  void expect(DeviceId src, Stream stream, Arrival arrival);
  /// Gives up arrivals expected from `src`: their sinks are told `error`.
  void fail(DeviceId src, const std::exception_ptr& error) noexcept;

  /// Runs `job`, which must not throw, in the order of the calls.
  void post(std::function<void()> job);
  /// Keeps `tensor` until `end`, once it is recorded, has happened. For jobs.
  void keep_until(Event end, at::Tensor tensor) { kept_.push_back({end, std::move(tensor)}); }

 private:
  /// The seat of one sender, which CUDA hands back when a copy is there.
  struct Seat {
    HostBridge* bridge = nullptr;
    std::optional<Arrival> arrival;
    bool there = false;
  };
  struct Kept {
    Event end;
    at::Tensor tensor;
  };
  static void arrived(void* seat);
  void work();
  void look();
  void free_kept() noexcept;
  [[nodiscard]] std::optional<Arrival> taken(Seat& seat, bool only_there);

  std::shared_ptr<Calls> calls_;
  std::mutex mutex_;  // guards all but kept_, which is the thread's own
  std::condition_variable changed_;
  std::vector<Seat> seats_;
  std::deque<std::function<void()>> jobs_;
  bool quit_ = false;
  std::vector<Kept> kept_;
  std::thread thread_;
};

}  // namespace berth::cuda
