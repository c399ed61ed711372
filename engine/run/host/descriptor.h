// Checks a plugin's descriptor before anything of the plugin runs.
#pragma once

#include <filesystem>
#include <string>

#include "berth/engine.h"
#include "berth/plugin.h"
#include "host/library_file.h"

namespace berth {

/// Throws Error(incompatible) if the plugin of `file` was built for another engine, naming both
/// versions, and Error(invalid_argument) if it has no proper name.
void check_plugin_file(const PluginFileHeader& header, const std::filesystem::path& file);

/// The same for a descriptor in memory, all of it: Error(invalid_argument) if it is incomplete.
/// `origin` names it in messages.
void check_descriptor(const PluginDescriptor& descriptor, const std::string& origin);

/// A copy of what a checked descriptor holds.
[[nodiscard]] PluginInfo describe(const PluginDescriptor& descriptor,
                                  const std::filesystem::path& file);

}  // namespace berth
