// The files a subcommand is asked to write.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/engine.h"
#include "berth/outcome.h"
#include "berth/settings.h"

namespace berth::command {

/// One `-o FILE` kind of option with a value.
struct Target {
  std::string option;
  std::filesystem::path path;
};

/// Adds it where the setting has a value.
void add_target(std::vector<Target>& targets, const char* option,
                const std::optional<std::string>& path);

/// A file or folder that the command reads; an empty path = none. `what` as in "it is the model itself".
struct Input {
  std::string what;
  std::filesystem::path path;
};
/// The model, and what its frontend reads besides. This asks the frontend where a target is there already:
/// it cannot be one of those otherwise.
[[nodiscard]] std::vector<Input> model_inputs(Engine& engine, const std::string& model,
                                              const std::vector<Target>& targets);

/// Before the work: tells what would fail after it, and what would be lost. Every command that writes files
/// lists here all that it writes and all that it reads. Throws Error(io) for a target whose folder is not
/// there or not writable, that is a folder itself, that is one of `inputs` or in one, or that two
/// options name. Links are followed, to what is not there yet too.
void check_targets(const std::vector<Target>& targets, const std::vector<Input>& inputs);

/// Writes the file of a target, after check_targets; "/dev/stdout", or a link to it, is standard output.
void write_target(const std::filesystem::path& path, std::string_view content);

/// The targets of a command as they are written after its work, each by itself: one that cannot be
/// written is told on standard error, and costs neither the others nor the result.
class Written {
 public:
  explicit Written(std::vector<Target> targets) : targets_(std::move(targets)) {}

  /// Whether `write` threw no Error.
  bool attempt(const std::string& option, const std::function<void()>& write);
  /// Tells that the target was not written.
  void fail(const std::string& option, const std::string& why);
  /// Adds to the target's line in `text` what its reader has to do yet.
  void advise(const std::string& option, std::string what) { advice_[option] = std::move(what); }
  /// The target is not whole, which was told.
  void lose(const std::string& option) { lost_.push_back(option); }
  /// Writes the trace, the drawing and the page of the step that the settings ask for.
  void write_step(const Settings& settings, const Outcome& outcome);

  /// "  wrote FILE (OPTION)" and what was advised, a line for each that is there.
  [[nodiscard]] std::string text() const;
  /// 1 where a target was not written.
  [[nodiscard]] int exit_status() const { return lost_.empty() ? 0 : 1; }

 private:
  std::vector<Target> targets_;
  std::vector<std::string> lost_;              ///< options
  std::map<std::string, std::string> advice_;  ///< by option
};

}  // namespace berth::command
