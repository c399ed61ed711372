// Runs a program as a user would and keeps what it said.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "support/temporary_folder.h"

extern char** environ;

namespace berth::test {

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct ProcessResult {
  int status = -1;  ///< exit status; 128 + signal where one ended it
  std::string out;
  std::string err;
};

struct ProcessSettings {
  std::filesystem::path folder = ".";    ///< where it runs
  std::vector<std::string> environment;  ///< "NAME=value", over this process's own
  /// Standard output: a file (its own capture where empty), or a pipe nobody reads, or closed.
  std::filesystem::path out;
  /// Standard error: a file (its own capture where empty).
  std::filesystem::path err;
  bool out_pipe_without_reader = false;
  bool out_closed = false;
  /// Called again and again while it runs: sends signals when the time has come.
  std::function<void(pid_t)> while_running;
};

namespace detail {

/// This process's environment with some names set.
inline std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  std::vector<std::string> result = changes;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('=') + 1);
    bool changed = false;
    for (const std::string& change : changes) changed = changed || change.starts_with(name);
    if (!changed) result.push_back(text);
  }
  return result;
}

inline std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// The exit status; a program that does not end within eight minutes is killed and fails the test.
inline int wait_for(pid_t pid, const std::function<void(pid_t)>& while_running) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(8);
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (while_running) while_running(pid);
    if (std::chrono::steady_clock::now() > limit) {
      FAIL_CHECK("the program hangs");
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace detail

/// `command[0]` is the program's path.
inline ProcessResult run_process(std::vector<std::string> command,
                                 const ProcessSettings& settings = {}) {
  const TemporaryFolder captured;
  const std::string out = settings.out.empty() ? captured / "out" : settings.out;
  const std::string err = settings.err.empty() ? captured / "err" : settings.err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, settings.folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT, 0600);
  int ends[2] = {-1, -1};
  if (settings.out_closed) {
    posix_spawn_file_actions_addclose(&actions, STDOUT_FILENO);
  } else if (settings.out_pipe_without_reader) {
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    close(ends[0]);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT,
                                     0600);
  }
  std::vector<std::string> environment = detail::environment_with(settings.environment);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, command[0].c_str(), &actions, nullptr, detail::pointers(command).data(),
                  detail::pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (ends[1] >= 0) close(ends[1]);
  REQUIRE_MESSAGE(error == 0, "cannot start ", command[0]);

  ProcessResult result;
  result.status = detail::wait_for(pid, settings.while_running);
  if (settings.out.empty()) result.out = file_text(captured / "out");
  if (settings.err.empty()) result.err = file_text(captured / "err");
  return result;
}

}  // namespace berth::test
