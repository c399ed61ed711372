// Settings in JSON, `berth config` and `berth schema`, from end to end.
#include <map>
#include <set>

#include "berth.h"
#include "support/data.h"
#include "support/format_page.h"

namespace berth::test {
namespace {

constexpr const char* kSettings = R"({
  "format": "berth.settings/1", "cluster": "pair.cluster.json", "policy": "absent",
  "fallbacks": ["single"], "seed": 7,
  "constraints": [{"pin": "end", "to": "gpu:1"}]
})";

TEST_CASE("place takes settings in JSON, and asks the fallbacks") {
  Workplace work;
  work.write_text("s.json", kSettings);
  const ProcessResult ran =
      work.berth({"place", "diamond.graph.json", "--config", "s.json", "--json"});
  CHECK(ran.err.find("no policy 'absent'") != std::string::npos);
  CHECK(ran.err.find("'single' was asked instead") != std::string::npos);
  REQUIRE(ran.status == 0);
  const Json result = Json::parse(ran.out);
  CHECK(result["policy"] == "single");
  CHECK(result["seed"] == 7);
}

TEST_CASE("settings that change nothing in this run are said") {
  Workplace work;
  const std::vector<std::string> place = {
      "place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policy", "single"};
  const auto noted = [&](const std::vector<std::string>& more, const char* part) {
    std::vector<std::string> all = place;
    all.insert(all.end(), more.begin(), more.end());
    const ProcessResult ran = work.berth(all);
    CHECK(ran.status == 0);
    return ran.err.find(part) != std::string::npos;
  };
  const char* const kSteps = "steps in flight count with objective=throughput alone";
  const char* const kBackend = "a backend executes with evaluator=measure alone";
  CHECK(noted({"--in-flight", "4"}, kSteps));
  CHECK_FALSE(noted({"--in-flight", "4", "--objective", "throughput"}, kSteps));
  CHECK(noted({"--backend", "cpu"}, kBackend));
  CHECK_FALSE(noted({}, kBackend));
  const char* const kStart = "policy 'single' begins with nothing, so that the placement to start";
  CHECK(noted({"--start", "split.json"}, kStart));
  CHECK_FALSE(noted({}, kStart));
  const char* const kMoves = "policy 'single' counts no moves";
  CHECK(noted({"--moves", "5"}, kMoves));
  CHECK_FALSE(noted({}, kMoves));
}

TEST_CASE(
    "commands share a file: what another one serves is left out, and a file it writes is told") {
  const Workplace work;
  const auto with = [&](const std::string& keys, std::vector<std::string> command) {
    work.write_text("s.json", "{\"format\": \"berth.settings/1\",\n" + keys + "}");
    command.insert(command.end(), {"--config", "s.json"});
    return work.berth(command);
  };
  const std::vector<std::string> place = {
      "place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policy", "single"};
  const std::vector<std::string> compare = {"compare",           "diamond.graph.json", "--cluster",
                                            "pair.cluster.json", "--policies",         "single"};
  const std::vector<std::string> simulate = {"simulate",    "diamond.graph.json",
                                             "--cluster",   "pair.cluster.json",
                                             "--placement", "split.json"};
  ProcessResult ran = with(R"("policies": ["topo"], "seeds": [1, 2], "clusters": ["k80x2"],
                              "csv": "t.csv")",
                           place);
  CHECK(ran.status == 0);
  CHECK(ran.err ==
        "berth: note: ./s.json: line 3: at csv: `berth place` does not write this file\n");
  for (const std::string key : {"output", "annotate", "trace", "svg", "certificate"}) {
    CAPTURE(key);
    ran = with("\"" + key + "\": \"x\"", compare);
    CHECK(ran.status == 0);
    CHECK_MESSAGE(ran.err.find("at " + key + ": `berth compare` does not write this file") !=
                      std::string::npos,
                  ran.err);
  }
  ran = with(R"("evaluator": "measure", "start": "absent.json", "prove": true)", simulate);
  CHECK(ran.status == 0);
  CHECK(ran.err == "");
  CHECK_FALSE(std::filesystem::exists(work / "x"));
}

