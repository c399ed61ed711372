// The command line itself: help, version, usage errors.
#include "berth.h"
#include "support/data.h"

using namespace berth::test;

namespace {

const char* const kSubcommands[] = {"place",   "compare", "simulate", "inspect",
                                    "devices", "plugins", "run",      "study"};

}  // namespace

TEST_CASE("help is on standard output and shows examples") {
  const Workplace work;
  const ProcessResult all = work.berth({"--help"});
  CHECK(all.status == 0);
  CHECK(all.err == "");
  for (const std::string name : kSubcommands) {
    CAPTURE(name);
    CHECK(all.out.find("\n  " + name) != std::string::npos);
    const ProcessResult one = work.berth({name, "--help"});
    CHECK(one.status == 0);
    CHECK(one.err == "");
    CHECK(one.out.find("Usage: berth " + name) != std::string::npos);
    CHECK(one.out.find("Examples:\n  berth " + name) != std::string::npos);
  }
  for (const std::string name : {"ls", "show", "plot"}) {
    CAPTURE(name);
    const std::string help = work.berth({"study", name, "--help"}).out;
    CHECK(help.find("Example:\n  berth study " + name) != std::string::npos);
    CHECK(help.find("berth compare") == std::string::npos);
  }
  CHECK(work.berth({"schema", "--help"}).out.find("costs, graph, ops, placement") !=
        std::string::npos);
  // What runs a stranger's script says what that may do.
  for (const char* const name : {"run", "place"}) {
    CAPTURE(std::string(name));
    const std::string text = work.berth({name, "--help"}).out;
    CHECK(text.find("`os`") != std::string::npos);
    CHECK(text.find("`io`") != std::string::npos);
  }
}

TEST_CASE("run --threads bounds what a script's policies and evaluators use") {
  const Workplace work;
  work.write_text("threads.lua",
                  "local berth = require 'berth'\n"
                  "local problem = berth.problem { graph = berth.load 'diamond.graph.json',\n"
                  "  cluster = 'pair.cluster.json' }\n"
                  "local batch = {}\n"
                  "for i = 1, 500 do batch[i] = problem:one_device(i % 2 + 1) end\n"
                  "berth.evaluator(problem):batch(batch)\n"
                  "print(io.open('/proc/self/status'):read('*a'):match 'Threads:%s*(%d+)', ...)\n");
  const ProcessResult result =
      work.berth({"run", "--threads", "1", "threads.lua", "--threads", "7"});
  if (result.err.find("built without Lua") != std::string::npos) return;
  CHECK(result.err == "");
  CHECK(result.out == "1\t--threads\t7\n");
  const ProcessResult none = work.berth({"run", "--threads", "0", "threads.lua"});
  CHECK(none.status == 2);
  CHECK(none.err.find("--threads") != std::string::npos);
}

TEST_CASE("every experiment shows what it is for with --help") {
  const Workplace work;
  const auto folder = source_path("scripts/experiments");
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".lua") continue;
    CAPTURE(entry.path());
    const ProcessResult result = work.berth({"run", entry.path(), "--help"});
    if (result.err.find("built without Lua") != std::string::npos) return;
    CHECK(result.status == 0);
    CHECK(result.err == "");
    const std::string command =
        "  berth run scripts/experiments/" + entry.path().filename().string();
    CHECK(result.out.find(command) != std::string::npos);
    ++count;
  }
  CHECK(count > 0);
}

TEST_CASE("--version") {
  const Workplace work;
  for (const char* argument : {"--version", "version"}) {
    const ProcessResult result = work.berth({argument});
    CHECK(result.status == 0);
    CHECK(result.out == "berth 0.1.0\n");
  }
}

TEST_CASE("help is a word, too") {
  const Workplace work;
  CHECK(work.berth({"help"}).out == work.berth({"--help"}).out);
  const ProcessResult place = work.berth({"help", "place"});
  CHECK(place.status == 0);
  CHECK(place.out == work.berth({"place", "--help"}).out);
}

