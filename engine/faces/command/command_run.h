// Additions of the command to a run: Lua policies, Ctrl-C, the progress line, notes, the log of events.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/run.h"
#include "console.h"
#include "event_log.h"
#include "scripts.h"

namespace berth::command {

/// The engine of the settings and the hooks of one command.
class CommandRun {
 public:
  explicit CommandRun(Settings settings);
  CommandRun(const CommandRun&) = delete;
  CommandRun& operator=(const CommandRun&) = delete;

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] Engine& engine() { return *engine_; }
  [[nodiscard]] const RunHooks& hooks() const { return hooks_; }
  /// Lua on this engine. Throws Error(unsupported) in a build without it.
  [[nodiscard]] Scripts& scripts();
  /// The searches are done: from now on Ctrl-C ends the process at once.
  void end_searches() { guard_.reset(); }
  [[nodiscard]] bool log_is_whole() const { return log_ == nullptr || log_->is_whole(); }

 private:
  void begins(const Task& task, const Origin& origin, double budget_s);

  Settings settings_;
  std::unique_ptr<Engine> engine_;
  std::optional<Scripts> scripts_;
  RunHooks hooks_;
  std::weak_ptr<Stage> innermost_;       ///< the stage that began last
  std::unique_ptr<EventLog> log_;        ///< null = none
  std::optional<InterruptGuard> guard_;  ///< from the first search on
};

/// For a placement that is there already.
[[nodiscard]] inline RunHooks placed(RunHooks hooks) {
  hooks.placed = true;
  return hooks;
}
/// Tells on standard error where a placement was made for another machine than the task's.
void note_other_machine(const Task& task, const StoredPlacement& stored);
/// Tells on standard error that Ctrl-C ended the search or the bound of its result, where it did.
void warn_of_interrupt(const Outcome& outcome);

}  // namespace berth::command