TEST_CASE("machines for a comparison do not hide the one of a placement") {
  Workplace work;
  REQUIRE(work.berth({"place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policy",
                      "single", "-o", "p.json"})
              .status == 0);
  work.settings.environment = {
      R"(BERTH_CONFIG={"format": "berth.settings/1", "clusters": ["k80x2", "v100x8"]})"};
  CHECK(work.berth_json({"simulate", "diamond.graph.json", "--placement", "p.json",
                         "--json"})["cluster"] == "pair");
}

TEST_CASE("what says nothing of a run is refused on the command line, and left out of files") {
  const Workplace work;
  work.write_text("s.json", R"({"format": "berth.settings/1", "policy": "absent", "seed": 3,
                                "fallbacks": ["none"], "log": "l.jsonl", "policies": ["absent"]})");
  const std::vector<std::string> explain = {"explain",     "diamond.graph.json",
                                            "--cluster",   "pair.cluster.json",
                                            "--placement", "split.json"};
  const std::vector<std::string> shown = {"report",    "diamond.graph.json", "split.json",
                                          "--cluster", "pair.cluster.json",  "-o",
                                          "r.html"};
  const std::vector<std::string> found = {
      "report", "diamond.graph.json", "--cluster", "pair.cluster.json", "-o", "r.html"};
  const auto ran = [&](std::vector<std::string> command, const std::vector<std::string>& more) {
    command.insert(command.end(), more.begin(), more.end());
    return work.berth(command);
  };
  const std::vector<std::vector<std::string>> search = {
      {"--policy", "heft"}, {"--set", "nonsense=1"},  {"--fallbacks", "no_such"},
      {"--budget", "1s"},   {"--seed", "5"},          {"--moves", "7"},
      {"--within", "3%"},   {"--start", "split.json"}};
  for (const std::vector<std::string>& option : search) {
    CAPTURE(option[0]);
    for (const std::vector<std::string>& command : {explain, shown}) {
      const ProcessResult refused = ran(command, option);
      CHECK(refused.status == 2);
      CHECK_MESSAGE(refused.err.find(option[0] + ": a placement is named") != std::string::npos,
                    refused.err);
    }
  }
  CHECK(ran(shown, {"--log", "l.jsonl"}).status == 2);
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"--policy", "heft"}, {"--set", "nonsense=1"}, {"--fallbacks", "no_such"}}) {
    CAPTURE(more[0]);
    std::vector<std::string> all = {"--policies", "single,topo"};
    all.insert(all.end(), more.begin(), more.end());
    CHECK(ran(found, all).status == 2);
  }
  CHECK(work.files().size() == 4);  // no page, no log
  CHECK(ran(explain, {"--config", "s.json", "--bound", "none"}).status == 0);
  CHECK(ran(shown, {"--config", "s.json"}).status == 0);
  CHECK(ran(found, {"--config", "s.json", "--policy", "single"}).status == 0);
}

TEST_CASE("a script's policies take seed and moves of the settings where it names none") {
  const Workplace work;
  work.write_text("s.json", R"({"format": "berth.settings/1", "seed": 5, "moves": 3})");
  work.write_text("seeds.lua",
                  "local berth = require 'berth'\n"
                  "local problem = berth.problem { graph = berth.load 'diamond.graph.json',\n"
                  "  cluster = 'pair.cluster.json' }\n"
                  "local random = berth.policy('random', { samples = 1 })\n"
                  "io.write(select(2, random:place(problem)).seed, ' ',\n"
                  "  select(2, random:place(problem, { seed = 2 })).seed, ' ',\n"
                  "  select(2, berth.policy('random', { seed = 4 }):place(problem)).seed, ' ',\n"
                  "  berth.policy('mcmc'):options().moves, ' ',\n"
                  "  berth.policy('mcmc', { moves = 9 }):options().moves, '\\n')\n");
  const ProcessResult ran = work.berth({"run", "--config", "s.json", "seeds.lua"});
  if (ran.err.find("built without Lua") != std::string::npos) return;
  CHECK(ran.err == "");
  CHECK(ran.out == "5 2 4 3 9\n");
}

