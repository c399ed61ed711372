#include "support/duration.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "berth/error.h"

namespace berth {

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
              "'" + text +
                  "' is not a duration; write a positive number with its unit, such as 30s, 500ms, "
                  "2m or 1h");
}

}  // namespace berth
