// Checking a plugin's descriptor before anything of the plugin runs.
#pragma once

#include <string>

#include "berth/engine.h"
#include "berth/plugin.h"

namespace berth {

/// Throws Error(incompatible) where `descriptor` was built for another engine, with both versions
/// named, and Error(invalid_argument) where it is incomplete. `origin` names it in messages.
void check_descriptor(const PluginDescriptor& descriptor, const std::string& origin);

/// A copy of what a checked descriptor says.
[[nodiscard]] PluginInfo describe(const PluginDescriptor& descriptor,
                                  const std::filesystem::path& file);

}  // namespace berth
