// inspect, devices, plugins: what there is.
#include "berth.h"

using namespace berth::test;

TEST_CASE("inspect counts what is in a model") {
  const Workplace work;
  const Json json = work.berth_json({"inspect", "diamond.graph.json", "--json"});
  CHECK(json["ops"] == 7);
  CHECK(json["edges"] == 6);
  CHECK(json["param_bytes"] == 7000000);
  CHECK(json["depth"] == 4);
  CHECK(json["width"] == 2);
  CHECK(json["tensors_without_size"] == 0);
  CHECK(json["ops_with_stated_cost"] == 7);
  REQUIRE(json["types"].size() == 1);
  CHECK(json["types"][0]["type"] == "Layer");
  CHECK(json["types"][0]["ops"] == 7);
  CHECK(work.berth_json({"inspect", "diamond.graph.json", "--fetch", "a1", "--fetch", "b0",
                         "--json"})["ops"] == 3);
  const ProcessResult text = work.berth({"inspect", "diamond.graph.json"});
  CHECK(text.status == 0);
  CHECK(text.out.find("4 ops deep, up to 2 wide") != std::string::npos);
}

TEST_CASE("devices lists the presets with their sources, and what is in one") {
  const Workplace work;
  const Json presets = work.berth_json({"devices", "--json"})["clusters"];
  CHECK(presets.size() >= 6);
  const ProcessResult text = work.berth({"devices"});
  for (const Json& preset : presets) {
    CHECK(!std::string(preset["source"]).empty());
    CHECK(text.out.find(std::string(preset["name"])) != std::string::npos);
  }
  const ProcessResult one = work.berth({"devices", "--cluster", "pair.cluster.json"});
  CHECK(one.status == 0);
  CHECK(one.out.find("gpu:1") != std::string::npos);
  CHECK(one.out.find("* -> *") != std::string::npos);
}

TEST_CASE("devices --json writes a cluster file that can be placed on") {
  const Workplace work;
  const ProcessResult result = work.berth({"devices", "--cluster", "pair.cluster.json", "--json"});
  REQUIRE(result.status == 0);
  work.write_text("copy.cluster.json", result.out);
  CHECK(work.berth({"devices", "--cluster", "copy.cluster.json", "--json"}).out == result.out);
}

TEST_CASE("plugins") {
  Workplace work;
  work.settings.environment = {std::string("BERTH_PLUGIN_PATH=") + BERTH_TEST_PLUGINS};
  SUBCASE("the list") {
    const ProcessResult result = work.berth({"plugins"});
    CHECK(result.status == 0);
    CHECK(result.err == "");
    CHECK(result.out.find(" careless ") != std::string::npos);
  }
  SUBCASE("one, with its options") {
    const ProcessResult result = work.berth({"plugins", "careless"});
    CHECK(result.status == 0);
    for (const char* part : {"policy careless 2.5", "everything on the first device", "level",
                             "integer", ">= 0", "how careless", "calm, wild"}) {
      CAPTURE(part);
      CHECK(result.out.find(part) != std::string::npos);
    }
    const Json json = work.berth_json({"plugins", "careless", "--json"})["plugins"];
    REQUIRE(json.size() == 1);
    CHECK(json[0]["options"][0]["name"] == "level");
    CHECK(json[0]["options"][0]["default"] == "3");
  }
  SUBCASE("that of a script") {
    work.write_text("mine.lua",
                    "require 'berth'.register_policy { name = 'mine', description = 'all on one',\n"
                    "  options = { { name = 'device', default = 1, meaning = 'which' } },\n"
                    "  place = function() end }\n");
    const ProcessResult result = work.berth({"plugins", "mine.lua"});
    if (result.err.find("built without Lua") != std::string::npos) return;
    CHECK(result.err == "");
    for (const char* part :
         {"policy mine script: all on one", "from mine.lua", "device", "which"}) {
      CAPTURE(part);
      CHECK(result.out.find(part) != std::string::npos);
    }
  }
  SUBCASE("a refused one is told on standard error, the others are listed") {
    work.settings.environment = {std::string("BERTH_PLUGIN_PATH=") + BERTH_TEST_REFUSED_PLUGINS};
    const ProcessResult result = work.berth({"plugins"});
    CHECK(result.status == 0);
    CHECK(result.out.find("single") != std::string::npos);
    CHECK(result.out.find("foreign") == std::string::npos);
    CHECK(result.err.find("berth: warning: ") == 0);
    CHECK(result.err.find("policy_foreign.so") != std::string::npos);
    CHECK(result.err.find("ABI") != std::string::npos);
  }
}
