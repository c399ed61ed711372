#include "support/units.h"

#include <array>
#include <charconv>
#include <cmath>

#include "berth/types.h"

namespace berth {
namespace {

/// Four significant digits without an exponent, for values in [0, 10000).
std::string four_digits(double value) {
  return format_fixed(value, value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3);
}

/// Three significant digits, likewise.
std::string three_digits(double value) {
  return format_fixed(value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

/// Divides by `step` while a larger prefix is there; returns the index of the prefix.
std::size_t scale(double& value, double step, std::size_t prefixes) {
  std::size_t index = 0;
  while (value >= step && index + 1 < prefixes) {
    value /= step;
    ++index;
  }
  return index;
}

}  // namespace

std::string format_fixed(double value, int decimals) {
  std::array<char, 512> buffer;  // the largest double has 309 digits
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                    std::chars_format::fixed, decimals);
  return {buffer.data(), result.ptr};
}

std::string format_us(double us) {
  if (!std::isfinite(us)) return "-";
  if (std::abs(us) < 0.0005) return "0 us";  // no digit of it is shown
  if (us < 1e3) return four_digits(us) + " us";
  if (us < 1e6) return four_digits(us / 1e3) + " ms";
  return four_digits(us / 1e6) + " s";
}

std::string format_bytes(std::int64_t bytes) {
  if (bytes == kNoLimit) return "no limit";
  if (bytes < 1024) return std::to_string(bytes) + " B";
  static constexpr std::array<const char*, 6> kUnits = {" KiB", " MiB", " GiB",
                                                        " TiB", " PiB", " EiB"};
  double value = static_cast<double>(bytes) / 1024;
  const std::size_t unit = scale(value, 1024, kUnits.size());
  return three_digits(value) + kUnits[unit];
}

std::string format_rate(double per_second, std::string_view unit) {
  if (!(per_second > 0)) return "-";
  static constexpr std::array<const char*, 7> kPrefixes = {" ", " k", " M", " G", " T", " P", " E"};
  const std::size_t prefix = scale(per_second, 1000, kPrefixes.size());
  return three_digits(per_second) + kPrefixes[prefix] + std::string(unit);
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
  return std::isfinite(fraction) ? format_fixed(fraction * 100, 1) + " %" : "-";
}

std::string format_factor(double factor) {
  return std::isfinite(factor) ? format_fixed(factor, 2) + "x" : "-";
}

}  // namespace berth