TEST_CASE("a batch of the command line counts over a size that a placement or a file says") {
  const Workplace work;
  const std::string cnn = source_path("examples/models/tiny_cnn.onnx").string();
  work.write_text("s.json", R"({"format": "berth.settings/1", "dims": {"batch": 8}})");
  const ProcessResult placed = work.berth({"place", cnn, "--cluster", "k80x2", "--policy", "single",
                                           "--config", "s.json", "--batch", "2", "-o", "p.json"});
  if (placed.err.find("no frontend") != std::string::npos) return;  // built without ONNX
  CHECK(placed.err == "");
  CHECK(Json::parse(file_text(work / "p.json"))["settings"]["dims"]["batch"] == 2);
  const auto simulated = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"simulate", cnn, "--placement", "p.json", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return work.berth_json(all)["runtime_us"].get<double>();
  };
  const double by_name = simulated({"--dim", "batch=512"});
  CHECK(by_name > simulated({}));
  CHECK(simulated({"--batch", "512"}) == by_name);
  CHECK(simulated({"--shape", "image=512x3x32x32"}) == by_name);
  const ProcessResult twice = work.berth({"inspect", cnn, "--batch", "2", "--dim", "batch=3"});
  CHECK(twice.err.find("is given both as") != std::string::npos);
}

TEST_CASE("BERTH_CONFIG is stronger than the file, and the command line than both") {
  Workplace work;
  work.write_text("s.json", kSettings);
  work.settings.environment = {
      R"(BERTH_CONFIG={"format": "berth.settings/1", "policy": "topo", "seed": 9})"};
  const std::vector<std::string> place = {"place", "diamond.graph.json", "--config", "s.json",
                                          "--json"};
  Json result = work.berth_json(place);
  CHECK(result["policy"] == "topo");
  CHECK(result["seed"] == 9);
  std::vector<std::string> with_seed = place;
  with_seed.insert(with_seed.end(), {"--seed", "3"});
  result = work.berth_json(with_seed);
  CHECK(result["policy"] == "topo");
  CHECK(result["seed"] == 3);

  const Json config = work.berth_json({"config", "--config", "s.json", "--json"});
  std::map<std::string, std::string> from;
  for (const Json& line : config["settings"]) from[line["key"]] = line["from"];
  CHECK(from.at("seed").starts_with("BERTH_CONFIG"));
  CHECK(from.at("cluster").ends_with("s.json: line 2"));
  CHECK(from.at("objective") == "default");

  work.write_text("sizes.json",
                  "{\"format\": \"berth.settings/1\",\n\"dims\": {\"x\": 1},\n"
                  "\"shapes\": {\"in\": [2]}}");
  work.settings.environment = {R"(BERTH_CONFIG={"format": "berth.settings/1", "dims": {"y": 9}})"};
  const Json sizes = work.berth_json({"config", "--config", "sizes.json", "--json"});
  for (const Json& line : sizes["settings"]) from[line["key"]] = line["from"];
  CHECK(from.at("dims.x").ends_with("sizes.json: line 2"));
  CHECK(from.at("dims.y").starts_with("BERTH_CONFIG"));
  CHECK(from.at("shapes.in").ends_with("sizes.json: line 3"));
}

TEST_CASE("a Lua config's own machine places, and config says where it is described") {
  const Workplace work;
  work.write_text("own.lua",
                  "return { policy = 'single', cluster = { name = 'own', devices = {\n"
                  "  { name = 'g', kind = 'gpu' } }, links = {} } }\n");
  const ProcessResult placed = work.berth({"place", "diamond.graph.json", "--config", "own.lua"});
  if (placed.err.find("built without Lua") != std::string::npos) return;
  CHECK(placed.err == "");
  CHECK(placed.out.find("on own (1 device") != std::string::npos);
  const ProcessResult shown = work.berth({"config", "--config", "own.lua"});
  const std::size_t row = shown.out.find("cluster         described there ");
  REQUIRE(row != std::string::npos);
  CHECK(shown.out.substr(row, shown.out.find('\n', row) - row).ends_with("own.lua"));
}

TEST_CASE("settings that are wrong name the file, the key and the fix") {
  Workplace work;
  const std::pair<const char*, const char*> cases[] = {
      {"{", "s.json"},
      {R"({"policy": "topo"})", "format"},
      {R"({"format": "berth.settings/1", "polcy": "topo"})", "'policy'"},
      {R"({"format": "berth.settings/1", "groups": -1})", "groups"},
      {R"({"format": "berth.settings/1", "budget": "soon"})", "duration"},
      {R"({"format": "berth.settings/1", "options": {"a": []}})", "options"},
      {R"({"format": "berth.settings/1", "constraints": [{"pin": "a"}, {"on": "b"}]})",
       "exactly one"},
      {R"({"format": "berth.settings/1", "constraints": [{"pin": "a", "on": "gpu:0"}]})", "'on'"},
  };
  for (const auto& [content, part] : cases) {
    CAPTURE(content);
    work.write_text("s.json", content);
    const ProcessResult result =
        work.berth({"place", "diamond.graph.json", "--config", "s.json", "--policy", "single"});
    CHECK(result.status == 1);
    CHECK_MESSAGE(result.err.find(part) != std::string::npos, result.err);
    CHECK(result.out.empty());
  }
}

