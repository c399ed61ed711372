// How much memory an op takes beyond what it leaves behind.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstdint>

namespace berth::cuda {

/// The argument of LibTorch's memory reports; its type differs between versions.
template <typename Member>
struct ReportedTotal;
template <typename Type>
struct ReportedTotal<void (c10::MemoryReportingInfoBase::*)(void*, std::int64_t, Type, Type,
                                                            c10::Device)> {
  using type = Type;
};

/// LibTorch's GPU allocator reports to it what the thread allocates and frees.
class AllocationWatch final : public c10::MemoryReportingInfoBase {
 public:
  using Total = ReportedTotal<decltype(&c10::MemoryReportingInfoBase::reportMemoryUsage)>::type;

  void reportMemoryUsage(void*, std::int64_t bytes, Total, Total, c10::Device device) override {
    if (device.type() != c10::DeviceType::CUDA) return;
    held_bytes_ += bytes;
    peak_bytes_ = std::max(peak_bytes_, held_bytes_);
  }
  bool memoryProfilingEnabled() const override { return true; }

  void reset() noexcept { held_bytes_ = peak_bytes_ = 0; }
  /// The most that was held at once since then, beyond what was held at that time.
  [[nodiscard]] std::int64_t peak_bytes() const noexcept { return peak_bytes_; }

 private:
  std::int64_t held_bytes_ = 0;
  std::int64_t peak_bytes_ = 0;
};

}  // namespace berth::cuda
