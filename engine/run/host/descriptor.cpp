#include "host/descriptor.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "berth/c.h"
#include "berth/error.h"
#include "berth/support/text.h"

namespace berth {

const char* plugin_kind_name(PluginKind kind) noexcept {
  switch (kind) {
    case PluginKind::frontend:
      return "frontend";
    case PluginKind::policy:
      return "policy";
    case PluginKind::backend:
      return "backend";
  }
  return "unknown";
}

namespace {

[[noreturn]] void refuse(ErrorCode code, const std::string& origin, const std::string& what) {
  throw Error(code, cat(origin, ": ", what));
}

bool valid_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

/// lower_snake_case, as settings write them.
bool valid_option_name(std::string_view text) {
  return valid_name(text) && text.find('-') == std::string_view::npos;
}

void check_options(const PluginDescriptor& descriptor, const std::string& origin) {
  if (descriptor.option_count > 0 && descriptor.options == nullptr) {
    refuse(ErrorCode::invalid_argument, origin, "declares options but has none; set options");
  }
  for (std::size_t i = 0; i < descriptor.option_count; ++i) {
    const OptionSpec& spec = descriptor.options[i];
    if (spec.name == nullptr || spec.default_value == nullptr || spec.meaning == nullptr ||
        spec.choices == nullptr ||
        static_cast<std::uint32_t>(spec.type) > static_cast<std::uint32_t>(OptionType::text)) {
      refuse(ErrorCode::invalid_argument, origin,
             cat("option #", i,
                 " is incomplete; give name, type, default, meaning and choices (\"\" = any)"));
    }
    if (!valid_option_name(spec.name)) {
      refuse(ErrorCode::invalid_argument, origin,
             cat("option #", i, " is called '", spec.name,
                 "'; call it in lower_snake_case (a-z, 0-9, '_')"));
    }
    const std::span before(descriptor.options, i);
    const auto named_so = [&](const OptionSpec& other) {
      return std::string_view(other.name) == spec.name;
    };
    if (std::any_of(before.begin(), before.end(), named_so)) {
      refuse(ErrorCode::invalid_argument, origin,
             cat("two options are called '", spec.name, "'; give each a name of its own"));
    }
  }
}

/// Checks the fields of a table beside its name as every struct of berth/c.h is checked.
void check_table(const PluginFileHeader& header, const std::string& origin) {
  if (header.magic != BERTH_C_PLUGIN_MAGIC) {
    refuse(ErrorCode::incompatible, origin,
           cat("its '", kTableSymbol,
               "' is no table of a policy; rebuild the plugin with BERTH_POLICY_PLUGIN"));
  }
  // A later version than this engine's is taken: whether it asks for what is not known here its fields say.
  constexpr std::uint32_t kFirstWithTables = 2;
  if (header.abi_version < kFirstWithTables) {
    refuse(
        ErrorCode::incompatible, origin,
        cat("its table says version ", header.abi_version, " of berth/c.h, which has tables from ",
            kFirstWithTables, " on; rebuild the plugin with BERTH_POLICY_PLUGIN"));
  }
  if (header.size < sizeof(berth_policy)) {
    refuse(ErrorCode::incompatible, origin,
           cat("its table is of ", header.size, " bytes, this engine's of ", sizeof(berth_policy),
               "; rebuild the plugin with BERTH_POLICY_PLUGIN"));
  }
}

void check_name(const PluginFileHeader& header, const std::string& origin) {
  if (header.name && valid_name(*header.name)) return;
  refuse(ErrorCode::invalid_argument, origin,
         "its descriptor lacks a name (a-z, 0-9, '-', '_'), version or description");
}

}  // namespace

void check_plugin_file(const PluginFileHeader& header, const std::filesystem::path& file) {
  const std::string origin = file.string();
  if (header.table) {
    check_table(header, origin);
    check_name(header, origin);
    return;
  }
  if (header.magic != kPluginMagic) {
    refuse(ErrorCode::incompatible, origin,
           cat("its '", kPluginSymbol,
               "' is no Berth plugin descriptor; rebuild the plugin with "
               "BERTH_PLUGIN"));
  }
  if (header.abi_version != BERTH_ABI_VERSION || header.size != sizeof(PluginDescriptor)) {
    refuse(
        ErrorCode::incompatible, origin,
        cat("built for plugin ABI ", header.abi_version, " (descriptor of ", header.size,
            " bytes), this engine (", BERTH_VERSION_STRING, ") has ABI ", BERTH_ABI_VERSION, " (",
            sizeof(PluginDescriptor), " bytes); rebuild the plugin against this engine's headers"));
  }
  if (header.fingerprint != BERTH_BUILD_FINGERPRINT) {
    refuse(ErrorCode::incompatible, origin,
           cat("built with '", header.fingerprint.value_or("?"), "' for Berth ",
               header.berth_version.value_or("?"), ", this engine with '", BERTH_BUILD_FINGERPRINT,
               "' (Berth ", BERTH_VERSION_STRING,
               "); rebuild the plugin with the engine's standard library"));
  }
  check_name(header, origin);
}

void check_descriptor(const PluginDescriptor& descriptor, const std::string& origin) {
  const auto text = [](const char* pointer) {
    return pointer == nullptr ? std::nullopt : std::optional<std::string>(pointer);
  };
  PluginFileHeader header;
  header.magic = descriptor.magic;
  header.abi_version = descriptor.abi_version;
  header.size = descriptor.size;
  header.kind = descriptor.kind;
  if (header.abi_version == BERTH_ABI_VERSION && header.magic == kPluginMagic) {
    header.fingerprint = text(descriptor.fingerprint);
    header.berth_version = text(descriptor.berth_version);
    header.name = text(descriptor.name);
  }
  check_plugin_file(header, origin);
  if (descriptor.version == nullptr || descriptor.description == nullptr ||
      descriptor.berth_version == nullptr) {
    refuse(ErrorCode::invalid_argument, origin,
           "its descriptor lacks a name (a-z, 0-9, '-', '_'), version or description");
  }
  const std::pair<PluginKind, bool> factories[] = {
      {PluginKind::frontend, descriptor.create_frontend != nullptr},
      {PluginKind::policy, descriptor.create_policy != nullptr},
      {PluginKind::backend, descriptor.create_backend != nullptr}};
  bool known = false;
  bool own_factory_alone = true;
  for (const auto& [kind, set] : factories) {
    known = known || descriptor.kind == kind;
    own_factory_alone = own_factory_alone && set == (descriptor.kind == kind);
  }
  if (!known || !own_factory_alone) {
    refuse(ErrorCode::invalid_argument, origin,
           "its descriptor must set the factory of its kind and no other");
  }
  check_options(descriptor, origin);
}

PluginInfo describe(const PluginDescriptor& descriptor, const std::filesystem::path& file) {
  PluginInfo info{
      descriptor.kind, descriptor.name, descriptor.version, descriptor.description, {}, file};
  for (std::size_t i = 0; i < descriptor.option_count; ++i) {
    const OptionSpec& spec = descriptor.options[i];
    info.options.push_back({spec.name, spec.type, spec.default_value, spec.meaning, spec.range,
                            option_choices(spec), allowed_text(spec)});
  }
  return info;
}

}  // namespace berth
