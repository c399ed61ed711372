// Files and names that are wrong: one message with the file, the place and the fix, status 1,
// nothing on standard output, nothing written.
#include "berth.h"
#include "berth/version.h"

using namespace berth::test;

namespace {

/// One wrong thing: the files to replace, the arguments to add, and what the message must name.
struct BadInput {
  std::string what;
  std::function<void(const Workplace&)> spoil;
  std::vector<std::string> arguments;
  std::vector<std::string> parts;
};

void check_all(const std::vector<BadInput>& cases, const std::vector<std::string>& command,
               const std::vector<std::string>& environment = {}) {
  for (const BadInput& c : cases) {
    Workplace work;
    work.settings.environment = environment;
    if (c.spoil) c.spoil(work);
    const std::vector<std::string> before = work.files();
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    const ProcessResult result = work.berth(arguments);
    CAPTURE(c.what);
    CAPTURE(result.err);
    CHECK(result.status == 1);
    CHECK(result.out == "");
    CHECK(result.err.starts_with("berth: error: "));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    for (const std::string& part : c.parts) {
      CAPTURE(part);
      CHECK(result.err.find(part) != std::string::npos);
    }
    CHECK(work.files() == before);
  }
}

/// Spoils the graph through a change of its JSON.
std::function<void(const Workplace&)> graph(std::function<void(Json&)> change) {
  return [change = std::move(change)](const Workplace& work) {
    Json json = diamond_graph();
    change(json);
    work.write("diamond.graph.json", json);
  };
}

std::function<void(const Workplace&)> cluster(std::function<void(Json&)> change) {
  return [change = std::move(change)](const Workplace& work) {
    Json json = pair_cluster();
    change(json);
    work.write("pair.cluster.json", json);
  };
}

std::function<void(const Workplace&)> placement(std::function<void(Json&)> change) {
  return [change = std::move(change)](const Workplace& work) {
    Json json = Json::parse(file_text(work / "split.json"));
    change(json);
    work.write("split.json", json);
  };
}

std::function<void(const Workplace&)> text(std::string file, std::string content) {
  return [file = std::move(file), content = std::move(content)](const Workplace& work) {
    work.write_text(file, content);
  };
}

const std::string kGraph = "diamond.graph.json";
const std::string kCluster = "pair.cluster.json";
const std::vector<std::string> kPlace = {"place",    kGraph,   "--cluster", kCluster,
                                         "--policy", "single", "-o",        "p.json"};

}  // namespace

TEST_CASE("a bad graph file") {
  check_all(
      {
          {"empty", text(kGraph, ""), {}, {kGraph}},
          {"truncated", text(kGraph, diamond_graph().dump().substr(0, 200)), {}, {kGraph}},
          {"random bytes",
           text(kGraph, std::string("\x00\xFF\x13\x37\x80garbage", 12)),
           {},
           {kGraph}},
          {"an array", text(kGraph, "[]"), {}, {kGraph, "object"}},
          {"deep nesting", text(kGraph, std::string(100000, '[')), {}, {kGraph}},
          {"another format",
           graph([](Json& g) { g["format"] = "berth.graph/9"; }),
           {},
           {kGraph, "berth.graph/1"}},
          {"an unknown key",
           graph([](Json& g) { g["ops"][2]["cost"] = 1; }),
           {},
           {kGraph, "ops[2]", "cost"}},
          {"a missing key",
           graph([](Json& g) { g["ops"][1].erase("type"); }),
           {},
           {kGraph, "ops[1]", "type"}},
          {"a wrong type",
           graph([](Json& g) { g["ops"][0]["name"] = 5; }),
           {},
           {kGraph, "ops[0].name"}},
          {"a cycle",
           graph([](Json& g) {
             g["edges"].push_back({{"src", 6}, {"output", 0}, {"dst", 0}});
           }),
           {},
           {kGraph, "cycl"}},
          {"an edge to itself",
           graph([](Json& g) {
             g["edges"].push_back({{"src", 2}, {"output", 0}, {"dst", 2}});
           }),
           {},
           {kGraph, "a2"}},
          {"a duplicate name",
           graph([](Json& g) { g["ops"][1]["name"] = "a0"; }),
           {},
           {kGraph, "a0"}},
          {"a dangling edge",
           graph([](Json& g) { g["edges"][0]["dst"] = 7; }),
           {},
           {kGraph, "edges[0].dst", "7"}},
          {"an edge from no output",
           graph([](Json& g) { g["edges"][3]["output"] = 1; }),
           {},
           {kGraph, "edges[3].output"}},
          {"a negative index",
           graph([](Json& g) { g["edges"][0]["src"] = -1; }),
           {},
           {kGraph, "edges[0].src", "-1"}},
          {"a negative size",
           graph([](Json& g) { g["ops"][0]["output_bytes"][0] = -4; }),
           {},
           {kGraph, "ops[0].output_bytes[0]", "-4"}},
          {"a size beyond 64 bits",
           text(kGraph,
                [] {
                  std::string dump = diamond_graph().dump();
                  return dump.replace(dump.find("1000000"), 7, "99999999999999999999");
                }()),
           {},
           {kGraph, "param_bytes"}},
          {"sizes whose sum overflows",
           graph([](Json& g) {
             for (Json& op : g["ops"]) op["param_bytes"] = 9000000000000000000;
           }),
           {},
           {kGraph}},
          {"a negative cost",
           graph([](Json& g) { g["ops"][0]["cost_us"] = -1; }),
           {},
           {kGraph, "ops[0].cost_us"}},
          {"no cost for any device",
           graph([](Json& g) {
             g["ops"][3]["cost_us"] = {{"tpu", 1}};
           }),
           {},
           {"'b0'", "add a device"}},
      },
      kPlace);
}

