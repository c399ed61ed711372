// Settings in JSON, `berth config` and `berth schema`, from end to end.
#include <map>
#include <set>

#include "berth.h"
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
  CHECK(ran.err.find("'single' is asked instead") != std::string::npos);
  REQUIRE(ran.status == 0);
  const Json result = Json::parse(ran.out);
  CHECK(result["policy"] == "single");
  CHECK(result["seed"] == 7);
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
  CHECK(from.at("cluster").ends_with("s.json"));
  CHECK(from.at("objective") == "default");
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

TEST_CASE("a schema has the keys of its format's page") {
  Workplace work;
  for (const std::string name : {"graph", "cluster", "costs", "placement", "settings"}) {
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
