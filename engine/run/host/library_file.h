// Reads what a plugin's library says of itself, without opening it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "berth/plugin.h"

namespace berth {

/// The symbol that a plugin in C exports, by BERTH_POLICY_PLUGIN.
inline constexpr const char* kTableSymbol = "berth_c_plugin";

/// The description in a library: the start of its PluginDescriptor or of its berth_policy_plugin
/// (berth/c.h), as the file holds it.
struct PluginFileHeader {
  bool table = false;  ///< a berth_policy_plugin
  std::uint32_t magic = 0;
  std::uint32_t abi_version = 0;
  std::uint64_t size = 0;  ///< of the descriptor; of a table's berth_policy
  PluginKind kind{};
  // Only the fields above are read of another ABI. Empty: null, or not a text of the file.
  std::optional<std::string> fingerprint;  // none in a table, nor the next
  std::optional<std::string> berth_version;
  std::optional<std::string> name;
};

/// Nothing of the library runs: static initialisers would do so as soon as it is opened. Throws
/// Error(incompatible) for a file that is not a complete ELF library of this word size, or exports
/// no descriptor that is initialised data.
[[nodiscard]] PluginFileHeader read_plugin_file(const std::filesystem::path& file);

}  // namespace berth
