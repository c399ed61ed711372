#include "berth/engine.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "berth/error.h"
#include "berth/support/text.h"
#include "berth/version.h"
#include "host/descriptor.h"
#include "host/engine_state.h"
#include "host/plugin_folder.h"

namespace berth {

const char* version() noexcept {
  return BERTH_VERSION_STRING;
}
std::uint32_t abi_version() noexcept {
  return BERTH_ABI_VERSION;
}

bool Engine::State::allows(std::string_view file_stem) const {
  return !allowed || std::any_of(allowed->begin(), allowed->end(), [&](std::string_view entry) {
    if (!entry.ends_with('*')) return entry == file_stem;
    return file_stem.starts_with(entry.substr(0, entry.size() - 1));
  });
}

std::string Engine::State::allowed_text() const {
  return cat(" Allowed are only: ", allowed->empty() ? "none" : join(*allowed),
             " (the setting \"plugins\"", allowed_by.empty() ? "" : ", " + allowed_by, ")");
}

std::string Engine::State::frontends_left_out() {
  const std::lock_guard lock(mutex);
  std::set<std::string> left_out;
  for (const std::filesystem::path& folder : folders) {
    for (const std::filesystem::path& file : plugin_files(folder)) {
      const std::string stem = file.stem().string();
      if (stem.starts_with("frontend_") && !allows(stem)) left_out.insert(stem);
    }
  }
  if (left_out.empty()) return {};
  return cat(allowed_text(), ", which leaves out ",
             join(std::vector<std::string>(left_out.begin(), left_out.end())),
             "; add them there, or frontend_*.");
}

void Engine::State::consider(const std::filesystem::path& file) {
  if (!allows(file.stem().string()) || !seen.insert(file).second) return;
  try {
    const PluginFileHeader header = read_plugin_file(file);
    check_plugin_file(header, file);
    // One name for both: a plugin is found by its own without a look at others, and allowed by its file's.
    const std::string stem = cat(plugin_kind_name(header.kind), "_", *header.name);
    if (file.stem() != stem && header.kind <= PluginKind::backend) {
      throw Error(ErrorCode::incompatible,
                  cat(file.string(), ": holds the ", plugin_kind_name(header.kind), " '",
                      *header.name, "'; name the file ", stem, ".so"));
    }
    const auto [entry, added] =
        plugins.try_emplace({header.kind, *header.name}, Plugin{nullptr, file, header.table, {}});
    if (!added) {
      const std::string first = entry->second.file.string();
      problems.push_back(cat(file.string(), ": a ", plugin_kind_name(header.kind), " named '",
                             *header.name, "' was already found",
                             first.empty() ? " in process" : " in " + first,
                             ", which wins; remove one of them"));
    }
  } catch (const Error& error) {
    problems.emplace_back(error.what());
  }
}

const Engine::State::Plugin* Engine::State::open(Plugins::iterator entry) {
  Plugin& plugin = entry->second;
  if (plugin.descriptor != nullptr) return &plugin;
  try {
    const void* const object =
        load_plugin(plugin.file, plugin.is_table ? kTableSymbol : kPluginSymbol);
    const auto* descriptor = static_cast<const PluginDescriptor*>(object);
    if (plugin.is_table) {
      plugin.table =
          PolicyTable::of_file(*static_cast<const berth_policy_plugin*>(object), plugin.file);
      descriptor = &plugin.table->descriptor();
    }
    check_descriptor(*descriptor, plugin.file.string());
    plugin.descriptor = descriptor;
    return &plugin;
  } catch (const Error& error) {
    problems.emplace_back(error.what());
    plugins.erase(entry);
    return nullptr;
  }
}

void Engine::State::scan() {
  if (scanned) return;
  scanned = true;
  for (const std::filesystem::path& folder : folders) {
    for (const std::filesystem::path& file : plugin_files(folder)) consider(file);
  }
}

std::vector<std::string> Engine::State::names(PluginKind kind) const {
  std::vector<std::string> names;
  for (const auto& [key, plugin] : plugins) {
    if (key.first == kind) names.push_back(key.second);
  }
  return names;
}

const Engine::State::Plugin& Engine::State::find(PluginKind kind, std::string_view name) {
  const std::pair<PluginKind, std::string> key(kind, name);
  auto found = plugins.find(key);
  if (found == plugins.end() && name.find('/') == std::string_view::npos) {
    // Its file's name is tried first: no other file need be read then.
    const std::string file = cat(plugin_kind_name(kind), "_", name, ".so");
    for (const std::filesystem::path& folder : folders) {
      std::error_code error;
      if (std::filesystem::exists(folder / file, error)) consider(folder / file);
    }
    found = plugins.find(key);
  }
  if (found == plugins.end()) {
    scan();
    found = plugins.find(key);
  }
  const Plugin* const plugin = found != plugins.end() ? open(found) : nullptr;
  if (plugin != nullptr) return *plugin;
  scan();  // the answer lists all that are there
  not_found(kind, name);
}

void Engine::State::not_found(PluginKind kind, std::string_view name) const {
  const std::string stem = cat(plugin_kind_name(kind), "_", name);
  std::string refused;
  std::string more;
  for (const std::string& problem : problems) {
    if (problem.find(stem + ".so") != std::string::npos) refused = cat(" Refused: ", problem, ".");
    if (problem.starts_with("BERTH_PLUGIN_PATH")) more += " " + problem + ".";
  }
  if (!allows(stem)) more += allowed_text() + ".";
  const std::vector<std::string> known = names(kind);
  for (const std::filesystem::path& folder : folders) {
    std::error_code error;
    const bool there = std::filesystem::is_directory(folder, error);
    if (there && !known.empty()) continue;
    more += cat(" Searched: ", folder.string(), there ? "." : " (no such folder).");
  }
  throw Error(
      refused.empty() ? ErrorCode::not_found : ErrorCode::incompatible,
      cat("no ", plugin_kind_name(kind), " '", name, "'", known_names(name, known), refused, more));
}

Engine::Engine(std::vector<std::filesystem::path> plugin_folders, const CallerBuild& caller)
    : state_(std::make_shared<State>()) {
  if (caller.abi_version != BERTH_ABI_VERSION ||
      std::string_view(caller.fingerprint) != BERTH_BUILD_FINGERPRINT) {
    throw Error(ErrorCode::incompatible,
                cat("this program was compiled for Berth's ABI ", caller.abi_version, " with '",
                    caller.fingerprint, "', and runs with libberth ", BERTH_VERSION_STRING,
                    " of ABI ", BERTH_ABI_VERSION, ", built with '", BERTH_BUILD_FINGERPRINT,
                    "'; compile it against the headers of the library it runs with"));
  }
  state_->folders =
      plugin_folders.empty() ? default_plugin_folders(state_->problems) : std::move(plugin_folders);
}
Engine::~Engine() = default;

std::vector<PluginInfo> Engine::plugins() {
  const std::lock_guard lock(state_->mutex);
  state_->scan();
  std::vector<PluginInfo> infos;
  for (auto entry = state_->plugins.begin(); entry != state_->plugins.end();) {
    const State::Plugin* const plugin = state_->open(entry++);
    if (plugin != nullptr) infos.push_back(describe(*plugin->descriptor, plugin->file));
  }
  return infos;
}

void Engine::check_allowed(const std::string& plugin) const {
  const std::lock_guard lock(state_->mutex);
  if (!state_->allowed) return;
  std::error_code ignored;
  for (const std::string& entry : *state_->allowed) {
    // It is the file that was allowed, whatever way leads to it.
    const bool lua = plugin.ends_with(".lua") && entry.ends_with(".lua");
    if (lua && std::filesystem::equivalent(plugin, entry, ignored)) return;
  }
  if (!plugin.ends_with(".lua") && state_->allows(plugin)) return;
  throw Error(ErrorCode::incompatible,
              cat("'", plugin, "' may not be opened.", state_->allowed_text(),
                  "; add it there if you trust it"));
}

void Engine::allow_only(std::vector<std::string> plugins) {
  allow_only(std::move(plugins), {});
}

void Engine::allow_only(std::vector<std::string> plugins, const std::string& origin) {
  for (const std::string& name : plugins) {
    const bool of_a_kind = name.starts_with("policy_") || name.starts_with("frontend_") ||
                           name.starts_with("backend_") || name.starts_with("module_");
    if (of_a_kind && name.find_first_of("/. ") == std::string::npos) continue;
    if (name.ends_with(".lua")) continue;
    throw Error(ErrorCode::invalid_argument,
                cat("'", name,
                    "' names no plugin; write KIND_NAME as its file is called, such as "
                    "policy_heft, policy_* for all policies, or a policy's Lua file"));
  }
  const std::lock_guard lock(state_->mutex);
  state_->allowed = std::move(plugins);
  state_->allowed_by = origin;
  std::erase_if(state_->plugins, [&](const auto& entry) {
    const std::filesystem::path& file = entry.second.file;
    if (file.empty() || state_->allows(file.stem().string())) return false;
    state_->seen.erase(file);
    return true;
  });
  // Files that were not allowed before have not been read.
  state_->scanned = false;
}

PluginInfo Engine::plugin(PluginKind kind, std::string_view name) {
  const std::lock_guard lock(state_->mutex);
  const State::Plugin& found = state_->find(kind, name);
  return describe(*found.descriptor, found.file);
}

std::vector<std::string> Engine::problems() {
  const std::lock_guard lock(state_->mutex);
  return state_->problems;
}

namespace {

/// The options of one plugin, defaults overridden by `texts`.
Options checked_options(const PluginDescriptor& descriptor, const OptionTexts& texts) {
  Options options({descriptor.options, descriptor.option_count});
  const std::string owner = cat(plugin_kind_name(descriptor.kind), " '", descriptor.name, "'");
  for (const auto& [name, value] : texts) options.set(owner, name, value);
  return options;
}

/// Calls the factory; what it throws beside Error and bad_alloc becomes an Error naming the plugin.
template <typename Create>
auto make(const PluginDescriptor& descriptor, const OptionTexts& texts, Create create) {
  const Options options = checked_options(descriptor, texts);
  const auto plugin = [&] {
    return cat(plugin_kind_name(descriptor.kind), " '", descriptor.name, "'");
  };
  auto instance = std::unique_ptr<std::remove_pointer_t<decltype(create(options))>>();
  try {
    instance.reset(create(options));
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ErrorCode::incompatible, cat(plugin(), " failed to start: ", error.what()));
  } catch (...) {
    throw Error(ErrorCode::incompatible,
                cat(plugin(), " failed to start with an unknown exception; fix the plugin"));
  }
  if (!instance) {
    throw Error(ErrorCode::incompatible,
                cat(plugin(), " made no instance; its factory must return or throw"));
  }
  return instance;
}

}  // namespace

