// Counts device tensors on a meter as long as their memory is held.
#pragma once

#include "cuda/calls.h"
#include "runtime/memory_meter.h"

namespace berth::cuda {

/// A block of device memory and its charge.
struct Charge {
  c10::DataPtr block;  ///< as its allocator made it
  runtime::MemoryMeter* meter;
  std::int64_t bytes;
  /// Ops that read the block must wait for this event; null = no longer.
  Event arrival;
};

/// Counts the tensor's memory on `meter` until it is freed. Does nothing if it is already counted
/// (a view, an op that passes its input on). Throws Error(out_of_memory). The meter must outlive
/// the memory.
void charge(const at::Tensor& tensor, runtime::MemoryMeter& meter, Event arrival = nullptr);

/// Null for memory that is not charged.
[[nodiscard]] Charge* charge_of(const at::Tensor& tensor) noexcept;

/// The block as its allocator made it.
[[nodiscard]] const c10::DataPtr& block_of(const at::Tensor& tensor) noexcept;

}  // namespace berth::cuda
