#include "units.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "berth/error.h"
#include "berth/types.h"

namespace berth::command {
namespace {

/// Four significant digits without an exponent, for values in [0, 10000).
std::string four_digits(double value) {
  const int decimals = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
  return fmt::format("{:.{}f}", value, decimals);
}

/// Three significant digits, likewise.
std::string three_digits(double value) {
  const int decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

std::string format_us(double us) {
  if (!std::isfinite(us)) return "-";
  if (us == 0) return "0 us";
  if (us < 1e3) return four_digits(us) + " us";
  if (us < 1e6) return four_digits(us / 1e3) + " ms";
  if (us < 1e10) return four_digits(us / 1e6) + " s";
  return fmt::format("{:.3e} s", us / 1e6);
}

std::string format_bytes(std::int64_t bytes) {
  if (bytes == kNoLimit) return "no limit";
  if (bytes < 1024) return fmt::format("{} B", bytes);
  static constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", three_digits(value), kUnits[unit]);
}

std::string format_rate(double per_second, std::string_view unit) {
  if (per_second <= 0) return "-";
  static constexpr std::array<const char*, 6> kPrefixes = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  while (per_second >= 1000 && prefix + 1 < kPrefixes.size()) {
    per_second /= 1000;
    ++prefix;
  }
  return fmt::format("{} {}{}", three_digits(per_second), kPrefixes[prefix], unit);
}

std::string format_count(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t end = digits.size(); end > first + 3;) {
    end -= 3;
    digits.insert(end, 1, ',');
  }
  return digits;
}

std::string format_percent(double fraction) {
  if (!std::isfinite(fraction)) return "-";
  return fmt::format("{:.1f} %", fraction * 100);
}

std::string format_factor(double factor) {
  if (!std::isfinite(factor)) return "-";
  return fmt::format("{:.2f}x", factor);
}

std::string format_bar(double fraction, int width) {
  const double clamped = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  const int full = static_cast<int>(std::lround(clamped * width));
  return std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(width - full), '.');
}

double parse_duration_s(const std::string& text) {
  static constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}}};
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error == std::errc() && std::isfinite(value) && value > 0) {
    const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
    for (const auto& [name, seconds] : kUnits) {
      if (unit == name) return value * seconds;
    }
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("'{}' is not a duration; write a positive number with its unit, such as "
                          "30s, 500ms, 2m or 1h",
                          text));
}

}  // namespace berth::command
