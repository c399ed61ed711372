// The progress line: on a terminal alone.
#include <fcntl.h>
#include <stdlib.h>

#include "berth.h"

using namespace berth::test;

namespace {

const std::vector<std::string> kCompare = {"compare",    "diamond.graph.json",
                                           "--cluster",  "pair.cluster.json",
                                           "--policies", "single,patient"};

/// The terminal that a command writes to.
class Terminal {
 public:
  Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)) {
    REQUIRE(master_ >= 0);
    REQUIRE(grantpt(master_) == 0);
    REQUIRE(unlockpt(master_) == 0);
    char name[64] = {};
    REQUIRE(ptsname_r(master_, name, sizeof name) == 0);
    path_ = name;
    // While one end is open elsewhere, what a command wrote can be read after it has ended.
    slave_ = open(name, O_RDWR | O_NOCTTY);
    REQUIRE(slave_ >= 0);
  }
  ~Terminal() {
    close(slave_);
    close(master_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// All that was written so far.
  const std::string& text() {
    char buffer[4096];
    for (ssize_t size = 0; (size = read(master_, buffer, sizeof buffer)) > 0;) {
      text_.append(buffer, static_cast<std::size_t>(size));
    }
    return text_;
  }

 private:
  int master_;
  int slave_ = -1;
  std::string path_;
  std::string text_;
};

/// Runs a search that goes on until it is interrupted, which it is as soon as `terminal` shows
/// `awaited`, or, where that is empty, as it has started.
ProcessResult interrupted_when(const Workplace& work, Terminal& terminal,
                               const std::string& awaited, bool out, bool err,
                               const std::vector<std::string>& command) {
  ProcessSettings settings = work.settings;
  settings.environment = {std::string("BERTH_PLUGIN_PATH=") + BERTH_TEST_PLUGINS,
                          "BERTH_TEST_STARTED=" + (work / "started").string()};
  if (out) settings.out = terminal.path();
  if (err) settings.err = terminal.path();
  settings.while_running = [&, sent = false](pid_t pid) mutable {
    const bool seen = awaited.empty() ? std::filesystem::exists(work / "started")
                                      : terminal.text().find(awaited) != std::string::npos;
    if (sent || !seen) return;
    kill(pid, SIGINT);
    sent = true;
  };
  std::vector<std::string> arguments = command;
  arguments.insert(arguments.begin(), BERTH_COMMAND);
  return run_process(arguments, settings);
}

}  // namespace

TEST_CASE("a terminal shows what a command does, and the line goes before the result") {
  const Workplace work;
  Terminal terminal;
  const ProcessResult result = interrupted_when(
      work, terminal, "policy 2 of 2: patient places 7 groups", true, true, kCompare);
  CHECK(result.status == 0);
  const std::string text = terminal.text();
  const std::size_t line = text.find("\r\033[K");
  REQUIRE(line != std::string::npos);
  const std::size_t table = text.find("vs one device");
  REQUIRE(table != std::string::npos);
  CHECK(line < table);
  CHECK(text.find('\033', table) == std::string::npos);
}

TEST_CASE("with a budget the line says how long it may last") {
  const Workplace work;
  Terminal terminal;
  std::vector<std::string> command = kCompare;
  command.insert(command.end(), {"--budget", "1h"});
  CHECK(interrupted_when(work, terminal, " s, at most 3", true, true, command).status == 0);
  CHECK(terminal.text().find(" s left") != std::string::npos);
}

TEST_CASE("a script says where it stands in the same line") {
  const Workplace work;
  work.write_text("work.lua",
                  "local berth = require 'berth'\n"
                  "berth.progress 'half done'\n"
                  "while not berth.should_stop() do end\n"
                  "print 'ended'\n");
  if (work.berth({"run", "no.lua"}).err.find("built without Lua") != std::string::npos) return;
  Terminal terminal;
  const ProcessResult result = interrupted_when(work, terminal, "running work.lua: half done", true,
                                                true, {"run", "work.lua"});
  CHECK(result.status == 0);
  CHECK(terminal.text().find("\r\033[Kended") != std::string::npos);
}

TEST_CASE("where output or errors are piped, nothing is rewritten") {
  for (const auto& [out, err] : {std::pair(true, false), {false, true}, {false, false}}) {
    const Workplace work;
    Terminal terminal;
    const ProcessResult result = interrupted_when(work, terminal, "", out, err, kCompare);
    CHECK(result.status == 0);
    // A terminal's own way to end a line is "\r\n".
    std::string shown = terminal.text() + result.out + result.err;
    for (std::size_t at = 0; (at = shown.find("\r\n", at)) != std::string::npos;) {
      shown.erase(at, 1);
    }
    CHECK(shown.find('\r') == std::string::npos);
    CHECK(shown.find('\033') == std::string::npos);
    CHECK(shown.find("vs one device") != std::string::npos);
  }
}

TEST_CASE("watch paints a search anew on a terminal until it has ended") {
  const Workplace work;
  const std::string started =
      "{\"event\":\"start\",\"policy\":\"auto\"}\n"
      "{\"event\":\"progress\",\"policy\":\"auto\",\"time_s\":1,\"best_us\":3,\"text\":\"moves\"}"
      "\n";
  work.write_text("log.jsonl", started);
  Terminal terminal;
  ProcessSettings settings = work.settings;
  settings.out = terminal.path();
  settings.while_running = [&, ended = false](pid_t) mutable {
    if (ended || terminal.text().find("moves") == std::string::npos) return;
    work.write_text("log.jsonl",
                    started + "{\"event\":\"end\",\"policy\":\"auto\",\"time_s\":2}\n");
    ended = true;
  };
  const ProcessResult result = run_process({BERTH_COMMAND, "watch", "log.jsonl"}, settings);
  CHECK(result.status == 0);
  const std::size_t last = terminal.text().rfind("\033[4F\033[J");  // back over what was there
  REQUIRE(last != std::string::npos);
  CHECK(terminal.text().find("ended: done", last) != std::string::npos);
}
