/// @file
/// The engine: finds plugins, loads models, makes policies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/backend.h"
#include "berth/export.h"
#include "berth/frontend.h"
#include "berth/options.h"
#include "berth/plugin.h"
#include "berth/policy.h"

namespace berth {

/// A plugin's description, copied from its descriptor.
struct PluginInfo {
  PluginKind kind;
  std::string name;
  std::string version;
  std::string description;
  struct Option {
    std::string name;
    OptionType type;
    std::string default_value;
    std::string meaning;
    OptionRange range;
    std::vector<std::string> choices;  ///< of a text; empty = any
    std::string allowed;               ///< range or choices in words; empty = any
  };
  std::vector<Option> options;
  std::filesystem::path file;  ///< empty = registered in process
};

/// Versions that the code using the engine was compiled with.
struct CallerBuild {
  std::uint32_t abi_version;
  const char* fingerprint;
};

/// Holds the plugins of one process.
///
/// Search path: the folder `lib/berth` beside the engine's own library (in a build or an install),
/// then the folders of BERTH_PLUGIN_PATH, separated by ':'. Never the working directory. If two
/// plugins of a kind have the same name, the first found wins and problems() reports the other.
/// [thread-safe]
class BERTH_EXPORT Engine {
 public:
  /// `plugin_folders` empty = the search path above; otherwise exactly these, in order. Leave
  /// `caller` out. Throws Error(incompatible) if the program was compiled with headers, or a
  /// standard library, that the engine's library does not fit.
  explicit Engine(std::vector<std::filesystem::path> plugin_folders = {},
                  const CallerBuild& caller = {BERTH_ABI_VERSION, BERTH_BUILD_FINGERPRINT});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// From now on only these plugins are opened: names of files without ".so", such as
  /// "policy_heft", or "policy_*" for a whole kind; and policies' Lua files. What is registered in
  /// process stays. Throws Error(invalid_argument) for a text of another form.
  void allow_only(std::vector<std::string> plugins);
  /// The same; messages name `origin`, the place of the list: "study.json: line 3".
  void allow_only(std::vector<std::string> plugins, const std::string& origin);
  /// Throws Error(incompatible) where allow_only left out this Lua file, or this plugin
  /// ("module_torch"). Whoever opens one that the engine does not open asks here first.
  void check_allowed(const std::string& plugin) const;

  /// Every plugin found or registered, by kind and name. Opens all files but creates nothing.
  [[nodiscard]] std::vector<PluginInfo> plugins();
  /// One plugin. Opens no other. Throws as make_policy does.
  [[nodiscard]] PluginInfo plugin(PluginKind kind, std::string_view name);
  /// Files that look like plugins but were refused, each with the reason in one line. Complete
  /// after a call of plugins().
  [[nodiscard]] std::vector<std::string> problems();

  /// Throws Error(not_found) listing the known names, Error(incompatible) for a plugin of another
  /// ABI or one that cannot be opened, and Error(invalid_argument) for an invalid option. Policies
  /// that it runs are made by `others`, which may know more than the engine (Lua's), or where that
  /// is empty by this engine. The policy may outlive the engine. It can make others as long as the
  /// engine, and what `others` refers to, live.
  [[nodiscard]] std::unique_ptr<Policy> make_policy(std::string_view name,
                                                    const OptionTexts& options = {},
                                                    const PolicyMaker& others = {});
  [[nodiscard]] std::unique_ptr<Frontend> make_frontend(std::string_view name,
                                                        const OptionTexts& options = {});

  [[nodiscard]] std::unique_ptr<Backend> make_backend(std::string_view name,
                                                      const OptionTexts& options = {});

  /// All options of a plugin: `options` over its defaults. Throws as make_policy does.
  [[nodiscard]] Options options_of(PluginKind kind, std::string_view name,
                                   const OptionTexts& options);

  /// Registers a plugin in this process. The descriptor and everything it points to must outlive
  /// the engine. Throws Error(invalid_argument) for an incomplete descriptor and for a name that
  /// another registered plugin of the kind has.
  void register_plugin(const PluginDescriptor& descriptor);

  /// The frontend that claims `model`. Throws Error(not_found) for a missing file, and
  /// Error(unsupported) listing the frontends if none claims it.
  [[nodiscard]] std::unique_ptr<Frontend> frontend_for(const std::filesystem::path& model);

  /// Loads `model`: a `.graph.json` file as berth.graph/1, any other by the frontend that claims
  /// it.
  [[nodiscard]] LoadedModel load(const std::filesystem::path& model,
                                 const LoadOptions& options = {});

  /// Loads `model` with everything that executing it needs, by the frontend that claims it. Throws
  /// Error(unsupported) for berth.graph/1, which does not say what its ops compute.
  [[nodiscard]] LoadedProgram load_program(const std::filesystem::path& model,
                                           const LoadOptions& options = {});

  /// Loads costs of `graph` from a file: berth.costs/1 or berth.graph/1 (see berth::load_costs), or
  /// a profile that a frontend claims. Throws Error(unsupported) for any other file.
  [[nodiscard]] LoadedCosts load_costs(const std::filesystem::path& costs, const Graph& graph,
                                       const Cluster& cluster);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace berth
