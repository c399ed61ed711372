/// @file
/// Figures in a form for people, for the messages of plugins.
#pragma once

#include <cstdint>
#include <string>

#include "berth/export.h"

namespace berth {

/// Binary units: "512 B", "1.50 MiB"; "no limit" for kNoLimit.
[[nodiscard]] BERTH_EXPORT std::string format_bytes(std::int64_t bytes);

}  // namespace berth
