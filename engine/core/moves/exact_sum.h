// Sums of durations without rounding.
#pragma once

#include <cmath>

namespace berth::moves {

/// A duration as an integer number of tiny units. Adding and then subtracting it changes nothing.
__extension__ using Ticks = __int128;

/// The unit is a power of two chosen so that `largest` takes about 120 bits. A duration with its 53
/// bits is converted exactly unless it is 2^67 times smaller than `largest`.
class TickScale {
 public:
  TickScale() = default;
  explicit TickScale(double largest) {
    const int bits = std::isfinite(largest) ? (largest > 0 ? std::ilogb(largest) : 0) : 1024;
    per_us_ = std::ldexp(1.0, 118 - bits);
    us_ = std::ldexp(1.0, bits - 118);
  }
  [[nodiscard]] Ticks ticks(double us) const noexcept { return static_cast<Ticks>(us * per_us_); }
  [[nodiscard]] double us(Ticks ticks) const noexcept { return static_cast<double>(ticks) * us_; }

 private:
  double per_us_ = 1;
  double us_ = 1;
};

}  // namespace berth::moves
