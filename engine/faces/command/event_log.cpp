#include "event_log.h"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "berth/error.h"
#include "berth/support/clock.h"
#include "berth/support/replaced_file.h"
#include "console.h"

namespace berth::command {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kPause_s = 0.5;

}  // namespace

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

EventLog::EventLog(const std::filesystem::path& path) : path_(path.string()) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::io, fmt::format("cannot write --log '{}': {}", path.string(), why));
  };
  const std::filesystem::path place = output_path(path);
  const std::optional<int> in_place = open_in_place(place);
  const int file =
      in_place ? *in_place : open(place.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) refuse(std::generic_category().message(errno));
  // Two that write one log would leave lines that nobody can tell apart. What cannot be locked, such as a
  // pipe, has no content to replace either.
  if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(file);
    refuse(
        "another search writes it; give each a file of its own, which berth watch shows together");
  }
  // Standard output may be a file, whose content is the shell's.
  if (!in_place) static_cast<void>(ftruncate(file, 0));
  file_.reset(fdopen(file, in_place ? "w" : "a"));
  if (file_ == nullptr) refuse(std::generic_category().message(errno));
}

double EventLog::now_s() const {
  return seconds_since(began_);
}

void EventLog::write(Json event) {
  // A log that cannot be written any more, on a full disk say, is no reason to lose the search.
  const std::string line = event.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  const bool is_written = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() &&
                          std::fflush(file_.get()) == 0;
  if (is_written || failed_) return;
  failed_ = true;
  log_warning(fmt::format("{}: cannot be written any more: {}; the log is not whole", path_,
                          std::generic_category().message(errno)));
}

void EventLog::start(const Problem& problem, const Origin& origin, double budget_s,
                     double bound_us) {
  const std::lock_guard lock(mutex_);
  policy_ = origin.policy;
  began_ = std::chrono::steady_clock::now();
  best_us_ = std::numeric_limits<double>::infinity();
  last_s_ = -kPause_s;
  Json event = {{"format", "berth.events/1"},
                {"event", "start"},
                {"policy", policy_},
                {"model", origin.model},
                {"machine", problem.cluster().name()},
                {"ops", problem.graph().op_count()},
                {"groups", problem.groups().count()},
                {"host", host_name()},
                {"pid", getpid()}};
  if (bound_us > 0) event["bound_us"] = bound_us;
  if (std::isfinite(budget_s)) event["budget_s"] = budget_s;
  write(std::move(event));
}

void EventLog::progress(double best_us, const std::string& text) {
  const std::lock_guard lock(mutex_);
  const double time_s = now_s();
  if (!(best_us < best_us_) && time_s < last_s_ + kPause_s) return;
  last_s_ = time_s;
  Json event = {{"event", "progress"}, {"policy", policy_}, {"time_s", time_s}};
  // Infinity, where nothing fits yet, is no number of JSON.
  if (std::isfinite(best_us)) event["best_us"] = best_us_ = best_us;
  if (!text.empty()) event["text"] = text;
  write(std::move(event));
}

void EventLog::end(const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  Json event = {{"event", "end"}, {"policy", policy_}, {"time_s", now_s()}};
  if (outcome.evaluation.feasible) event["best_us"] = outcome.evaluation.objective_us;
  if (outcome.bound.us > 0) event["bound_us"] = outcome.bound.us;
  if (!outcome.origin.whose.empty()) event["whose"] = outcome.origin.whose;
  if (outcome.search) {
    event["evaluations"] = outcome.search->evaluations;
    event["end"] = search_end_name(outcome.search->end);
  }
  write(std::move(event));
}

void EventLog::fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  write({{"event", "end"}, {"policy", policy_}, {"time_s", now_s()}, {"failure", why}});
}

}  // namespace berth::command
