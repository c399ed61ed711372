// Figures in a form for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/sdk/figures.h"

namespace berth {

/// `value` with `decimals` digits after the point, whatever the locale.
[[nodiscard]] std::string format_fixed(double value, int decimals);
/// Four significant digits in the unit that fits: "850.0 us", "12.34 ms", "1.203 s"; "-" if it
/// is not finite.
[[nodiscard]] std::string format_us(double us);
/// Decimal units: format_rate(8.7e12, "FLOP/s") = "8.70 TFLOP/s"; "-" for 0.
[[nodiscard]] std::string format_rate(double per_second, std::string_view unit);
/// "1,203,442".
[[nodiscard]] std::string format_count(std::int64_t count);
/// 0.1234 -> "12.3 %"; "-" if it is not finite.
[[nodiscard]] std::string format_percent(double fraction);
/// 1.234 -> "1.23x"; "-" if it is not finite.
[[nodiscard]] std::string format_factor(double factor);

}  // namespace berth
