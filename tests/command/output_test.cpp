// Where results go: standard output that is full, closed or unread, and files.
#include <sstream>

#include "berth.h"

using namespace berth::test;

namespace {

const std::vector<std::string> kPlaceDiamond = {
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
      kPlaceDiamond};
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

TEST_CASE("what a library prints is kept out of the result") {
  Workplace work;
  work.settings.environment = {std::string("BERTH_PLUGIN_PATH=") + BERTH_TEST_PLUGINS};
  const std::vector<std::string> loud = {"diamond.graph.json", "--cluster", "pair.cluster.json"};
  const auto with = [&](std::vector<std::string> arguments, std::vector<std::string> more) {
    arguments.insert(arguments.end(), loud.begin(), loud.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return work.berth(arguments);
  };
  const auto is_json = [](const ProcessResult& result) {
    CHECK(result.status == 0);
    CHECK(Json::accept(result.out));
    CHECK(result.err.find("***Cannot bisect") != std::string::npos);
    CHECK(result.err.find("loud: places\n") != std::string::npos);
    CHECK(result.err.find("loud: writes\n") != std::string::npos);
  };
  is_json(with({"place"}, {"--policy", "loud", "--json"}));
  is_json(with({"compare"}, {"--policies", "loud,single", "--json"}));
  is_json(with({"place"}, {"--policy", "loud", "--json", "-o", "/dev/null"}));

  work.write_text("loud.lua",
                  "local berth = require 'berth'\n"
                  "local problem = berth.problem { graph = berth.load 'diamond.graph.json',\n"
                  "  cluster = './pair.cluster.json' }\n"
                  "print('first', 1, nil)\n"
                  "berth.policy 'loud':place(problem)\n"
                  "io.write('second ', 2, '\\n')\n"
                  "io.stdout:write 'third\\n'\n"
                  "print(setmetatable({}, { __tostring = function() return 'fourth' end }))\n");
  const ProcessResult ran = work.berth({"run", "loud.lua"});
  if (ran.err.find("built without Lua") != std::string::npos) return;
  CHECK(ran.out == "first\t1\tnil\nsecond 2\nthird\nfourth\n");
  CHECK(ran.err.find("***Cannot bisect") != std::string::npos);

  work.write_text("talks.lua",
                  "local berth = require 'berth'\n"
                  "berth.register_policy { name = 'talks', place = function(problem)\n"
                  "  print 'I place' return problem:one_device(1) end }\n");
  const ProcessResult talked = with({"place"}, {"--policy", "talks.lua", "--json"});
  CHECK(Json::accept(talked.out));
  CHECK(talked.err == "I place\n");
}

TEST_CASE("what leads to standard output is standard output, be it a file") {
  const Workplace work;
  std::filesystem::create_symlink("/proc/self/fd/1", work / "link");
  std::filesystem::create_symlink("link", work / "link of link");
  for (const char* name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link", "link of link"}) {
    CAPTURE(name);
    std::vector<std::string> command = kPlaceDiamond;
    command.insert(command.end(), {"-o", name, "--json"});
    const ProcessResult result = work.berth(command);
    CHECK(result.err == "");
    // The file that it is stays the same one, so that what comes later is not lost.
    const std::size_t end = result.out.find("\n}\n");
    REQUIRE(end != std::string::npos);
    CHECK(Json::parse(result.out.substr(0, end + 3))["format"] == "berth.placement/1");
    CHECK(Json::parse(result.out.substr(end + 3))["policy"] == "single");
  }
  std::vector<std::string> twice = kPlaceDiamond;
  twice.insert(twice.end(), {"-o", "/dev/stdout", "--trace", "link"});
  CHECK(work.berth(twice).err.find("-o names it too") != std::string::npos);
  std::vector<std::string> logged = kPlaceDiamond;
  logged.insert(logged.end(), {"--log", "link", "--json"});
  const ProcessResult result = work.berth(logged);
  CHECK(result.err == "");
  std::istringstream lines(result.out);
  std::string line, last;
  int events = 0;
  while (std::getline(lines, line)) {
    last = line;
    events += Json::parse(line).contains("event") ? 1 : 0;
  }
  CHECK(events >= 2);
  CHECK(Json::parse(last)["costs"] == "stated");
}

TEST_CASE("learn writes rules to standard output") {
  const Workplace work;
  const auto learned = [&](const std::string& output) {
    const ProcessResult result =
        work.berth({"learn", "diamond.graph.json", "--machines", "pair.cluster.json", "--draws",
                    "1", "--keep", "1", "-o", output});
    CHECK(result.status == 0);
    CHECK(result.err.find("the best of 1 passes") != std::string::npos);
    return result.out;
  };
  CHECK(learned("x.weights") == "");
  const std::string rules = file_text(work / "x.weights");
  CHECK(learned("/dev/stdout") == rules);
}

TEST_CASE("a file that outgrows the shell's limit is told, and nothing of it stays") {
  const Workplace work;
  work.write_text("p.json", "as it was");
  const std::vector<std::string> before = work.files();
  const std::string place =
      "ulimit -f 0; exec '" BERTH_COMMAND
      "' place diamond.graph.json --cluster pair.cluster.json --policy single -o p.json";
  // Standard error and output are files, too.
  ProcessSettings settings = work.settings;
  settings.out = "/dev/null";
  const ProcessResult result =
      run_process({"/bin/sh", "-c", "{ " + place + "; } 2>&1 | cat >&2"}, settings);
  CHECK(result.err.find("warning: -o was not written: p.json: cannot be written: File too large") !=
        std::string::npos);
  CHECK(work.files() == before);
  CHECK(file_text(work / "p.json") == "as it was");
}

TEST_CASE("a result never ends up in a file because standard output was closed") {
  Workplace work;
  work.settings.out_closed = true;
  std::vector<std::string> command = kPlaceDiamond;
  command.insert(command.end(), {"-o", "p.json"});
  check_refused(work.berth(command));
  CHECK(Json::parse(file_text(work / "p.json"))["format"] == "berth.placement/1");
}

TEST_CASE("a target that cannot be written is told before the search, and nothing is left") {
  const Workplace work;
  std::filesystem::create_directory(work / "folder");
  std::filesystem::create_symlink("diamond.graph.json", work / "link.json");
  std::filesystem::create_symlink("later.json", work / "early.json");
  std::filesystem::create_symlink("early.json", work / "earlier.json");
  std::filesystem::create_symlink("nowhere/p.json", work / "astray.json");
  std::filesystem::create_symlink("circle.json", work / "circle.json");
  work.write_text("config.lua", "return {}");
  struct Case {
    std::vector<std::string> arguments;
    std::string part;
  };
  const Case cases[] = {
      {{"-o", "nowhere/p.json"}, "'nowhere/p.json': there is no folder 'nowhere'"},
      {{"-o", "folder"}, "it is a folder"},
      {{"-o", "diamond.graph.json"}, "it is the model itself"},
      {{"-o", "./diamond.graph.json"}, "it is the model itself"},
      {{"-o", "pair.cluster.json"}, "it is the cluster itself"},
      {{"--svg", "./pair.cluster.json"}, "it is the cluster itself"},
      {{"--config", "config.lua", "--trace", "config.lua"}, "it is the config itself"},
      {{"--costs", "./diamond.graph.json", "-o", "p.json", "--trace", "link.json"},
       "it is the model itself"},
      {{"--trace", "nowhere/t.json"}, "cannot write --trace"},
      {{"-o", "p.json", "--trace", "./p.json"}, "-o names it too"},
      {{"-o", "later.json", "--trace", "earlier.json"}, "-o names it too"},
      {{"-o", "early.json", "--trace", "./later.json"}, "-o names it too"},
      {{"-o", "astray.json"}, "there is no folder 'nowhere'"},
      {{"-o", "circle.json"}, "levels of symbolic links"},
      {{"--annotate", "placed.json"}, "diamond.graph.json"},
      {{"--op-rules", "config.lua", "-o", "config.lua"}, "it is the file of op_rules itself"},
      {{"--fallbacks", "./config.lua", "--svg", "config.lua"},
       "it is the file of fallbacks itself"},
      {{"--set", "weights=split.json", "-o", "split.json"}, "the file of options.weights itself"},
  };
  const std::vector<std::string> before = work.files();
  const std::string model = file_text(work / "diamond.graph.json");
  for (const Case& c : cases) {
    std::vector<std::string> command = kPlaceDiamond;
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

TEST_CASE("no subcommand writes over what it reads, or two things into one file") {
  Workplace work;
  work.write_text("config.json", "{\"format\": \"berth.settings/1\"}");
  std::filesystem::create_directory(work / "folder");
  work.write_text("folder/saved_model.pb", "a model");
  work.settings.environment = {"BERTH_CONFIG=config.json"};
  struct Case {
    std::vector<std::string> command;
    std::string part;
  };
  const std::vector<std::string> learn = {"learn", "diamond.graph.json", "--machines",
                                          "./pair.cluster.json"};
  const std::vector<std::string> tune = {"tune", "diamond.graph.json", "--backend", "cpu"};
  const auto with = [](std::vector<std::string> command, const std::vector<std::string>& more) {
    command.insert(command.end(), more.begin(), more.end());
    return command;
  };
  const Case cases[] = {
      {with(kPlaceDiamond, {"-o", "config.json"}), "it is the config itself"},
      {{"place", "folder", "--cluster", "k80x2", "-o", "folder/saved_model.pb"},
       "it is a part of the model"},
      {with(learn, {"-o", "diamond.graph.json"}), "cannot write -o"},
      {with(learn, {"-o", "x.weights", "--record", "diamond.graph.json"}), "cannot write --record"},
      {{"learn", "diamond.graph.json@batch=2", "--machines", "k80x2", "-o", "diamond.graph.json"},
       "it is the model itself"},
      {with(learn, {"-o", "pair.cluster.json"}), "it is the file of clusters itself"},
      {with(learn, {"-o", "x", "--record", "./x"}), "-o names it too"},
      {with(tune, {"-o", "x", "--record", "x"}), "-o names it too"},
      {with(tune, {"--record", "diamond.graph.json"}), "it is the model itself"},
      {{"profile", "diamond.graph.json", "--from", "split.json", "--cluster", "pair.cluster.json",
        "-o", "pair.cluster.json"},
       "it is the cluster itself"},
      {{"study", "plot", "split.json", "-o", "split.json"}, "it is the study itself"},
  };
  const std::vector<std::string> before = work.files();
  for (const Case& c : cases) {
    const ProcessResult result = work.berth(c.command);
    CAPTURE(c.part);
    CAPTURE(result.err);
    CHECK(result.status == 1);
    CHECK(result.err.find(c.part) != std::string::npos);
    CHECK(work.files() == before);
  }
  CHECK(Json::parse(file_text(work / "diamond.graph.json")) == diamond_graph());
  CHECK(Json::parse(file_text(work / "pair.cluster.json")) == pair_cluster());
}
