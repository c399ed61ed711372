/// @file
/// The version, written in this one place. CMake and the plugin ABI read it from here.
#pragma once

#define BERTH_VERSION_MAJOR 0
#define BERTH_VERSION_MINOR 1
#define BERTH_VERSION_PATCH 0
#define BERTH_VERSION_STRING "0.1.0"

/// Raised whenever a type that crosses the plugin boundary changes in any way.
#define BERTH_ABI_VERSION 7
