/// @file
/// Dense ids as indices.
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>

namespace berth {

/// The index of a dense id. `id` must not be negative: kNoOp and its like index nothing.
template <std::signed_integral Id>
[[nodiscard]] constexpr std::size_t at(Id id) noexcept {
  assert(id >= 0);
  return static_cast<std::size_t>(id);
}

}  // namespace berth
