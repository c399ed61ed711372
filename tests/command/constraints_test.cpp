// Constraints of the command line and of a config, from end to end.
#include "berth.h"

using namespace berth::test;

namespace {

std::vector<std::string> place(std::vector<std::string> more) {
  more.insert(more.begin(),
              {"place", "diamond.graph.json", "--cluster", "pair.cluster.json", "-o", "p.json"});
  return more;
}

/// The devices of a0 a1 a2 b0 b1 b2 end in p.json: "0 0 0 1 1 1 c".
std::string placed(const Workplace& work) {
  const Json assignment = Json::parse(file_text(work / "p.json"))["assignment"];
  std::string text;
  for (const char* op : {"a0", "a1", "a2", "b0", "b1", "b2", "end"}) {
    const auto device = assignment[op].get<std::string>();
    text += (text.empty() ? "" : " ") + (device == "cpu:0" ? "c" : device.substr(4));
  }
  return text;
}

bool has_lua(const ProcessResult& result) {
  if (result.err.find("built without Lua") == std::string::npos) return true;
  MESSAGE("skipped: this build has no Lua");
  return false;
}

}  // namespace

TEST_CASE("place obeys the constraints of the command line") {
  const Workplace work;
  const ProcessResult result =
      work.berth(place({"--policy", "single", "--pin", "b.*=gpu:1", "--pin", "end=cpu"}));
  CHECK(result.err == "");
  REQUIRE(result.status == 0);
  CHECK(placed(work) == "0 0 0 1 1 1 c");
}

TEST_CASE("place obeys the constraints of a config, and both together") {
  const Workplace work;
  work.write_text("c.lua",
                  "return { constraints = {"
                  "  { pin = { name = 'a0' }, to = 'gpu:0' },"
                  "  { separate = { 'a.*', 'b.*' } },"
                  "  { colocate = 'a.*' },"
                  "  { forbid = { type = 'Layer' }, on = { 'cpu:0' } } } }");
  const ProcessResult result =
      work.berth(place({"--policy", "single", "--config", "c.lua", "--pin", "end=gpu:1"}));
  if (!has_lua(result)) return;
  CHECK(result.err == "");
  REQUIRE(result.status == 0);
  CHECK(placed(work) == "0 0 0 1 1 1 1");
}

TEST_CASE("simulate refuses what breaks a constraint and names it") {
  const Workplace work;
  const ProcessResult result =
      work.berth({"simulate", "diamond.graph.json", "--cluster", "pair.cluster.json", "--placement",
                  "split.json", "--pin", "a0=gpu:1"});
  CHECK(result.status == 1);
  CHECK(result.err.find("'a0' is not allowed on device 'gpu:0': --pin 'a0=gpu:1'") !=
        std::string::npos);
}

TEST_CASE("a memory margin changes what fits") {
  const Workplace work;
  const ProcessResult fits =
      work.berth(place({"--policy", "single", "--memory-margin", "gpu=50MB"}));
  CHECK(fits.status == 0);
  CHECK(fits.out.find("47.7 MiB") != std::string::npos);
  // 7 MB of parameters, 5 MB of room on each gpu: the host alone holds it.
  const Json json =
      work.berth_json(place({"--policy", "single", "--json", "--memory-margin", "gpu=95%"}));
  CHECK(json["best_single"]["device"] == "cpu:0");
  CHECK(json["devices"][0]["memory_bytes"] == 5000000);  // what a placement may use, as in the text
  CHECK(json["notes"].empty());
  // The host states none.
  CHECK(work.berth(place({"--policy", "single", "--memory-margin", "cpu:0=1GB"}))
            .err.find("--memory-margin 'cpu:0=1GB' keeps nothing free") != std::string::npos);
}

TEST_CASE("constraints that cannot be are errors of one line that show the rules") {
  const Workplace work;
  struct Row {
    std::vector<std::string> arguments;
    int status;
    std::vector<std::string> parts;
  };
  const Row rows[] = {
      {{"--pin", "a0=gpu:0", "--pin", "a.*=gpu:1"},
       1,
       {"conflict", "--pin 'a0=gpu:0'", "--pin 'a.*=gpu:1'", "'a0'"}},
      {{"--pin", "c.*=gpu:0"}, 1, {"selects none of the 7 ops"}},
      {{"--pin", "a(=gpu:0"}, 1, {"'(' is not closed"}},
      {{"--pin", "a0=gpu:9"}, 1, {"'gpu:9'", "gpu:0"}},
      {{"--pin", "a0"}, 2, {"name=value"}},
      {{"--respect-devices"}, 1, {"no op", "asks for a device"}},
      {{"--memory-margin", "lots"}, 2, {"'lots' is not a memory margin"}},
      {{"--memory-margin", "gpu:0=1GiB"}, 1, {"--memory-margin 'gpu:0=1GiB'", "95.4 MiB"}},
      {{"--memory-margin", "99%", "--pin", ".*=gpu"},
       1,
       {"error: the constraint --pin '.*=gpu' leaves 6.68 MiB of parameters, inputs and results to "
        "gpu:0, gpu:1, with room for 1.91 MiB: no single device holds the graph: with gpu:0, "
        "gpu:1, it lacks 5."}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.arguments.back());
    std::vector<std::string> arguments = row.arguments;
    arguments.insert(arguments.end(), {"--policy", "single"});
    const ProcessResult result = work.berth(place(arguments));
    CHECK(result.status == row.status);
    if (row.status == 1) CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    for (const std::string& part : row.parts) {
      CHECK_MESSAGE(result.err.find(part) != std::string::npos, result.err, " lacks ", part);
    }
    CHECK_FALSE(std::filesystem::exists(work / "p.json"));
  }
}

TEST_CASE("a config's constraints that mean nothing name the rule") {
  const Workplace work;
  struct Row {
    const char* rules;
    const char* part;
  };
  const Row rows[] = {
      {"{ { pin = 'a0', to = 'gpu:0' }, { pin = 'a0', on = 'gpu:1' } }", "constraints[2]"},
      {"{ { pin = 'a0', to = 'gpu:0', forbid = 'b0' } }", "exactly one of pin"},
      {"{ { pinn = 'a0', to = 'gpu:0' } }", "did you mean 'pin'"},
      {"{ { pin = { nam = 'a0' }, to = 'gpu:0' } }", "did you mean 'name'"},
      {"{ pin = 'a0', to = 'gpu:0' }", "a list of rules"},
      {"{ 'a0' }", "constraints[1]"},
      {"{ { pin = 7, to = 'gpu:0' } }", "an expression over names"},
      {"{ { memory_margin = true } }", "constraints[1]"},
      {"{ { respect_devices = false } }", "respect_devices is true"},
      {"{ { pin = 'a0', to = 'gpu:0' }, { forbid = 'a.*', on = 'gpu' } }",
       "constraints[2] { forbid = \"a.*\", on = \"gpu\" }"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.rules);
    work.write_text("c.lua", std::string("return { constraints = ") + row.rules + " }");
    const ProcessResult result = work.berth(place({"--policy", "single", "--config", "c.lua"}));
    if (!has_lua(result)) return;
    CHECK(result.status == 1);
    CHECK_MESSAGE(result.err.find(row.part) != std::string::npos, result.err);
  }
}
