/// @file
/// Dense ids as indices.
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <utility>

namespace berth {

/// The index of a dense id, or a count of them as a size. Must not be negative: kNoOp and its like
/// index nothing.
template <std::integral Id>
[[nodiscard]] constexpr std::size_t at(Id id) noexcept {
  assert(std::cmp_greater_equal(id, 0));
  return static_cast<std::size_t>(id);
}

}  // namespace berth
