// Studies: several runs at once in processes of their own, and `berth study`.
#include <algorithm>
#include <csignal>
#include <set>
#include <sstream>

#include "berth.h"

using namespace berth::test;

namespace {

/// Six runs; each says that it began, waits until `go` is there, and reports and returns what it
/// was given.
constexpr const char* kSweep = R"(
  local berth = require 'berth'
  local study = require 'berth.study'
  local folder, crashes = arg[1], arg[2] == 'crash'
  local result = study.run {
    file = folder .. '/sweep.db', name = 'sweep', goal = 'us', jobs = 2, seeds = 3,
    space = { rate = { 1, 2 } }, limit = tonumber(arg[2]),
    objective = function(run)
      local began = io.open(folder .. '/began', 'a')
      began:write(run.number, '\n')
      began:close()
      while not io.open(folder .. '/go') do
        if run.should_stop() then break end
      end
      if crashes and run.number == 3 then
        io.stderr:write('out of luck\n')
        os.exit(7)
      end
      for step = 1, 3 do run:report(step, run.options.rate * 10 + run.seed / step) end
      print('run ' .. run.number)
      return { us = run.options.rate * 10 + run.seed, seed = run.seed }
    end }
  print(('%d done, %d failed'):format(result.done, result.failed))
)";

struct SweepWorkplace : Workplace {
  SweepWorkplace() { write_text("sweep.lua", kSweep); }

  [[nodiscard]] ProcessResult sweep(const std::string& argument = {}) const {
    return berth({"run", "sweep.lua", (*this / "").string(), argument});
  }
  [[nodiscard]] std::string began() const {
    return std::filesystem::exists(*this / "began") ? file_text(*this / "began") : "";
  }
  void let_go() const { write_text("go", ""); }
  /// What the file holds is whole, and every run is there once with its results.
  void check_complete() const {
    const ProcessResult shown = berth({"study", "show", "sweep.db", "--runs", "--csv"});
    CHECK(shown.err == "");
    std::istringstream lines(shown.out);
    std::string line;
    std::getline(lines, line);
    CHECK(line.starts_with("run,state,seed,rate,seed,us,wall_s,began_s,berth,"));
    std::set<std::string> seen;
    while (std::getline(lines, line)) seen.insert(line.substr(0, line.find(",", 20)));
    CHECK(seen.size() == 6);
    for (const char* run : {"1,done,1,1,1,11,", "2,done,1,2,1,21,", "6,done,3,2,3,23,"}) {
      CHECK_MESSAGE(shown.out.find(run) != std::string::npos, shown.out, " lacks ", run);
    }
  }
};

/// Lua, and SQLite's library, which is looked for when it is needed.
bool has_studies() {
  const SweepWorkplace work;
  work.write_text("try.lua", "require('berth.sqlite').version()");
  if (work.berth({"run", "try.lua"}).status == 0) return true;
  MESSAGE("skipped: this build has no Lua, or SQLite is not installed");
  return false;
}

}  // namespace

TEST_CASE("a study runs in processes, and is listed, shown and drawn") {
  if (!has_studies()) return;
  const SweepWorkplace work;
  work.let_go();
  const ProcessResult result = work.sweep();
  CHECK(result.err == "");
  CHECK(result.out == "6 done, 0 failed\n");
  work.check_complete();
  CHECK(file_text(work / "sweep.db.runs/sweep/0004/output.txt") == "run 4\n");

  const ProcessResult listed = work.berth({"study", "ls", "sweep.db"});
  CHECK(listed.status == 0);
  CHECK(listed.out.find("sweep  us    minimize      6     6") != std::string::npos);
  const ProcessResult shown = work.berth({"study", "show", "sweep.db"});
  CHECK(shown.out.find("rate=1      3      12         11  13    11") != std::string::npos);
  const ProcessResult large =
      work.berth({"study", "show", "sweep.db", "--result", "seed", "--direction", "maximize"});
  CHECK(large.out.find("study sweep: seed, to maximize; 6 of 6 runs done") != std::string::npos);
  const ProcessResult drawn = work.berth({"study", "plot", "sweep.db", "-o", "curves.svg"});
  CHECK(drawn.err == "");
  CHECK(drawn.status == 0);
  CHECK(file_text(work / "curves.svg").find("<polygon") != std::string::npos);

  CHECK(work.sweep().out == "6 done, 0 failed\n");
  const std::string began = work.began();
  CHECK(std::count(began.begin(), began.end(), '\n') == 6);
}

