// The engine: finds plugins, loads models, makes policies.
#pragma once

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

/// What is known of a plugin, copied from its descriptor.
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
  };
  std::vector<Option> options;
  std::filesystem::path file;  ///< empty = registered in process
};

/// Holds the plugins of one process. Search path: the folder `lib/berth` beside the engine's own
/// library (build or install), then the folders of BERTH_PLUGIN_PATH (':'-separated); never the
/// working directory. Where two plugins of a kind have one name, the first found wins and the
/// other is reported by problems().
/// [thread-safe]
class BERTH_EXPORT Engine {
 public:
  /// `plugin_folders` empty = the search path above; otherwise exactly these, in order.
  explicit Engine(std::vector<std::filesystem::path> plugin_folders = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Every plugin found or registered, by kind and name. Scans all folders; creates nothing.
  [[nodiscard]] std::vector<PluginInfo> plugins();
  /// One of them; others are loaded only where its file's name does not lead to it. Throws as
  /// make_policy does.
  [[nodiscard]] PluginInfo plugin(PluginKind kind, std::string_view name);
  /// Files that look like plugins and were refused, each with the reason in one line. Complete
  /// after plugins().
  [[nodiscard]] std::vector<std::string> problems();

  /// Throws Error(not_found) listing the known names, Error(incompatible) for a plugin of another
  /// ABI, Error(invalid_argument) for an option. The policy may outlive the engine; it can make
  /// other policies (Policy::use_policies) for as long as the engine lives.
  [[nodiscard]] std::unique_ptr<Policy> make_policy(std::string_view name,
                                                    const OptionTexts& options = {});
  [[nodiscard]] std::unique_ptr<Frontend> make_frontend(std::string_view name,
                                                        const OptionTexts& options = {});

  [[nodiscard]] std::unique_ptr<Backend> make_backend(std::string_view name,
                                                      const OptionTexts& options = {});

  /// Registers a plugin in process; its descriptor and all it points to must outlive the engine.
  /// Throws Error(invalid_argument) for an incomplete descriptor or a name taken by another
  /// registered one.
  void register_plugin(const PluginDescriptor& descriptor);

  /// The frontend that claims `model`. Throws Error(not_found) for a file that is not there,
  /// Error(unsupported) where no frontend claims it, listing them.
  [[nodiscard]] std::unique_ptr<Frontend> frontend_for(const std::filesystem::path& model);

  /// Loads `model` by the exchange format (`.graph.json`) or the frontend that claims it.
  [[nodiscard]] LoadedModel load(const std::filesystem::path& model,
                                 const LoadOptions& options = {});

  /// The same with all that executing it needs, by the frontend that claims it. Throws
  /// Error(unsupported) for the exchange format, which says nothing of what its ops compute.
  [[nodiscard]] LoadedProgram load_program(const std::filesystem::path& model,
                                           const LoadOptions& options = {});

  /// Costs of `graph` from a file: one of the engine's own (berth::load_costs), or a profile that a
  /// frontend claims. Throws Error(unsupported) where nobody knows such a file.
  [[nodiscard]] LoadedCosts load_costs(const std::filesystem::path& costs, const Graph& graph,
                                       const Cluster& cluster);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace berth
