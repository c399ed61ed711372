// A small tensor on its way between two threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernel.h"

namespace berth::runtime {

/// The values of a plain tensor, where they fit, or where they are. A receiver that follows a Value waits for four lines of
/// the caches that another core wrote, one after another (the value, its tensor, the storage, the values), each of which takes
/// 0.1 to 0.3 us. Here it is the line that tells it of the message, or that and the values.
struct Parcel {
  static constexpr std::size_t kRank = 6;
  static constexpr std::size_t kRoom = 40;  ///< bytes of values
  static constexpr std::size_t kMost =
      16 << 10;  ///< bytes of a tensor: what a copy takes hides the rest

  enum class Kind : std::uint8_t { none, values, pointer };
  Kind kind = Kind::none;
  std::int8_t type = 0;  ///< at::ScalarType
  std::uint8_t rank = 0;
  std::uint16_t sizes[kRank] = {};
  union {
    unsigned char values[kRoom];
    const void* data;
  };

  Parcel() noexcept : data(nullptr) {}
  /// Of Kind::none for what is not one contiguous tensor of 1 to kMost bytes in the host's memory.
  explicit Parcel(const Value& value) noexcept;
  /// A tensor of its own, allocated as the calling thread allocates. Not of Kind::none; what `data` points to must be there.
  [[nodiscard]] Value open() const;
};

}  // namespace berth::runtime