TEST_CASE("a placement carries what it was made for, and commands take it from there") {
  const Workplace work;
  const ProcessResult placed = work.berth(
      {"place", "diamond.graph.json", "--cluster", "pair.cluster.json", "--policy", "topo", "--pin",
       "a0=gpu:1", "--memory-margin", "10%", "--costs", "stated", "-o", "p.json"});
  REQUIRE(placed.status == 0);
  const Json file = Json::parse(file_text(work / "p.json"));
  CHECK(file["provenance"]["model"] == "diamond.graph.json");
  CHECK(file["settings"]["costs"] == "stated");
  CHECK(file["settings"]["constraints"].size() == 2);
  // The machine is in it: its file may go.
  CHECK(file["settings"]["cluster"]["name"] == "pair");
  std::filesystem::remove(work / "pair.cluster.json");
  const std::vector<std::string> simulate = {"simulate", "diamond.graph.json", "--placement",
                                             "p.json", "--json"};
  const Json same = work.berth_json(simulate);
  CHECK(same["runtime_us"] == file["results"]["runtime_us"]);
  CHECK(same["cluster"] == "pair");
  CHECK(same["notes"].empty());
  for (const char* command : {"explain", "report"}) {
    CAPTURE(std::string(command));
    std::vector<std::string> arguments = {command, "diamond.graph.json"};
    if (arguments[0] == "explain") arguments.push_back("--placement");
    arguments.push_back("p.json");
    if (arguments[0] == "report") arguments.insert(arguments.end(), {"-o", "page.html"});
    const ProcessResult ran = work.berth(arguments);
    CHECK(ran.err == "");
    CHECK(ran.status == 0);
  }
  // Told otherwise it says that the machine is another one.
  Json other = pair_cluster();
  other["links"][0]["latency_us"] = 500;
  work.write("other.cluster.json", other);
  std::vector<std::string> elsewhere = simulate;
  elsewhere.insert(elsewhere.end(), {"--cluster", "other.cluster.json"});
  const ProcessResult ran = work.berth(elsewhere);
  const std::string note =
      "the placement was made for the machine pair with other figures (* -> *: "
      "latency_us), not for pair";
  CHECK(ran.err == "berth: note: " + note + "\n");
  CHECK(Json::parse(ran.out)["notes"] == Json::array({note}));
  // What it was made for holds: a constraint that the placement breaks is one here too.
  Json broken = file;
  broken["settings"]["constraints"].push_back({{"pin", "a0"}, {"to", "gpu:0"}});
  work.write("p.json", broken);
  const ProcessResult refused = work.berth(simulate);
  CHECK(refused.status == 1);
  CHECK(refused.err.find("(p.json: settings)") != std::string::npos);
}

TEST_CASE("simulate takes a config: its dimensions, machine and constraints") {
  const Workplace work;
  work.write_text("s.json", kSettings);
  const ProcessResult broken = work.berth(
      {"simulate", "diamond.graph.json", "--config", "s.json", "--placement", "split.json"});
  CHECK(broken.status == 1);
  CHECK(broken.err.find("constraints[1] { pin = \"end\", to = \"gpu:1\" } (./s.json: line 4)") !=
        std::string::npos);
}

TEST_CASE("two files whose constraints contradict each other: both are named, with their lines") {
  Workplace work;
  work.write_text("s.json", kSettings);
  work.write_text("other.json",
                  "{\"format\": \"berth.settings/1\",\n\"constraints\": [\n"
                  "  {\"pin\": \"end\", \"to\": \"gpu:0\"}]}");
  work.settings.environment = {"BERTH_CONFIG=" + (work / "other.json").string()};
  const ProcessResult ran =
      work.berth({"place", "diamond.graph.json", "--config", "s.json", "--policy", "single"});
  CHECK(ran.status == 1);
  CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
  CHECK_MESSAGE(ran.err.find("(./s.json: line 4)") != std::string::npos, ran.err);
  CHECK_MESSAGE(ran.err.find("other.json: line 3)") != std::string::npos, ran.err);
}

