#include "support/sizes.h"

#include <charconv>
#include <cmath>
#include <string>

#include "berth/support/index.h"

namespace berth {
namespace {

/// The bytes of a unit in small letters; 0 where there is no such.
double factor_of(std::string_view unit) {
  constexpr std::string_view kPrefixes = "kmgt";
  if (unit.empty() || unit == "b") return 1;
  const std::size_t prefix = kPrefixes.find(unit.front());
  if (prefix == std::string_view::npos) return 0;
  const std::string_view behind = unit.substr(1);
  const auto power = static_cast<double>(prefix + 1);
  if (behind == "b") return std::pow(1000, power);
  return behind.empty() || behind == "i" || behind == "ib" ? std::pow(1024, power) : 0;
}

}  // namespace

std::optional<std::int64_t> size_of_text(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  std::string unit;
  for (const char c : text.substr(at(end - text.data()))) {
    if (c != ' ') unit += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  const double factor = factor_of(unit);
  if (factor == 0 || value * factor >= 0x1p62) return std::nullopt;
  return static_cast<std::int64_t>(std::llround(value * factor));
}

std::optional<std::int64_t> memory_of_text(std::string_view text) {
  const std::optional<std::int64_t> bytes = size_of_text(text);
  const bool has_unit = text.find_first_of("bBkKmMgGtT") != std::string_view::npos;
  const bool taken = bytes && *bytes < std::int64_t{1} << 60 && (has_unit || *bytes == 0);
  return taken ? bytes : std::nullopt;
}

}  // namespace berth
