// The plugins that an engine knows.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/engine.h"
#include "host/policy_table.h"

namespace berth {

struct Engine::State {
  struct Plugin {
    const PluginDescriptor* descriptor;  // null: the file has been read, not opened
    std::filesystem::path file;
    bool is_table = false;               // in the file
    std::shared_ptr<PolicyTable> table;  // behind the descriptor, where it is one
  };
  using Plugins = std::map<std::pair<PluginKind, std::string>, Plugin, std::less<>>;
  std::vector<std::filesystem::path> folders;
  std::mutex mutex;  // guards everything below
  Plugins plugins;
  std::set<std::filesystem::path> seen;  // files read
  std::vector<std::string> problems;
  std::optional<std::vector<std::string>> allowed;  // as in allow_only
  std::string allowed_by;                           // the place of the setting, where it has one
  bool scanned = false;

  [[nodiscard]] bool allows(std::string_view file_stem) const;
  /// "Allowed are only: policy_heft (the setting "plugins", study.json: line 3)"
  [[nodiscard]] std::string allowed_text() const;
  /// A sentence on the frontends that are there and not allowed; empty where all are.
  [[nodiscard]] std::string frontends_left_out();
  /// Reads what `file` says of itself, once; a refusal becomes a problem.
  void consider(const std::filesystem::path& file);
  void scan();
  /// Opens a plugin whose file has been read. One that cannot be opened becomes a problem and is
  /// forgotten: null.
  const Plugin* open(Plugins::iterator entry);
  const Plugin& find(PluginKind kind, std::string_view name);
  [[noreturn]] void not_found(PluginKind kind, std::string_view name) const;
  std::vector<std::string> names(PluginKind kind) const;
  /// Names of all frontends, found now where they were not yet.
  std::vector<std::string> frontends();
  static std::unique_ptr<Policy> make_policy(const std::shared_ptr<State>& state,
                                             std::string_view name, const OptionTexts& options,
                                             const PolicyMaker& others);
};

}  // namespace berth