TEST_CASE("a number that no double holds is named in every file") {
  const auto huge = [](std::string file) {
    return [file = std::move(file)](const Workplace& work) {
      const std::string content = file_text(work / file);
      work.write_text(file, content.substr(0, content.size() - 1) + ", \"x\": 1e309}");
    };
  };
  check_all({{"graph", huge(kGraph), {}, {kGraph + ": line 1, column ", "1e309 is too large"}},
             {"cluster", huge(kCluster), {}, {kCluster + ": line 1, column ", "1e309"}},
             {"costs",
              text("costs.json", "{\"format\": 1e309}"),
              {"--costs", "costs.json"},
              {"costs.json: line 1, column 12", "1e309"}}},
            kPlace);
  check_all({{"placement", huge("split.json"), {}, {"split.json: line 1, column ", "1e309"}}},
            {"simulate", kGraph, "--cluster", kCluster, "--placement", "split.json"});
}

TEST_CASE("a bad cluster file") {
  check_all(
      {
          {"truncated", text(kCluster, "{\"format\":"), {}, {kCluster}},
          {"another format",
           cluster([](Json& c) { c["format"] = "berth.graph/1"; }),
           {},
           {kCluster, "berth.cluster/1"}},
          {"no devices", cluster([](Json& c) { c["devices"] = Json::array(); }), {}, {kCluster}},
          {"a duplicate device",
           cluster([](Json& c) { c["devices"][1]["name"] = "gpu:0"; }),
           {},
           {kCluster, "gpu:0"}},
          {"a link to nowhere",
           cluster([](Json& c) { c["links"][0]["dst"] = "gpu:9"; }),
           {},
           {kCluster, "gpu:9"}},
          {"a pair without a link",
           cluster([](Json& c) { c["links"][0]["dst"] = "gpu:0"; }),
           {},
           {kCluster, "gpu:1"}},
          {"no bandwidth",
           cluster([](Json& c) { c["links"][0]["bandwidth_bytes_per_s"] = 0; }),
           {},
           {kCluster, "bandwidth"}},
          {"negative memory",
           cluster([](Json& c) { c["devices"][0]["memory_bytes"] = -1; }),
           {},
           {kCluster, "devices[0].memory_bytes"}},
          {"an unknown key",
           cluster([](Json& c) { c["devices"][0]["flop"] = 1; }),
           {},
           {kCluster, "devices[0]", "flop"}},
      },
      kPlace);
}

TEST_CASE("a bad placement file") {
  check_all(
      {
          {"random bytes", text("split.json", "\x80\x81\x82"), {}, {"split.json"}},
          {"not there",
           [](const Workplace& w) { std::filesystem::remove(w / "split.json"); },
           {},
           {"split.json"}},
          {"for another graph",
           placement([](Json& p) {
             p["graph"] = "other";
             p["assignment"] = {{"x", "gpu:0"}};
           }),
           {},
           {"split.json", "assignment.x", "another graph"}},
          {"an op missing",
           placement([](Json& p) { p["assignment"].erase("b1"); }),
           {},
           {"split.json", "'b1'"}},
          {"an unknown device",
           placement([](Json& p) { p["assignment"]["b1"] = "gpu:7"; }),
           {},
           {"split.json", "gpu:7", "gpu:0, gpu:1, cpu:0"}},
          {"another format",
           placement([](Json& p) { p["format"] = "berth.cluster/1"; }),
           {},
           {"split.json", "berth.placement/1"}},
      },
      {"simulate", kGraph, "--cluster", kCluster, "--placement", "split.json"});
}

