// The outgoing engine of a logical CPU device whose links are slowed down: a thread that copies.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/device_runtime.h"

namespace berth::cpu {

/// The speed that a link is slowed down to; a bandwidth of 0 = as fast as memory copies.
struct EmulatedLink {
  double bandwidth_bytes_per_s = 0;
  double latency_us = 0;

  [[nodiscard]] bool slower() const noexcept { return bandwidth_bytes_per_s > 0 || latency_us > 0; }
};

class Copier {
 public:
  explicit Copier(const EmulatedLink& link);
  ~Copier();
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  /// Copies into memory that counts on `receiver`. The next copy may begin once the sink is
  /// notified.
  void copy(const runtime::CopyRequest& request, runtime::MemoryMeter& receiver,
            runtime::CopySink& sink);

 private:
  struct Job {
    runtime::CopyRequest request;
    runtime::MemoryMeter* receiver;
    runtime::CopySink* sink;
    double begun_us;
  };
  void work();
  void run(const Job& job) const;

  EmulatedLink link_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Job> job_;
  bool quit_ = false;
  std::thread thread_;
};

}  // namespace berth::cpu
