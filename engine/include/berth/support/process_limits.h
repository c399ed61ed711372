/// @file
/// What Linux lets this process use of its machine: by its affinity, and by the control groups (version 1 or 2)
/// that it is in. A container has both below what the machine has. `root` holds `proc` and `sys`; "/" except
/// in tests.
#pragma once

#include <cstdint>
#include <filesystem>

#include "berth/export.h"

namespace berth {

/// The time of so many cores: those of the affinity, or less by a quota, fractions too.
[[nodiscard]] BERTH_EXPORT double usable_cores(const std::filesystem::path& root = "/");
/// The threads that keep these busy: rounded, at least 1.
[[nodiscard]] BERTH_EXPORT int usable_threads(const std::filesystem::path& root = "/");

/// The machine's bytes, or less by a limit. kNoLimit where the system does not say.
[[nodiscard]] BERTH_EXPORT std::int64_t usable_memory_bytes(
    const std::filesystem::path& root = "/");
/// The bytes that the system can still give: of the machine, and of each limit, which what it keeps of files
/// counts towards until it gives that up. kNoLimit where it does not say.
[[nodiscard]] BERTH_EXPORT std::int64_t free_memory_bytes(const std::filesystem::path& root = "/");

}  // namespace berth