TEST_CASE("a study that was killed goes on, and does nothing twice that was done") {
  if (!has_studies()) return;
  SweepWorkplace work;
  const auto killed = [&](const char* at) {
    work.settings.while_running = [&work, at](pid_t pid) {
      if (work.began().find(at) != std::string::npos) kill(pid, SIGKILL);
    };
    return work.sweep();
  };
  CHECK(killed("2\n").status != 0);
  work.let_go();
  CHECK(killed("4\n").status != 0);
  work.settings.while_running = {};
  const ProcessResult result = work.sweep();
  CHECK(result.err == "");
  CHECK(result.out == "6 done, 0 failed\n");
  work.check_complete();
}

TEST_CASE("Ctrl-C ends the runs, which are run again later") {
  if (!has_studies()) return;
  SweepWorkplace work;
  work.settings.while_running = [&work, sent = false](pid_t pid) mutable {
    if (sent || work.began().size() < 4) return;
    kill(pid, SIGINT);
    sent = true;
  };
  const ProcessResult ended = work.sweep();
  CHECK(ended.status == 1);
  CHECK(ended.err.find("ending with what there is so far") != std::string::npos);
  CHECK(ended.err.find("study 'sweep': interrupted, with 6 of 6 runs left; run the script again") !=
        std::string::npos);
  CHECK(ended.out == "0 done, 0 failed\n");
  work.settings.while_running = {};
  work.let_go();
  CHECK(work.sweep().out == "6 done, 0 failed\n");
  work.check_complete();
}

TEST_CASE("several processes work on one study, as jobs of a batch queue do") {
  if (!has_studies()) return;
  const SweepWorkplace work;
  work.let_go();
  const std::string one =
      std::string(BERTH_COMMAND) + " run sweep.lua '" + (work / "").string() + "' ";
  const ProcessResult both = run_process(
      {"/bin/sh", "-c", one + "2 & " + one + "2 & " + one + "2 & wait; " + one}, work.settings);
  CHECK(both.err == "");
  CHECK(both.out.ends_with("6 done, 0 failed\n"));
  work.check_complete();
  const std::string began = work.began();
  CHECK(std::count(began.begin(), began.end(), '\n') == 6);
}

TEST_CASE("a run that ends by itself has failed, and the others go on") {
  if (!has_studies()) return;
  SweepWorkplace work;
  // A script that exits frees nothing, which a sanitizer would say with a status of its own.
  work.settings.environment.emplace_back("ASAN_OPTIONS=detect_leaks=0");
  work.let_go();
  const ProcessResult ended = work.sweep("crash");
  CHECK(ended.out == "5 done, 1 failed\n");
  CHECK(ended.status == 1);
  CHECK(ended.err.find("study 'sweep': 1 of 6 runs failed; `berth study show") !=
        std::string::npos);
  const ProcessResult shown = work.berth({"study", "show", "sweep.db", "sweep"});
  CHECK(
      shown.out.find("run 3 (rate=1, seed 2) failed: it ended with status 7 and no results: out of "
                     "luck\n") != std::string::npos);
}

TEST_CASE("a script that has changed does not add to the results of the one before") {
  if (!has_studies()) return;
  const Workplace work;
  const auto script = [&](const char* seeds, const char* result) {
    work.write_text("sweep.lua", std::string("local result = require 'berth.study'.run {\n"
                                             "  file = 'mixed.db', name = 'mixed', seeds = ") +
                                     seeds + ", objective = function() return " + result +
                                     " end }\nprint(result.done)\n");
  };
  script("1", "1");
  CHECK(work.berth({"run", "sweep.lua"}).out == "1\n");
  script("2", "100");
  const ProcessResult refused = work.berth({"run", "sweep.lua"});
  CHECK(refused.status == 1);
  CHECK(refused.err.find("study 'mixed' has 1 results of another script: sweep.lua has changed") !=
        std::string::npos);
  CHECK(work.berth({"run", "sweep.lua", "--mix"}).out == "2\n");
  CHECK(work.berth({"study", "show", "mixed.db"})
            .out.find(
                "MIXED: these are results of different code or arguments: script (2 versions)") !=
        std::string::npos);
}

