// Figures as a person reads them and writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::command {

/// Three or four significant digits in the unit that fits: "850 us", "12.34 ms", "1.203 s".
[[nodiscard]] std::string format_us(double us);
/// Binary units: "512 B", "1.50 MiB"; "no limit" for kNoLimit.
[[nodiscard]] std::string format_bytes(std::int64_t bytes);
/// Decimal units after `unit`'s prefix: format_rate(8.7e12, "FLOP/s") = "8.70 TFLOP/s"; "-" for 0.
[[nodiscard]] std::string format_rate(double per_second, std::string_view unit);
/// "1,203,442".
[[nodiscard]] std::string format_count(std::int64_t count);
/// 0.1234 -> "12.3 %"; "-" where it is not finite.
[[nodiscard]] std::string format_percent(double fraction);
/// 1.234 -> "1.23x"; "-" where it is not finite.
[[nodiscard]] std::string format_factor(double factor);
/// A share of `width` characters: format_bar(0.5, 8) = "####....".
[[nodiscard]] std::string format_bar(double fraction, int width);

/// "30s", "500ms", "2m", "1h", "1.5s" in seconds. Throws Error(invalid_argument) for anything else,
/// and for a duration that is not positive.
[[nodiscard]] double parse_duration_s(const std::string& text);

}  // namespace berth::command
