// Finding and loading plugin libraries.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "berth/plugin.h"

namespace berth {

/// `lib/berth` beside the engine's own library, then the folders of BERTH_PLUGIN_PATH; relative
/// ones, and those that cannot be listed, become `problems`.
[[nodiscard]] std::vector<std::filesystem::path> default_plugin_folders(
    std::vector<std::string>& problems);

/// Files of `folder` named <kind>_<name>.so, sorted. Empty if there is no such folder.
[[nodiscard]] std::vector<std::filesystem::path> plugin_files(const std::filesystem::path& folder);

/// Opens a library that read_plugin_file has read, for the rest of the process, and returns what is
/// behind its symbol, unchecked. All symbols are resolved at once: one that is missing must not end
/// the process at its first use. Throws Error(incompatible) if the library cannot be opened.
[[nodiscard]] const void* load_plugin(const std::filesystem::path& file, const char* symbol);

}  // namespace berth