TEST_CASE("a script runs several studies: each run is of the study.run that asked for it") {
  if (!has_studies()) return;
  const Workplace work;
  work.write_text(
      "loop.lua",
      "local study = require 'berth.study'\n"
      "for _, file in ipairs { 'a.db', 'b.db', 'b.db' } do\n"
      "  calls = (calls or 0) + 1\n"
      "  local call = calls\n"
      "  local result = study.run { file = file, name = 'loop', seeds = 2,\n"
      "    space = { call = { call } },\n"
      "    objective = function(run) return 100 * call + run.seed end }\n"
      "  for _, run in ipairs(result.runs) do io.write(run.results.value or '-', ' ') end\n"
      "end\n");
  const ProcessResult result = work.berth({"run", "loop.lua"});
  CHECK(result.err == "");
  CHECK(result.out == "101 102 201 202 201 202 301 302 ");
}

TEST_CASE("a script with another argument does not show the results of the one before") {
  if (!has_studies()) return;
  const Workplace work;
  work.write_text("sweep.lua",
                  "local value, seeds = tonumber(arg[1]), tonumber(arg[2])\n"
                  "local result = require 'berth.study'.run { file = 'given.db', name = 'given',\n"
                  "  seeds = seeds, objective = function() return value end }\n"
                  "print(result.done)\n");
  CHECK(work.berth({"run", "sweep.lua", "7", "1"}).out == "1\n");
  CHECK(work.berth({"run", "sweep.lua", "7", "2"}).out == "2\n");
  const ProcessResult refused = work.berth({"run", "sweep.lua", "8", "2"});
  CHECK(refused.status == 1);
  CHECK(refused.err.find("study 'given' has 1 results of other arguments: they were 7 1, and here "
                         "they are 8 2") != std::string::npos);
  CHECK(work.berth({"run", "sweep.lua", "8", "3", "--mix"}).out == "3\n");
}

TEST_CASE("a script asks for its run") {
  if (!has_studies()) return;
  const Workplace work;
  work.write_text("one.lua",
                  "local run = require 'berth.study'.current { rate = 0.5, deep = true }\n"
                  "run:finish(run.options.rate * run.seed + (run.options.deep and 0 or 100))\n");
  work.write_text("sweep.lua",
                  "local result = require 'berth.study'.run { file = 'sweep.db', name = 'script',\n"
                  "  script = 'one.lua', space = { rate = { 2, 3 } }, seeds = 2, jobs = 2 }\n"
                  "print(result.done, result:best().results.value)\n");
  const ProcessResult result = work.berth({"run", "sweep.lua"});
  CHECK(result.err == "");
  CHECK(result.out == "4\t2\n");
  const ProcessResult alone = work.berth({"run", "one.lua", "--seed", "4", "--deep", "false"});
  CHECK(alone.out == "value\t102\n");
}

TEST_CASE("what is no study is told in one line") {
  if (!has_studies()) return;
  const Workplace work;
  work.write_text("text.db", std::string(3000, 'x'));
  const struct {
    std::vector<std::string> arguments;
    int status;
    const char* part;
  } cases[] = {
      {{"study", "ls", "absent.db"}, 1, "absent.db: No such file or directory; name a file"},
      {{"study", "show", "text.db"}, 1, "text.db: it is no SQLite database; name another file"},
      {{"study", "plot", "text.db"}, 2, "--output is required"},
      {{"study"}, 2, "subcommand is required"},
  };
  for (const auto& each : cases) {
    const ProcessResult result = work.berth(each.arguments);
    CHECK(result.status == each.status);
    CHECK(result.out == "");
    CHECK_MESSAGE(result.err.find(each.part) != std::string::npos, result.err, " lacks ",
                  each.part);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  }
}
