/// @file
/// Sums and products of sizes, which models can make arbitrarily large.
#pragma once

#include <cstdint>
#include <limits>

namespace berth {

/// a + b; the largest number where the sum is larger. Neither is negative.
[[nodiscard]] constexpr std::int64_t saturating_sum(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

/// a * b; the largest number where the product is larger. Neither is negative.
[[nodiscard]] constexpr std::int64_t saturating_product(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max()
                                                : product;
}

/// Adds to `sum`; false on overflow, which leaves `sum` alone.
[[nodiscard]] constexpr bool add_bytes(std::int64_t& sum, std::int64_t bytes) noexcept {
  std::int64_t total = 0;
  if (__builtin_add_overflow(sum, bytes, &total)) return false;
  sum = total;
  return true;
}

}  // namespace berth
