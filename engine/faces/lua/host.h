// The Lua host: runs scripts and configs on top of the engine.
//
// Scripts and the policies in them are programs: they have Lua's `os` and `io`. Configs have
// neither.
//
// The interface of scripts is documented in scripts/berth/meta.lua, the types that editors read; a test
// holds it equal to what is bound here.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/options.h"
#include "berth/policy.h"
#include "berth/settings.h"

namespace berth::lua {

/// One Lua state with the `berth` module. Everything it holds of the engine is freed with it.
/// [one thread: the one that made it]
class Host {
 public:
  /// `engine` must outlive the host. `library_folder` holds `berth/*.lua`: `scripts/` of the source
  /// tree, `<prefix>/share/berth/scripts` when installed.
  Host(Engine& engine, std::filesystem::path library_folder);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Runs a script; it finds `args` in `...` and in the global `arg`, and `require` looks in the
  /// library folder and beside the script. Throws Error: not_found or io for the file; for a Lua
  /// error the code of the engine's Error behind it (else invalid_argument), with the script's line
  /// and a traceback.
  void run_script(const std::filesystem::path& script, const std::vector<std::string>& args);

  /// Evaluates a config in a Lua state of its own, which has `math` and nothing else, and stops one
  /// that does not end. It gives what berth.settings/1 gives. Throws Error naming the file, the key
  /// and the fix.
  [[nodiscard]] Settings read_config(const std::filesystem::path& file);

  /// A policy by name: one that a script registered here, else a plugin of the engine; or, where
  /// `name` ends in ".lua", the policy that this script registers. A Lua policy must not outlive
  /// the host and places only on the host's thread. Errors as Engine::make_policy, and as
  /// run_script for a script.
  [[nodiscard]] std::unique_ptr<Policy> make_policy(const std::string& name,
                                                    const OptionTexts& options = {});

  /// Engine::plugins() and the policies registered by scripts.
  [[nodiscard]] std::vector<PluginInfo> plugins();

  /// Asked by policies that scripts run, and by `berth.should_stop()`: true = end now with the best
  /// so far (Ctrl-C). Empty = never.
  void set_should_stop(std::function<bool()> should_stop);

  /// Sets the seconds for which a policy in Lua may go on when its time is over and it has not asked whether that is so;
  /// its evaluator then ends it, and the best that it evaluated is its answer. 2 by default.
  void set_patience(double seconds);

  /// How many threads policies and evaluators of scripts use where the script does not say;
  /// 0 = one per core, the default.
  void set_threads(int threads);

  /// Settings that hold where a script names nothing itself. None of them is, until this is called.
  void set_settings(Settings settings);

  /// Sets the stream that `print`, `io.write` and `io.stdout` write to from here on; C's stdout before. Stays open.
  void set_output(std::FILE* output);

  /// Called by `berth.progress(text)`: where the script stands. Empty = nobody looks.
  void set_progress(std::function<void(const std::string&)> progress);

  /// C++ objects that Lua values hold now. Falls to 0 when a script's values have been collected.
  [[nodiscard]] std::int64_t live_objects() const noexcept;
  /// Collects all garbage, so that live_objects() counts only what is reachable.
  void collect_garbage();

  /// Every bound function as meta.lua documents it, sorted: "berth.load", "graph:op_name".
  [[nodiscard]] static std::vector<std::string> bound_functions();

 private:
  std::unique_ptr<struct State> state_;
};

}  // namespace berth::lua