TEST_CASE("a usage error is one line on standard error and status 2") {
  const Workplace work;
  const std::vector<std::string> place = {
      "place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policy", "single"};
  struct Case {
    std::vector<std::string> arguments;
    bool after_place;
    std::string part;
  };
  const Case cases[] = {
      {{}, false, "subcommand is required"},
      {{"plac"}, false, "did you mean 'place'"},
      {{"--nonsense"}, false, "--nonsense"},
      {{"place"}, false, "MODEL is required"},
      {{"simulate", "m", "--cluster", "k80x4"}, false, "--placement is required"},
      {{"place", "diamond.graph.json", "--policy", "single"}, false, "or `here` for this machine"},
      {{"help", "plac"}, false, "did you mean 'place'"},
      {{"--polcy", "x"}, true, "'--polcy'; you may mean '--policy'"},
      {{"another.onnx"}, true, "another.onnx"},
      {{"--seed", "-1"}, true, "'-1' is not a whole number"},
      {{"--seed", "x"}, true, "--seed"},
      {{"--seed", "1", "--seed", "2"}, true, "--seed: give it once;"},
      {{"--seed", "99999999999999999999"}, true, "--seed"},
      {{"--groups", "0"}, true, "--groups"},
      {{"--groups", "3000000000"}, true, "--groups"},
      {{"--threads", "1025"}, true, "--threads"},
      {{"--objective", "speed"}, true, "latency"},
      {{"--semantics", "exact"}, true, "dataflow"},
      {{"--budget", "5"}, true, "30s"},
      {{"--budget", "0s"}, true, "--budget"},
      {{"--dim", "batch"}, true, "name=value"},
      {{"--dim", "batch=-1"}, true, "'-1' is not a dimension"},
      {{"--dim", "batch=99999999999999999999"}, true, "--dim"},
      {{"--dim", "=3"}, true, "name=value"},
      {{"--dim", "batch=1", "--dim", "batch=2"}, true, "--dim: 'batch' is given twice"},
      {{"--batch", "1", "--batch", "2"}, true, "--batch: it is given twice"},
      {{"--batch", "-1"}, true, "'-1' is not a dimension"},
      {{"--batch", "0"}, true, "a batch of 0 has no work"},
      {{"--batch", "x"}, true, "--batch"},
      {{"--shape", "data=1x3x"}, true, "--shape"},
      {{"--shape", "data=1x-3"}, true, "'-3' is not a dimension"},
      {{"--shape", "data=1,,3"}, true, "'' is not a dimension"},
      {{"--shape", "data"}, true, "name=value"},
      {{"--fetch"}, true, "--fetch"},
      {{"--fetch", ""}, true, "name an op"},
      {{"--set", "level"}, true, "key=value"},
      {{"--set", "=1"}, true, "key=value"},
      {{"--set", "a=1", "--set", "a=1"}, true, "--set: 'a' is given twice"},
      {{"-o"}, true, "--output"},
      {{"-o", ""}, true, "file name"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> arguments = c.after_place ? place : std::vector<std::string>();
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    const ProcessResult result = work.berth(arguments);
    CAPTURE(c.part);
    CAPTURE(result.err);
    CHECK(result.status == 2);
    CHECK(result.out == "");
    CHECK(result.err.starts_with("berth: error: "));
    CHECK(result.err.find(c.part) != std::string::npos);
    CHECK(result.err.find("--help`\n") == result.err.size() - 8);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  }
}

TEST_CASE("profile --from measures nothing: what says how to measure is refused") {
  const Workplace work;
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--backend", "cpu"},
                                             {"--warm-up", "3"},
                                             {"--repeats", "50"},
                                             {"--seed", "9"},
                                             {"--fresh"}}) {
    CAPTURE(more[0]);
    std::vector<std::string> command = {"profile", "diamond.graph.json", "--from",
                                        "c.json",  "--cluster",          "pair.cluster.json"};
    command.insert(command.end(), more.begin(), more.end());
    const ProcessResult refused = work.berth(command);
    CHECK(refused.status == 2);
    CHECK_MESSAGE(refused.err.find(more[0]) != std::string::npos, refused.err);
    CHECK(refused.err.find("excludes") != std::string::npos);
  }
}
