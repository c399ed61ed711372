#pragma once

#include <string>

namespace berth {

/// "30s", "500ms", "2m", "1h", "1.5s" in seconds. Throws Error(invalid_argument) for anything else,
/// and for a duration that is not positive.
[[nodiscard]] double parse_duration_s(const std::string& text);

}  // namespace berth
