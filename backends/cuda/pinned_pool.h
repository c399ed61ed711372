// Host memory that GPUs copy to and from without blocking the host.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "cuda/calls.h"
#include "runtime/memory_meter.h"

namespace berth::cuda {

/// Pinning is slow and may stop every GPU, so blocks are kept and reused. [thread-safe]
class PinnedPool : public std::enable_shared_from_this<PinnedPool> {
 public:
  explicit PinnedPool(std::shared_ptr<Calls> calls) : calls_(std::move(calls)) {}
  ~PinnedPool();
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  /// A dense tensor on the CPU with the type, shape and strides of `like`. It counts on `meter`
  /// unless that is null; the meter must outlive it. Throws Error(out_of_memory).
  [[nodiscard]] at::Tensor make(const at::Tensor& like, runtime::MemoryMeter* meter);

 private:
  void* take(std::size_t shift);
  void give(void* block, std::size_t shift) noexcept;

  std::shared_ptr<Calls> calls_;
  std::mutex mutex_;
  std::vector<std::vector<void*>> free_;  // by the logarithm of their size
};

}  // namespace berth::cuda