TEST_CASE("what a file names is beside it, and a message says which file named it") {
  const Workplace work;
  std::filesystem::create_directory(work / "study");
  work.write_text("study/s.json",
                  "{\"format\": \"berth.settings/1\",\n \"cluster\": \"pair.cluster.json\"}");
  const ProcessResult ran = work.berth({"place", "diamond.graph.json", "--config", "study/s.json"});
  CHECK(ran.status == 1);
  CHECK_MESSAGE(ran.err.find("study/s.json: line 2: at cluster: ./study/pair.cluster.json: ") !=
                    std::string::npos,
                ran.err);
}

TEST_CASE("--untrusted-config chooses, opens nothing, and is the weakest") {
  const Workplace work;
  work.write_text(
      "theirs.json",
      "{\"format\": \"berth.settings/1\",\n\"cluster\": \"k80x2\", \"policy\": \"topo\","
      "\n\"seed\": 4}");
  work.write_text("s.json", kSettings);
  Json result = work.berth_json({"place", "diamond.graph.json", "--untrusted-config", "theirs.json",
                                 "--costs", "roofline", "--json"});
  CHECK(result["policy"] == "topo");
  CHECK(result["seed"] == 4);
  result = work.berth_json({"place", "diamond.graph.json", "--untrusted-config", "theirs.json",
                            "--config", "s.json", "--policy", "single", "--json"});
  CHECK(result["cluster"] == "pair");
  CHECK(result["seed"] == 7);
  work.write_text("theirs.json", "{\"format\": \"berth.settings/1\",\n\"policy\": \"./evil.lua\"}");
  const ProcessResult refused = work.berth(
      {"place", "diamond.graph.json", "--untrusted-config", "theirs.json", "--cluster", "k80x2"});
  CHECK(refused.status == 1);
  CHECK_MESSAGE(refused.err.find("theirs.json: line 2: at policy: untrusted settings may name") !=
                    std::string::npos,
                refused.err);
}

TEST_CASE("what is said of a model is an option of every command that loads one") {
  const Workplace work;
  for (const char* command : {"place", "compare", "simulate", "explain", "report", "profile",
                              "measure", "verify", "inspect"}) {
    CAPTURE(std::string(command));
    const std::string help = work.berth({command, "--help"}).out;
    for (const char* option : {"--dim ", "--batch ", "--shape ", "--fetch ", "--state ",
                               "--no-fold", "--arguments ", "--experts ", "--op-rules "}) {
      CAPTURE(std::string(option));
      CHECK(help.find(option) != std::string::npos);
    }
  }
  for (const std::vector<std::string>& given : std::vector<std::vector<std::string>>{
           {"--arguments", "weights"}, {"--experts", "8/2"}, {"--op-rules", ""}}) {
    CAPTURE(given[0]);
    const ProcessResult refused = work.berth({"inspect", "diamond.graph.json", given[0], given[1]});
    CHECK(refused.status == 2);
    CHECK(refused.err.find(given[0]) != std::string::npos);
  }
}

TEST_CASE("a schema has the keys of its format's page") {
  Workplace work;
  for (const std::string name : {"graph", "cluster", "costs", "ops", "placement", "settings"}) {
    CAPTURE(name);
    const Json schema = work.berth_json({"schema", name});
    CHECK(schema["title"] == "berth." + name + "/1");
    std::set<std::string> keys;
    const auto collect = [&keys](const auto& self, const Json& part) -> void {
      if (part.is_array()) {
        for (const Json& item : part) self(self, item);
      }
      if (!part.is_object()) return;
      if (part.contains("properties")) {
        for (const auto& [key, value] : part["properties"].items()) keys.insert(key);
      }
      for (const auto& [key, value] : part.items()) self(self, value);
    };
    collect(collect, schema);
    for (const std::string& key : FormatPage(name + ".md").keys()) {
      CAPTURE(key);
      CHECK(keys.contains(key));
    }
  }
  const ProcessResult unknown = work.berth({"schema", "grph"});
  CHECK(unknown.status == 1);
  CHECK(unknown.err.find("graph") != std::string::npos);
}

}  // namespace
}  // namespace berth::test
