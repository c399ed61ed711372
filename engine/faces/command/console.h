// The terminal: what is printed where, Ctrl-C, the progress line.
//
// Standard output carries results only, standard error everything else.
#pragma once

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace berth::command {

/// Once, first thing: takes care of closed standard streams, of SIGPIPE and of SIGXFSZ, sets up
/// logging, and keeps standard output for print(): what libraries write to file descriptor 1 from
/// here on goes to standard error.
void open_console();

/// Lines on standard error: "berth: error: ...", "berth: warning: ...", "berth: note: ...".
void log_error(std::string_view message);
/// The same for what a script failed with: its lines, a traceback often among them, stay lines.
void log_script_error(std::string_view message);
void log_warning(std::string_view message);
void log_note(std::string_view message);

/// Writes all of `text` to standard output, its lines made safe to show (see printable). Throws
/// Error(io) where that fails (a full disk, a closed pipe).
void print(std::string_view text);

/// Standard output for a script's `print`; its own buffer, sent by flush_script_output().
[[nodiscard]] std::FILE* script_output();
/// Sends what was written to script_output() and throws as print() does where not all of it
/// arrived.
void flush_script_output();

/// `path`; what leads to standard output (/dev/stdout, a link to it) becomes the name of the one that
/// this process was given, for write_file and its like.
[[nodiscard]] std::filesystem::path output_path(const std::filesystem::path& path);

/// While one lives, the first Ctrl-C (or SIGTERM, or the end of the terminal) is remembered, and the
/// next Ctrl-C or SIGTERM, whichever the first was, ends the process at once. The end of the terminal
/// never does: it is often told twice, by the system and by the shell. At most one at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// True from the first Ctrl-C on. [thread-safe]
  [[nodiscard]] static bool interrupted() noexcept;
};

/// Shows what the command is doing, for as long as the object lives. Once the command has run for two
/// seconds, the stages that live, the outer ones first, stand in one line on standard error, with
/// the time that is left where that is known. Nothing of it where standard output or standard error
/// is no terminal. [thread-safe]
class Stage {
 public:
  explicit Stage(std::string what);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// Shows the progress behind the stage.
  void show(std::string detail);
  /// It ends within so many seconds from now; infinity = nobody knows.
  void ends_within(double seconds);

 private:
  friend class StageLine;
  std::string what_;
  std::string detail_;
  std::optional<std::chrono::steady_clock::time_point> end_;
};

}  // namespace berth::command