std::unique_ptr<Policy> Engine::State::make_policy(const std::shared_ptr<State>& state,
                                                   std::string_view name,
                                                   const OptionTexts& options,
                                                   const PolicyMaker& others) {
  const PluginDescriptor* descriptor = nullptr;
  {
    const std::lock_guard lock(state->mutex);
    descriptor = state->find(PluginKind::policy, name).descriptor;
  }
  const PolicyMaker policies = [weak = std::weak_ptr<State>(state)](
                                   std::string_view other, const OptionTexts& other_options) {
    const std::shared_ptr<State> alive = weak.lock();
    if (alive == nullptr) {
      throw Error(ErrorCode::not_found,
                  cat("no policy '", other,
                      "': the engine that made this policy has ended; keep it as long as the "
                      "policies that use others"));
    }
    return make_policy(alive, other, other_options, {});
  };
  std::unique_ptr<Policy> policy = make(*descriptor, options, [&](const Options& checked) {
    return descriptor->create_policy(checked, others ? others : policies, descriptor->user);
  });
  policy->set_name(descriptor->name);
  return policy;
}

std::unique_ptr<Policy> Engine::make_policy(std::string_view name, const OptionTexts& options,
                                            const PolicyMaker& others) {
  return State::make_policy(state_, name, options, others);
}