TEST_CASE("a placement that breaks a constraint of the graph") {
  check_all({{"co-location",
              graph([](Json& g) {
                for (const int op : {0, 3}) g["ops"][op]["colocate"] = "heads";
              }),
              {},
              {"heads"}},
             {"a device that cannot run the op",
              graph([](Json& g) {
                g["ops"][5]["cost_us"] = {{"cpu", 5}};
              }),
              {},
              {"b2", "gpu:1"}}},
            {"simulate", kGraph, "--cluster", kCluster, "--placement", "split.json"});
}

TEST_CASE("a wrong name") {
  check_all({{"the model is not there", {}, {}, {"nothere.onnx", "no such file"}}},
            {"place", "nothere.onnx", "--cluster", kCluster, "--policy", "single"});
  check_all({{"no frontend claims the model", text("model.xyz", "?"), {}, {"model.xyz"}}},
            {"inspect", "model.xyz"});
  check_all({{"a folder that is no model", {}, {}, {"this folder is no model", "saved_model.pb"}}},
            {"inspect", "."});
  check_all({{"a cluster", {}, {}, {"k80y5", "k80x4"}}},
            {"place", kGraph, "--cluster", "k80y5", "--policy", "single"});
  check_all({{"a cluster file", {}, {}, {"none.cluster.json"}}},
            {"devices", "--cluster", "none.cluster.json"});
  check_all({{"a policy", {}, {}, {"'singel'", "did you mean 'single'"}}},
            {"place", kGraph, "--cluster", kCluster, "--policy", "singel"});
  check_all({{"a policy of compare", {}, {}, {"'magic'", "heft"}}},
            {"compare", kGraph, "--cluster", kCluster, "--policies", "single,magic"});
  check_all({{"a plugin", {}, {}, {"'singel'", "did you mean 'single'"}}}, {"plugins", "singel"});
  check_all(
      {{"an option", {}, {"--set", "devcie=gpu:0"}, {"devcie", "device"}},
       {"an option's device", {}, {"--set", "device=gpu:9"}, {"gpu:9", "gpu:0"}},
       {"a cost source", {}, {"--costs", "exact"}, {"exact"}},
       {"costs of another graph",
        [](const Workplace& work) {
          Json other = diamond_graph();
          other["ops"][4]["name"] = "c4";
          work.write("costs.json", other);
        },
        {"--costs", "costs.json"},
        {"costs.json", "'b1'"}},
       {"a dimension", {}, {"--dim", "batch=8"}, {kGraph, "takes no dimensions"}},
       {"a dimension of nothing, which an empty cache has",
        {},
        {"--dim", "past=0"},
        {kGraph, "takes no dimensions"}},
       {"an input", {}, {"--shape", "data=1x3"}, {kGraph, "or shapes"}},
       {"an input with commas", {}, {"--shape", "data=1,3"}, {kGraph, "or shapes"}},
       {"costs of no known kind",
        text("costs.pb", "garbage"),
        {"--costs", "costs.pb"},
        {"costs.pb", "berth.costs/1"}},
       {"costs that are empty", text("costs.json", ""), {"--costs", "costs.json"}, {"costs.json"}},
       {"a fetch", {}, {"--fetch", "a2", "--fetch", "a9"}, {kGraph, "'a9'", "end"}}},
      kPlace);
}

TEST_CASE("a wrong option value of a policy") {
  check_all({{"text for a number", {}, {"--set", "level=high"}, {"careless", "level", "high"}}},
            {"place", kGraph, "--cluster", kCluster, "--policy", "careless"},
            {std::string("BERTH_PLUGIN_PATH=") + BERTH_TEST_PLUGINS});
}

TEST_CASE("a policy built for another version is refused with both versions") {
  const auto abi = [](int version) { return "ABI " + std::to_string(version); };
  check_all(
      {{"place",
        {},
        {},
        {"policy_foreign.so", abi(BERTH_ABI_VERSION + 1), abi(BERTH_ABI_VERSION), "rebuild"}}},
      {"place", kGraph, "--cluster", kCluster, "--policy", "foreign"},
      {std::string("BERTH_PLUGIN_PATH=") + BERTH_TEST_REFUSED_PLUGINS});
}

