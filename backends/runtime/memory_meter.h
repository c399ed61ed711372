// How much memory a device holds, measured where it is allocated.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "berth/types.h"

namespace berth::runtime {

class HostPool;

/// Counts the bytes that one device holds, and the most that it held. [thread-safe]
class MemoryMeter {
 public:
  /// `device` names it in messages; `limit_bytes` kNoLimit = none; `cache` names the last cache before
  /// the device's memory.
  explicit MemoryMeter(std::string device, std::int64_t limit_bytes = kNoLimit,
                       const std::string& cache = {});
  ~MemoryMeter();
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;

  /// Throws Error(out_of_memory) stating what is held and what was requested; nothing is then
  /// taken.
  void take(std::int64_t bytes);
  void give(std::int64_t bytes) noexcept { held_.fetch_sub(bytes, std::memory_order_relaxed); }

  [[nodiscard]] std::int64_t held_bytes() const noexcept {
    return held_.load(std::memory_order_relaxed);
  }
  /// The peak since the last reset_peak. The peak of `op` is reset by itself.
  [[nodiscard]] std::int64_t peak_bytes() const noexcept { return peak_; }
  [[nodiscard]] std::int64_t op_peak_bytes() const noexcept { return op_peak_; }
  void reset_peak() noexcept { peak_ = held_bytes(); }
  void reset_op_peak() noexcept { op_peak_ = held_bytes(); }

  /// Freed blocks of host memory for `bytes`. Blocks that a core's own cache holds stay with the device.
  /// Larger ones are common to the devices at a cache: the fewer they are, the more of them it holds.
  [[nodiscard]] HostPool& pool_of(std::size_t bytes) const noexcept;

 private:
  std::string device_;
  std::int64_t limit_;
  std::atomic<std::int64_t> held_ = 0;
  std::atomic<std::int64_t> peak_ = 0;
  std::atomic<std::int64_t> op_peak_ = 0;
  std::unique_ptr<HostPool> own_;
  std::shared_ptr<HostPool> common_;
};

/// During its life, what this thread allocates with ATen on the CPU counts on `meter` until any
/// thread frees it. Null = on none. Each meter has its pool, so a step that ran before allocates
/// nothing from the system. The meter must outlive the tensors.
class MeterScope {
 public:
  explicit MeterScope(MemoryMeter* meter) noexcept;
  ~MeterScope();
  MeterScope(const MeterScope&) = delete;
  MeterScope& operator=(const MeterScope&) = delete;

 private:
  MemoryMeter* before_;
};

}  // namespace berth::runtime
