// Events of searches, line by line, for `berth watch` and other readers (berth.events/1).
#pragma once

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "outcome.h"

namespace berth::command {

/// The name of this machine; empty if it has none.
[[nodiscard]] std::string host_name();

/// One JSON object a line, which is whole as soon as it is there. [thread-safe]
class EventLog {
 public:
  /// Replaces the file. Throws Error(io).
  explicit EventLog(const std::filesystem::path& path);

  void start(const Problem& problem, const Origin& origin, double budget_s, double bound_us);
  /// Writes what improves, and else no more than a line in half a second.
  void progress(double best_us, const std::string& text);
  void end(const Outcome& outcome);
  void fail(const std::string& why);
  /// Whether all of it could be written so far; the first line that could not was told.
  [[nodiscard]] bool is_whole() const noexcept { return !failed_; }

 private:
  void write(nlohmann::ordered_json event);
  [[nodiscard]] double now_s() const;

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  bool failed_ = false;
  std::mutex mutex_;
  std::string policy_;
  std::chrono::steady_clock::time_point began_;
  double best_us_ = 0;
  double last_s_ = 0;
};

}  // namespace berth::command