std::unique_ptr<Frontend> Engine::make_frontend(std::string_view name, const OptionTexts& options) {
  const PluginDescriptor* descriptor = nullptr;
  {
    const std::lock_guard lock(state_->mutex);
    descriptor = state_->find(PluginKind::frontend, name).descriptor;
  }
  return make(*descriptor, options, [&](const Options& checked) {
    return descriptor->create_frontend(checked, descriptor->user);
  });
}

std::unique_ptr<Backend> Engine::make_backend(std::string_view name, const OptionTexts& options) {
  const PluginDescriptor* descriptor = nullptr;
  {
    const std::lock_guard lock(state_->mutex);
    descriptor = state_->find(PluginKind::backend, name).descriptor;
  }
  return make(*descriptor, options, [&](const Options& checked) {
    return descriptor->create_backend(checked, descriptor->user);
  });
}

Options Engine::options_of(PluginKind kind, std::string_view name, const OptionTexts& options) {
  const std::lock_guard lock(state_->mutex);
  return checked_options(*state_->find(kind, name).descriptor, options);
}

void Engine::register_plugin(const PluginDescriptor& descriptor) {
  check_descriptor(descriptor, "a plugin registered in process");
  const std::lock_guard lock(state_->mutex);
  const auto [entry, added] = state_->plugins.try_emplace(
      {descriptor.kind, descriptor.name}, State::Plugin{&descriptor, {}, false, {}});
  if (!added) {
    throw Error(ErrorCode::invalid_argument,
                cat("a ", plugin_kind_name(descriptor.kind), " named '", descriptor.name,
                    "' is already there; choose another name"));
  }
}

std::vector<std::string> Engine::State::frontends() {
  const std::lock_guard lock(mutex);
  for (const std::filesystem::path& folder : folders) {
    for (const std::filesystem::path& file : plugin_files(folder)) {
      if (file.filename().string().rfind("frontend_", 0) == 0) consider(file);
    }
  }
  return names(PluginKind::frontend);
}

}  // namespace berth
