// Lua for the command, whether or not it was built in.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/policy.h"
#include "berth/settings.h"
#include "lua/host.h"

namespace berth::command {

/// True for "my_policy.lua": a policy that a script registers.
[[nodiscard]] bool is_script(const std::string& policy);

/// lua::Host with the library folder of this installation. In a build without LuaJIT, making one
/// throws Error(unsupported).
class Scripts {
 public:
  explicit Scripts(Engine& engine);

  /// The first Ctrl-C makes the script's searches, and `berth.should_stop()`, end; the second the
  /// process.
  void run(const std::filesystem::path& script, const std::vector<std::string>& args);
  /// The same for a script of the library: "commands/study.lua". Its errors have no traceback: the
  /// library's own lines are of no use to a reader.
  void run_library(const std::string& name, const std::vector<std::string>& args);
  /// See lua::Host::set_settings.
  void set_settings(Settings settings);
  /// See lua::Host::set_threads.
  void set_threads(int threads);
  [[nodiscard]] Settings read_config(const std::filesystem::path& file);
  /// The description of a script's policy.
  [[nodiscard]] PluginInfo describe(const std::string& script);
  /// The policy must not outlive this object.
  [[nodiscard]] std::unique_ptr<Policy> make_policy(const std::string& name,
                                                    const OptionTexts& options);
  /// The same of the policy that a script of the library registers: "commands/tune.lua".
  [[nodiscard]] std::unique_ptr<Policy> make_library_policy(const std::string& name,
                                                            const OptionTexts& options);

 private:
  // Shared only because that needs no destructor of a Host that is not there.
  std::shared_ptr<lua::Host> host_;
};

}  // namespace berth::command
