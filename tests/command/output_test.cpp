// Where results go: standard output that is full, closed or unread, and files.
#include "berth.h"

using namespace berth::test;

namespace {

const std::vector<std::string> kPlace = {
    "place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policy", "single"};

void check_refused(const ProcessResult& result) {
  CAPTURE(result.err);
  CHECK(result.status == 1);
  CHECK(result.err.starts_with("berth: error: cannot write the result to standard output: "));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
}

}  // namespace

TEST_CASE("standard output that takes nothing is an error of every subcommand") {
  const std::vector<std::vector<std::string>> commands = {
      {"--version"},
      {"place", "--help"},
      {"devices"},
      {"plugins"},
      {"inspect", "diamond.graph.json"},
      {"simulate", "diamond.graph.json", "--cluster", "pair.cluster.json", "--placement",
       "split.json"},
      {"compare", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policies", "single"},
      kPlace};
  for (const auto& command : commands) {
    CAPTURE(command[0]);
    Workplace work;
    SUBCASE("a full disk") {
      work.settings.out = "/dev/full";
    }
    SUBCASE("a pipe without a reader") {
      work.settings.out_pipe_without_reader = true;
    }
    SUBCASE("closed") {
      work.settings.out_closed = true;
    }
    check_refused(work.berth(command));
  }
}

TEST_CASE("what a script prints must arrive as well") {
  Workplace work;
  work.write_text("print.lua", "for i = 1, 5000 do print(i) end\n");
  if (work.berth({"run", "print.lua"}).err.find("built without Lua") != std::string::npos) {
    MESSAGE("skipped: this build has no Lua");
    return;
  }
  work.settings.out = "/dev/full";
  check_refused(work.berth({"run", "print.lua"}));
}

TEST_CASE("a result never ends up in a file because standard output was closed") {
  Workplace work;
  work.settings.out_closed = true;
  std::vector<std::string> command = kPlace;
  command.insert(command.end(), {"-o", "p.json"});
  check_refused(work.berth(command));
  CHECK(Json::parse(file_text(work / "p.json"))["format"] == "berth.placement/1");
}

TEST_CASE("a target that cannot be written is told before the search, and nothing is left") {
  const Workplace work;
  std::filesystem::create_directory(work / "folder");
  struct Case {
    std::vector<std::string> arguments;
    std::string part;
  };
  const Case cases[] = {
      {{"-o", "nowhere/p.json"}, "'nowhere/p.json': there is no folder 'nowhere'"},
      {{"-o", "folder"}, "it is a folder"},
      {{"-o", "diamond.graph.json"}, "it is the model itself"},
      {{"-o", "./diamond.graph.json"}, "it is the model itself"},
      {{"--trace", "nowhere/t.json"}, "cannot write --trace"},
      {{"-o", "p.json", "--trace", "./p.json"}, "-o names it too"},
      {{"-o", "/dev/full"}, "/dev/full"},
      {{"-o", "/proc/p.json"}, "/proc/p.json"},
      {{"--annotate", "placed.json"}, "diamond.graph.json"},
  };
  const std::vector<std::string> before = work.files();
  const std::string model = file_text(work / "diamond.graph.json");
  for (const Case& c : cases) {
    std::vector<std::string> command = kPlace;
    command.insert(command.end(), c.arguments.begin(), c.arguments.end());
    const ProcessResult result = work.berth(command);
    CAPTURE(c.part);
    CAPTURE(result.err);
    CHECK(result.status == 1);
    CHECK(result.out == "");
    CHECK(result.err.starts_with("berth: error: "));
    CHECK(result.err.find(c.part) != std::string::npos);
    CHECK(work.files() == before);
  }
  CHECK(file_text(work / "diamond.graph.json") == model);
}
