// Amounts of memory as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace berth {

/// The bytes of "64GiB", "64 gib", "64Gi", "64G" and "1.5TB", in any case: GB is 10^9 bytes, and a prefix alone
/// is 2^30, as Docker and Slurm take it. A number alone is bytes. Nothing for other texts, and from 2^62 bytes on.
[[nodiscard]] std::optional<std::int64_t> size_of_text(std::string_view text);

/// The same of a device's memory: a number alone may be meant in any unit, so that only 0 is taken, and nothing
/// from 2^60 bytes on.
[[nodiscard]] std::optional<std::int64_t> memory_of_text(std::string_view text);

}  // namespace berth
