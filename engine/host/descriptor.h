// Checks a plugin's descriptor before anything of the plugin runs.
#pragma once

#include <string>

#include "berth/engine.h"
#include "berth/plugin.h"

namespace berth {

/// Throws Error(incompatible) if `descriptor` was built for another engine, naming both versions,
/// and Error(invalid_argument) if it is incomplete. `origin` names it in messages.
void check_descriptor(const PluginDescriptor& descriptor, const std::string& origin);

/// A copy of what a checked descriptor holds.
[[nodiscard]] PluginInfo describe(const PluginDescriptor& descriptor,
                                  const std::filesystem::path& file);

}  // namespace berth
