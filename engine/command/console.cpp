#include "console.h"

#include <fcntl.h>
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <system_error>

#include "berth/error.h"
#include "text_table.h"

namespace berth::command {
namespace {

std::atomic<bool> g_interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "it is written by a signal handler");
struct sigaction g_previous_int;
struct sigaction g_previous_term;

[[noreturn]] void refuse_output(const std::string& why) {
  throw Error(ErrorCode::io, "cannot write the result to standard output: " + why +
                                 "; redirect it to where there is room and a reader");
}

extern "C" void remember_interrupt(int) {
  g_interrupted = true;
}

}  // namespace

void open_console() {
  // A file opened later must not get the number of a closed standard stream, or results would be
  // written into it. Opened the wrong way round, so that using them still fails.
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) {
      [[maybe_unused]] const int opened =
          open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe becomes an error of print()

  auto logger = spdlog::stderr_logger_mt("berth");
  logger->set_pattern("berth: %v");
  // Standard error may be closed or full; there is nobody left to tell.
  logger->set_error_handler([](const std::string&) {});
  spdlog::set_default_logger(std::move(logger));
}

void log_error(std::string_view message) {
  spdlog::error("error: {}", printable(message));
}
void log_script_error(std::string_view message) {
  std::string text;
  for (std::size_t begin = 0; begin <= message.size();) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    std::string_view line = message.substr(begin, end - begin);
    if (begin > 0) text += '\n';
    if (line.starts_with('\t')) {
      text += "  ";
      line.remove_prefix(1);
    }
    text += printable(line);
    begin = end + 1;
  }
  spdlog::error("error: {}", text);
}
void log_warning(std::string_view message) {
  spdlog::warn("warning: {}", printable(message));
}
void log_note(std::string_view message) {
  spdlog::info("note: {}", printable(message));
}

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      refuse_output(std::generic_category().message(errno));
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void flush_standard_output() {
  const bool failed_before = std::ferror(stdout) != 0;
  if (std::fflush(stdout) != 0) refuse_output(std::generic_category().message(errno));
  if (failed_before) refuse_output("some of it was lost");
}

InterruptGuard::InterruptGuard() {
  g_interrupted = false;
  struct sigaction action = {};
  action.sa_handler = remember_interrupt;
  // RESETHAND: the second one has its default effect. RESTART: writes go on.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &g_previous_int);
  sigaction(SIGTERM, &action, &g_previous_term);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &g_previous_int, nullptr);
  sigaction(SIGTERM, &g_previous_term, nullptr);
}

bool InterruptGuard::interrupted() noexcept {
  return g_interrupted;
}

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(const std::string& text) {
  if (!terminal_) return;
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  winsize size = {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  const std::size_t columns = known ? size.ws_col - 1U : 79U;
  std::fprintf(stderr, "\r\033[K%s", printable(text).substr(0, columns).c_str());
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  const std::lock_guard lock(mutex_);
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace berth::command
