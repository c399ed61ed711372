// `berth watch`: searches and trainings as they run, from the lines that they write.
#include <fcntl.h>
#include <signal.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/files.h"
#include "command_run.h"
#include "console.h"
#include "event_log.h"
#include "scripts.h"
#include "setting_options.h"
#include "subcommands.h"
#include "support/units.h"
#include "text_table.h"

namespace berth::command {
namespace {

using Json = nlohmann::ordered_json;
using Align = TextTable::Align;

/// A policy's search, or a training.
struct Run {
  std::string worker;  ///< who writes the log: "host:pid", or the file's name
  std::string policy;
  double bound_us = 0;
  double time_s = 0;
  double budget_s = 0;                          ///< 0 = none
  std::vector<std::pair<double, double>> best;  ///< (when, us), each better than the one before
  std::string text;
  std::string ended;
  std::int64_t evaluations = 0;
};

struct Watched {
  std::string what;  ///< "inception_v3.onnx on k80x4"
  std::vector<Run> runs;
  std::string host;  ///< of the process that writes
  pid_t pid = 0;     ///< 0 = the log does not say

  [[nodiscard]] bool ended() const {
    return !runs.empty() &&
           std::all_of(runs.begin(), runs.end(), [](const Run& run) { return !run.ended.empty(); });
  }
};

/// Whether the process that wrote the log is no more, as far as can be told from here: it was one
/// of this machine, and the log has been left alone for a while.
bool is_lost(const Watched& watched, const std::filesystem::path& log) {
  constexpr std::chrono::seconds kQuiet{5};
  if (watched.pid <= 0 || watched.host.empty() || watched.host != host_name()) return false;
  if (kill(watched.pid, 0) == 0 || errno != ESRCH) return false;
  std::error_code error;
  const auto written = std::filesystem::last_write_time(log, error);
  return !error && std::filesystem::file_time_type::clock::now() - written > kQuiet;
}

Run& run_of(Watched& watched, const Json& event) {
  const std::string policy = event.value("policy", "");
  const std::string kind = event.value("event", "");
  for (auto run = watched.runs.rbegin(); run != watched.runs.rend(); ++run) {
    if (run->policy == policy && kind != "start") return *run;
  }
  watched.runs.push_back({});
  watched.runs.back().policy = policy;
  return watched.runs.back();
}

void take(Watched& watched, const Json& event) {
  Run& run = run_of(watched, event);
  if (event.contains("model")) {
    watched.what = event.value("model", "") + " on " + event.value("machine", "");
  }
  watched.host = event.value("host", watched.host);
  watched.pid = event.value("pid", watched.pid);
  run.bound_us = event.value("bound_us", run.bound_us);
  run.time_s = event.value("time_s", run.time_s);
  run.budget_s = event.value("budget_s", run.budget_s);
  run.text = event.value("text", run.text);
  run.evaluations = event.value("evaluations", run.evaluations);
  const double best_us = event.value("best_us", std::numeric_limits<double>::infinity());
  if (best_us <
      (run.best.empty() ? std::numeric_limits<double>::infinity() : run.best.back().second)) {
    run.best.emplace_back(run.time_s, best_us);
  }
  if (event.value("event", "") == "end") {
    run.ended = event.value("failure", event.value("end", "done"));
  }
}

constexpr const char* kFormat = "berth.events/1";

/// Before its first line is whole: throws where that cannot become one of a log.
void check_beginning(const std::string& path, std::string text) {
  const std::string beginning = fmt::format("{{\"format\":\"{}\"", kFormat);
  std::erase(text, ' ');
  if (beginning.starts_with(text.substr(0, beginning.size()))) return;
  throw Error(
      ErrorCode::invalid_file,
      fmt::format("{}: it begins with no event; name a file that `berth place --log` wrote", path));
}

/// All whole lines; the last one may still be on its way.
Watched read_log(const std::string& path) {
  Watched watched;
  const std::string text = read_file(path);
  if (text.find('\n') == std::string::npos) check_beginning(path, text);
  int number = 0;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    ++number;
    try {
      const Json event = Json::parse(text.substr(begin, end - begin));
      if (!event.contains("event")) throw Error(ErrorCode::invalid_file, "no \"event\"");
      if (const std::string format = event.value("format", kFormat); format != kFormat) {
        throw Error(ErrorCode::invalid_file,
                    fmt::format("its format is '{}', expected '{}'", format, kFormat));
      }
      take(watched, event);
    } catch (const std::exception& error) {
      throw Error(
          ErrorCode::invalid_file,
          fmt::format("{}: line {} is no event ({}); name a file that `berth place --log` wrote",
                      path, number, error.what()));
    }
  }
  const std::string worker = watched.pid > 0 ? fmt::format("{}:{}", watched.host, watched.pid)
                                             : std::filesystem::path(path).filename().string();
  const bool lost = is_lost(watched, path);
  // Time goes on where nothing is found: since the last line, by the file's clock.
  std::error_code error;
  const auto written = std::filesystem::last_write_time(path, error);
  const std::chrono::duration<double> since =
      std::filesystem::file_time_type::clock::now() - written;
  for (Run& run : watched.runs) {
    run.worker = worker;
    if (run.ended.empty() && !lost && !error && &run == &watched.runs.back()) {
      run.time_s += std::max(0.0, since.count());
    }
    if (run.ended.empty() && lost) run.ended = "its process is no more";
  }
  return watched;
}

/// The runs of all logs.
Watched read(const std::vector<std::string>& paths) {
  Watched all;
  for (const std::string& path : paths) {
    Watched one = read_log(path);
    if (all.what.empty()) {
      all.what = one.what;
    } else if (!one.what.empty() && one.what != all.what && !all.what.ends_with(" and others")) {
      all.what += " and others";
    }
    if (one.runs.empty()) {
      one.runs.emplace_back();
      one.runs.back().worker = path;
      one.runs.back().text = "has not begun";
    }
    std::move(one.runs.begin(), one.runs.end(), std::back_inserter(all.runs));
  }
  return all;
}

/// The best so far over time, from the first on: high is far above the best of all, low is there.
std::string curve(const Run& run, std::size_t columns) {
  static constexpr const char* kLevels[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                            "\u2585", "\u2586", "\u2587", "\u2588"};
  if (run.best.size() < 2 || run.time_s <= 0) return {};
  const double low = std::log(run.best.back().second), high = std::log(run.best.front().second);
  std::string text;
  std::size_t next = 0;
  for (std::size_t column = 0; column < columns; ++column) {
    const double until_s =
        run.time_s * static_cast<double>(column + 1) / static_cast<double>(columns);
    while (next < run.best.size() && run.best[next].first <= until_s) ++next;
    if (next == 0) {
      text += " ";
      continue;
    }
    const double share =
        high > low ? (std::log(run.best[next - 1].second) - low) / (high - low) : 0;
    text += kLevels[static_cast<std::size_t>(std::lround(7 * std::clamp(share, 0.0, 1.0)))];
  }
  return text;
}

/// "3 workers, 2 of them running; the best so far is 204.6 ms, by auto of node-2:714"
std::string shown_workers(const Watched& watched) {
  std::map<std::string, bool> running;
  const Run* best = nullptr;
  for (const Run& run : watched.runs) {
    bool& runs = running[run.worker];
    runs = runs || run.ended.empty();
    if (run.best.empty()) continue;
    if (best == nullptr || run.best.back().second < best->best.back().second) best = &run;
  }
  const auto count = std::count_if(running.begin(), running.end(),
                                   [](const auto& worker) { return worker.second; });
  std::string text = fmt::format("{} workers, {} of them running", running.size(), count);
  if (best != nullptr) {
    text += fmt::format("; the best so far is {}, by {} of {}", format_us(best->best.back().second),
                        best->policy, best->worker);
  }
  return text;
}

/// With `workers`, who each run is of.
std::string shown(const Watched& watched, bool workers) {
  constexpr std::size_t kCurve = 32;
  constexpr std::size_t kText = 40;
  std::vector<TextTable::Column> columns = {{"policy"},
                                            {"best so far", Align::right},
                                            {"above bound", Align::right},
                                            {"found after", Align::right},
                                            {"running for", Align::right},
                                            {"over time"},
                                            {"now"}};
  if (workers) columns.insert(columns.begin(), {"worker"});
  TextTable table(std::move(columns));
  for (const Run& run : watched.runs) {
    const bool any = !run.best.empty();
    const double best = any ? run.best.back().second : 0;
    std::vector<std::string> row = {
        printable(run.policy),
        any ? format_us(best) : "-",
        any && run.bound_us > 0 ? format_percent(best / run.bound_us - 1) : "-",
        any ? format_us(run.best.back().first * 1e6) : "-",
        format_us(run.time_s * 1e6) +
            (run.budget_s > 0 ? " of " + format_us(run.budget_s * 1e6) : ""),
        curve(run, kCurve),
        run.ended.empty() ? first_columns(printable(run.text), kText)
                          : first_columns(printable("ended: " + run.ended), kText) +
                                (run.evaluations > 0
                                     ? fmt::format(", {} placements", format_count(run.evaluations))
                                     : "")};
    if (workers) row.insert(row.begin(), printable(run.worker));
    table.add_row(std::move(row));
  }
  const std::string told = workers ? printable(shown_workers(watched)) + "\n" : "";
  return printable(watched.what) + "\n" + told + "\n" + table.text(2);
}

/// script_output() has no descriptor that could be asked.
bool on_terminal() {
  const int output = open(output_path("/dev/stdout").c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (output < 0) return false;
  const bool is = isatty(output) == 1;
  close(output);
  return is;
}

/// On a terminal the text before is replaced.
void paint(const std::string& text, int& lines) {
  std::FILE* const out = script_output();
  if (lines > 0) std::fprintf(out, "\x1b[%dF\x1b[J", lines);
  std::fputs(text.c_str(), out);
  flush_script_output();
  lines = static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

/// "redis://", "rediss://", "unix://": the server that a training's processes meet at.
bool is_server(const std::string& name) {
  return name.find("://") != std::string::npos && !std::filesystem::exists(name);
}

int watch_server(const std::string& url) {
  CommandRun run{read_settings()};
  run.scripts().run_library("commands/watch.lua", {url, on_terminal() ? "again" : "once"});
  return 0;
}

int run_watch(const std::vector<std::string>& paths) {
  if (paths.size() == 1 && is_server(paths.front())) return watch_server(paths.front());
  const bool workers = paths.size() > 1;
  if (!on_terminal()) {
    print(shown(read(paths), workers));
    return 0;
  }
  const InterruptGuard guard;
  int lines = 0;
  for (bool ended = false; !ended && !InterruptGuard::interrupted();) {
    const Watched watched = read(paths);
    paint(shown(watched, workers), lines);
    ended = watched.ended();
    for (int i = 0; i < 5 && !ended && !InterruptGuard::interrupted(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  return 0;
}

}  // namespace

void add_watch(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("watch", "show searches and trainings as they run");
  const auto paths = std::make_shared<std::vector<std::string>>();
  sub->add_option(
         "LOG", *paths,
         "files that `berth place --log` writes (berth.events/1), one per worker to show; or\n"
         "a server where trainings meet: redis://, rediss:// or unix://, as in BERTH_STORE")
      ->required()
      ->type_name("");
  sub->footer(
      "Examples:\n"
      "  berth compare model.onnx --cluster k80x4 --budget 60s --log search.jsonl &\n"
      "  berth watch search.jsonl\n"
      "  berth watch worker-*.jsonl\n"
      "  berth watch rediss://user:password@host:6379   from any machine that reaches it\n"
      "On a terminal it goes on until every run has ended, or until Ctrl-C, which ends only the\n"
      "watching; a process of this machine that is no more has ended. Elsewhere it shows once "
      "what\n"
      "there is. Lua's training writes such a file with\n"
      "train.log_progress.");
  sub->callback([&chosen, paths] { chosen = [paths] { return run_watch(*paths); }; });
}

}  // namespace berth::command
