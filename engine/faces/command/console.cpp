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
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/support/replaced_file.h"
#include "text_table.h"

namespace berth::command {
namespace {

std::atomic<bool> g_interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "it is written by a signal handler");
constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction g_previous[std::size(kEndingSignals)];
/// The note that a person sees.
constexpr std::string_view kEnding =
    "\nberth: ending with what there is so far; once more ends at once\n";
std::atomic<bool> g_on_terminal = false;
/// The standard output that this process was given. Libraries print (METIS, Scotch, LibTorch) to
/// where C and C++ believe it is, which must not end up within a result.
int g_output = STDOUT_FILENO;

[[noreturn]] void refuse_output(const std::string& why) {
  throw Error(ErrorCode::io, "cannot write the result to standard output: " + why +
                                 "; redirect it to where there is room and a reader");
}

extern "C" void remember_interrupt(int signal) {
  if (g_interrupted.exchange(true)) {
    if (signal == SIGHUP) return;
    std::signal(signal, SIG_DFL);
    std::raise(signal);  // blocked until this returns
    return;
  }
  // The person who presses Ctrl-C may have the output in a pipe; a manager of jobs needs no note.
  if (!g_on_terminal && signal != SIGINT) return;
  const std::string_view note = g_on_terminal ? kEnding : kEnding.substr(1);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, note.data(), note.size());
  errno = error;
}

}  // namespace

/// Paints the stages that live. A thread of its own, since neither a model being loaded nor a
/// policy need report anything for minutes.
class StageLine {
 public:
  static StageLine& instance() {
    static StageLine line;
    return line;
  }
  ~StageLine() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
    if (painter_.joinable()) painter_.join();
  }

  void push(Stage* stage) {
    const std::lock_guard lock(mutex_);
    stages_.push_back(stage);
    if (painter_.joinable() || !on_terminal()) return;
    try {
      painter_ = std::thread([this] { paint_on(); });
    } catch (const std::system_error&) {
      // The line is a service: without a thread for it the command goes on.
    }
  }
  void pop(const Stage* stage) {
    const std::lock_guard lock(mutex_);
    std::erase(stages_, stage);
    if (stages_.empty()) clear_line();
  }
  template <typename Change>
  void change(const Change& change) {
    const std::lock_guard lock(mutex_);
    change();
  }
  /// Before something else is written to the terminal.
  void clear() {
    const std::lock_guard lock(mutex_);
    clear_line();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kQuiet = std::chrono::seconds(2);
  static constexpr auto kPause = std::chrono::milliseconds(200);

  static bool on_terminal() { return isatty(STDERR_FILENO) == 1 && isatty(g_output) == 1; }

  void paint_on() {
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      if (!stages_.empty() && Clock::now() - started_ >= kQuiet) paint();
      wake_.wait_for(lock, kPause);
    }
    clear_line();
  }

  void paint() {
    std::string text;
    std::optional<Clock::time_point> end;
    for (const Stage* stage : stages_) {
      if (!text.empty()) text += ": ";
      text += stage->what_;
      if (!end) end = stage->end_;
    }
    if (!stages_.back()->detail_.empty()) text += ": " + stages_.back()->detail_;
    const auto seconds = [](Clock::duration duration) {
      return std::max<std::int64_t>(
          0, std::chrono::duration_cast<std::chrono::seconds>(duration).count());
    };
    text += "  " + std::to_string(seconds(Clock::now() - started_)) + " s";
    if (end) text += ", at most " + std::to_string(seconds(*end - Clock::now())) + " s left";
    winsize size = {};
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    const std::string line =
        "\r\033[K" + first_columns(printable(text), known ? size.ws_col - 1U : 79U);
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    shown_ = true;
  }

  void clear_line() {
    if (!shown_) return;
    constexpr std::string_view kClear = "\r\033[K";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kClear.data(), kClear.size());
    shown_ = false;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Stage*> stages_;
  bool shown_ = false;
  bool stopped_ = false;
  Clock::time_point started_ = Clock::now();
  std::thread painter_;
};

