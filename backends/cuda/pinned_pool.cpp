#include "cuda/pinned_pool.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <bit>

#include "berth/error.h"

namespace berth::cuda {

PinnedPool::~PinnedPool() {
  for (const std::vector<void*>& blocks : free_) {
    for (void* const block : blocks) calls_->free_pinned(block);
  }
}

at::Tensor PinnedPool::make(const at::Tensor& like, runtime::MemoryMeter* meter) {
  const std::size_t bytes = like.nbytes();
  if (meter != nullptr) meter->take(static_cast<std::int64_t>(bytes));
  constexpr std::size_t kSmallest = 4096;
  const auto shift = static_cast<std::size_t>(std::bit_width(std::max(bytes, kSmallest) - 1));
  void* const block = take(shift);
  if (block == nullptr) {
    if (meter != nullptr) meter->give(static_cast<std::int64_t>(bytes));
    throw Error(ErrorCode::out_of_memory, "the machine has no room for " + std::to_string(bytes) +
                                              " bytes of pinned memory; close other programs or "
                                              "run a smaller model");
  }
  const auto release = [pool = shared_from_this(), shift, meter, bytes](void* data) {
    pool->give(data, shift);
    if (meter != nullptr) meter->give(static_cast<std::int64_t>(bytes));
  };
  return at::from_blob(block, like.sizes(), like.strides(), release,
                       like.options().device(at::kCPU), at::Device(at::kCPU));
}

void* PinnedPool::take(std::size_t shift) {
  {
    const std::lock_guard lock(mutex_);
    if (free_.size() <= shift) free_.resize(shift + 1);
    if (!free_[shift].empty()) {
      void* const block = free_[shift].back();
      free_[shift].pop_back();
      return block;
    }
  }
  return calls_->allocate_pinned(std::size_t{1} << shift);
}

void PinnedPool::give(void* block, std::size_t shift) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    free_[shift].push_back(block);
  } catch (...) {
    calls_->free_pinned(block);
  }
}

}  // namespace berth::cuda
