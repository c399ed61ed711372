// The terminal: what is printed where, Ctrl-C, the progress line.
//
// Standard output carries results only, standard error everything else.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

namespace berth::command {

/// Once, first thing: takes care of closed standard streams and of SIGPIPE, and sets up logging.
void open_console();

/// Lines on standard error: "berth: error: ...", "berth: warning: ...", "berth: note: ...".
void log_error(std::string_view message);
/// The same for what a script failed with: its lines, a traceback often among them, stay lines.
void log_script_error(std::string_view message);
void log_warning(std::string_view message);
void log_note(std::string_view message);

/// Writes all of `text` to standard output. Throws Error(io) where that fails (a full disk, a
/// closed pipe).
void print(std::string_view text);

/// For what others wrote to stdout (a script's `print`): sends it and throws as print() does where
/// not all of it arrived.
void flush_standard_output();

/// While one lives, the first Ctrl-C (or SIGTERM) is remembered and the second ends the process at
/// once. At most one at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// True from the first Ctrl-C on. [thread-safe]
  [[nodiscard]] static bool interrupted() noexcept;
};

/// One line on standard error that is rewritten in place; nothing where that is no terminal.
/// [thread-safe]
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows `text`, at most ten times a second.
  void show(const std::string& text);
  void clear();

 private:
  std::mutex mutex_;
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace berth::command