void open_console() {
  // A file opened later must not get the number of a closed standard stream, or results would be
  // written into it. Opened the wrong way round, so that using them still fails.
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) {
      [[maybe_unused]] const int opened =
          open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
  // A closed pipe and a file that is too large for the shell's limit become errors of writing.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);

  const int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (kept >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) == STDOUT_FILENO) g_output = kept;

  g_on_terminal = isatty(STDERR_FILENO) == 1;
  static_cast<void>(StageLine::instance());  // the command's start

  auto logger = spdlog::stderr_logger_mt("berth");
  logger->set_pattern("berth: %v");
  // Standard error may be closed or full; there is nobody left to tell.
  logger->set_error_handler([](const std::string&) {});
  spdlog::set_default_logger(std::move(logger));
}

void log_error(std::string_view message) {
  StageLine::instance().clear();
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
  StageLine::instance().clear();
  spdlog::error("error: {}", text);
}
void log_warning(std::string_view message) {
  StageLine::instance().clear();
  spdlog::warn("warning: {}", printable(message));
}
void log_note(std::string_view message) {
  StageLine::instance().clear();
  spdlog::info("note: {}", printable(message));
}

void print(std::string_view text) {
  StageLine::instance().clear();
  const std::string safe = printable_lines(text);
  for (std::string_view rest = safe; !rest.empty();) {
    const ssize_t written = ::write(g_output, rest.data(), rest.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      refuse_output(std::generic_category().message(errno));
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::FILE* script_output() {
  // Not a descriptor's own stream: the progress line has to go before anything is written.
  static std::FILE* const file = [] {
    cookie_io_functions_t functions = {};
    functions.write = [](void*, const char* text, std::size_t size) -> ssize_t {
      StageLine::instance().clear();
      std::size_t done = 0;  // less than all of it counts as failed, with errno as it is
      while (done < size) {
        const ssize_t written = ::write(g_output, text + done, size - done);
        if (written < 0 && errno != EINTR) break;
        done += static_cast<std::size_t>(std::max<ssize_t>(0, written));
      }
      return static_cast<ssize_t>(done);
    };
    std::FILE* const opened = fopencookie(nullptr, "w", functions);
    if (opened == nullptr) return stdout;
    if (isatty(g_output) == 1) std::setvbuf(opened, nullptr, _IOLBF, BUFSIZ);
    return opened;
  }();
  return file;
}

void flush_script_output() {
  const bool failed_before = std::ferror(script_output()) != 0;
  if (std::fflush(script_output()) != 0) refuse_output(std::generic_category().message(errno));
  if (failed_before) refuse_output("some of it was lost");
}

std::filesystem::path output_path(const std::filesystem::path& path) {
  std::error_code ignored;
  if (own_descriptor(behind_links(path, ignored)) != STDOUT_FILENO) return path;
  return "/proc/self/fd/" + std::to_string(g_output);
}

InterruptGuard::InterruptGuard() {
  g_interrupted = false;
  struct sigaction action = {};
  action.sa_handler = remember_interrupt;
  action.sa_flags = SA_RESTART;  // writes go on
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < std::size(kEndingSignals); ++i) {
    sigaction(kEndingSignals[i], nullptr, &g_previous[i]);
    // nohup: the terminal may end, and the command is to go on.
    const bool ignored = kEndingSignals[i] == SIGHUP && g_previous[i].sa_handler == SIG_IGN;
    if (!ignored) sigaction(kEndingSignals[i], &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < std::size(kEndingSignals); ++i) {
    sigaction(kEndingSignals[i], &g_previous[i], nullptr);
  }
}

bool InterruptGuard::interrupted() noexcept {
  return g_interrupted;
}

Stage::Stage(std::string what) : what_(std::move(what)) {
  StageLine::instance().push(this);
}

Stage::~Stage() {
  StageLine::instance().pop(this);
}

void Stage::show(std::string detail) {
  StageLine::instance().change([&] { detail_ = std::move(detail); });
}

void Stage::ends_within(double seconds) {
  constexpr double kLongest = 1e9;  // what a clock holds
  StageLine::instance().change([&] {
    end_.reset();
    if (!(seconds < kLongest)) return;
    end_ = std::chrono::steady_clock::now() +
           std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
  });
}

}  // namespace berth::command
