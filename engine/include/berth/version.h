/// @file
/// The version, written in this one place. CMake and the plugin ABI read it from here.
#pragma once

#include <cstdint>

#include "berth/export.h"

#define BERTH_VERSION_MAJOR 0
#define BERTH_VERSION_MINOR 1
#define BERTH_VERSION_PATCH 0
#define BERTH_VERSION_STRING "0.1.0"

/// Raised whenever a type that crosses the plugin boundary changes in any way.
#define BERTH_ABI_VERSION 18

namespace berth {

/// BERTH_VERSION_STRING and BERTH_ABI_VERSION of the library that runs, which need not be those of
/// the headers that a program was compiled with.
[[nodiscard]] BERTH_EXPORT const char* version() noexcept;
[[nodiscard]] BERTH_EXPORT std::uint32_t abi_version() noexcept;

}  // namespace berth