TEST_CASE("no feasible placement") {
  const auto tiny = cluster([](Json& c) {
    for (Json& device : c["devices"]) device["memory_bytes"] = 1500000;
  });
  check_all({{"a policy that knows", tiny, {"-o", "p.json"}, {"gpu:0", "lacks"}}},
            {"place", kGraph, "--cluster", kCluster, "--policy", "single"});
  check_all({{"a policy that does not know",
              tiny,
              {"-o", "p.json", "--trace", "t.json"},
              {"'careless'", "device gpu:0 needs", "more than its 1.43 MiB", "at op"}}},
            {"place", kGraph, "--cluster", kCluster, "--policy", "careless"},
            {std::string("BERTH_PLUGIN_PATH=") + BERTH_TEST_PLUGINS});
}

TEST_CASE("a script or config that is wrong") {
  const Workplace work;
  if (work.berth({"run", "none.lua"}).err.find("built without Lua") != std::string::npos) {
    MESSAGE("skipped: this build has no Lua");
    return;
  }
  check_all({{"a config that is not there", {}, {"--config", "none.lua"}, {"none.lua"}},
             {"an unknown setting",
              text("c.lua", "return { polcy = 'single' }"),
              {"--config", "c.lua"},
              {"c.lua", "polcy", "policy"}},
             {"more groups than there can be",
              text("c.lua", "return { groups = 2^32 + 1 }"),
              {"--config", "c.lua"},
              {"c.lua: at groups: expected a whole number from 1 to 2147483647", "4294967297"}},
             {"no groups at all",
              text("c.lua", "return { groups = 0 }"),
              {"--config", "c.lua"},
              {"groups", "0"}},
             {"an evaluator that is none",
              text("c.lua", "return { evaluator = 'guess' }"),
              {"--config", "c.lua"},
              {"evaluator", "'guess'", "simulate", "measure"}},
             {"a syntax error",
              text("c.lua", "return {\n  x = \n}"),
              {"--config", "c.lua"},
              {"c.lua:3"}}},
            kPlace);
  check_all({{"seeds that are none",
              text("c.lua", "return { seeds = 'all' }"),
              {"--config", "c.lua"},
              {"seeds", "'all'"}}},
            {"compare", kGraph, "--cluster", kCluster});
  check_all({{"a script that is not there", {}, {}, {"none.lua"}}}, {"run", "none.lua"});
}

TEST_CASE("a script's error keeps its lines") {
  Workplace work;
  work.write_text("bad.lua", "local function f() error('one\\ntwo\\27[31m') end\nf()\n");
  const ProcessResult result = work.berth({"run", "bad.lua"});
  if (result.err.find("built without Lua") != std::string::npos) {
    MESSAGE("skipped: this build has no Lua");
    return;
  }
  CHECK(result.status == 1);
  CHECK(result.err.find("berth: error: bad.lua:1: one\ntwo?[31m\nstack traceback:\n") == 0);
}

TEST_CASE("names of a model cannot steer the terminal or split a message") {
  check_all({{"an escape sequence in a name",
              graph([](Json& g) {
                g["ops"][0]["name"] = "x\x1B[2J\ny";
                g["ops"][1]["name"] = "x\x1B[2J\ny";
              }),
              {},
              {"x?[2J?y"}}},
            kPlace);
}

TEST_CASE("names of devices cannot steer the terminal") {
  // The control sequence introducer as two bytes, as one letter above 0x7F, and as a stray byte.
  const std::string name = "gpu:0\x1B[2J\xC2\x9B\x33J";
  Workplace work;
  Json cluster = pair_cluster();
  cluster["devices"][0]["name"] = name;
  cluster["devices"][2]["name"] = "cpu\x1B[31m";
  cluster["name"] = "pair\x1B[31m";
  work.write(kCluster, cluster);
  work.write(kGraph, hosted_diamond_graph());
  const std::vector<std::vector<std::string>> commands = {
      {"place", "--policy", "single", "-o", "p.json"},
      {"place", "--policy", "single", "--json"},
      {"place", "--policy", "single", "--memory-margin", "99%"},
      {"compare", "--policies", "single"},
      {"compare", "--policies", "single", "--seeds", "0..1"},
      {"simulate", "--placement", "p.json"},
      {"explain", "--placement", "p.json"},
      {"explain", "--placement", "p.json", "--op", "a1"},
      {"devices"}};
  for (std::vector<std::string> command : commands) {
    if (command.front() != "devices") command.insert(command.begin() + 1, kGraph);
    command.insert(command.end(), {"--cluster", kCluster});
    const ProcessResult result = work.berth(command);
    CAPTURE(command);
    const std::string shown = result.out + result.err;
    CHECK(shown.size() > 100);
    CHECK(shown.find('\x1B') == std::string::npos);
    CHECK(shown.find("\xC2\x9B") == std::string::npos);
    if (command.back() == "--json" || result.out.starts_with('{')) {
      CHECK(Json::parse(result.out)["devices"][0]["name"] == name);
    }
  }
}
