// Settings as text, as a struct and as text again: what every way in relies on.
#include "berth/settings.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "berth/error.h"
#include "support/expect_error.h"

using namespace berth;
using namespace berth::test;

namespace {

Settings parsed(const std::string& keys, SettingsTrust trust = SettingsTrust::own) {
  return parse_settings("{\"format\": \"berth.settings/1\"" + keys + "}", "s.json", trust);
}

/// A value of every key, as JSON.
const std::vector<std::pair<std::string, std::string>> kValues = {
    {"cluster", "\"k80x4\""},
    {"costs", "\"roofline\""},
    {"tf32", "\"convolutions\""},
    {"objective", "\"throughput\""},
    {"semantics", "\"placeto\""},
    {"grouping", "\"balanced\""},
    {"groups", "12"},
    {"clusters", "[\"k80x2\",\"a,b\"]"},
    {"policy", "\"heft\""},
    {"fallbacks", "[\"topo\",\"single\"]"},
    {"policies", "[\"heft\"]"},
    {"options", "{\"a\":1,\"b\":0.5,\"c\":true,\"d\":\"x\"}"},
    {"seed", "9007199254740992"},
    {"seeds", "[0,7]"},
    {"threads", "2"},
    {"budget", "1.5"},
    {"moves", "100"},
    {"plugin_folders", "[\"/a,b\"]"},
    {"plugins", "[\"policy_*\"]"},
    {"evaluator", "\"measure\""},
    {"backend", "\"cpu:devices=4\""},
    {"bound", "\"quick\""},
    {"prove", "true"},
    {"output", "\"p.json\""},
    {"annotate", "\"m.onnx\""},
    {"trace", "\"t.json\""},
    {"svg", "\"t.svg\""},
    {"certificate", "\"c.json\""},
    {"report", "\"r.html\""},
    {"log", "\"l.jsonl\""},
    {"write", "[\"csv=a,b.csv\"]"},
    {"csv", "\"t.csv\""},
    {"batch", "4"},
    {"dims", "{\"sequence\":8}"},
    {"shapes", "{\"x\":[1,2]}"},
    {"fetches", "[\"loss:0\"]"},
    {"arguments", "\"parameters\""},
    {"experts", "\"2/8\""},
    {"op_rules", "\"o.json\""},
    {"fold", "false"},
    {"states", "[\"present.0=past.0\",\"none\"]"},
    {"inputs", "\"any\""},
    {"in_flight", "3"},
    {"soft", "true"},
    {"tool", "\"llama.cpp\""},
    {"within", "0.05"},
    {"replicate", "\"gpu:0=3,gpu:1+gpu:2=5\""},
    {"start", "\"p.json\""},
    {"constraints",
     "[{\"pin\":[{\"regex\":\"a.*\"}],\"to\":[\"gpu:0\"]},"
     "{\"respect_devices\":true},"
     "{\"memory_margin\":\"10%\",\"on\":[\"gpu\"]},{\"memory_margin\":4096}]"},
};

}  // namespace

TEST_CASE("every key is read, written as it was, and read again as the same") {
  CHECK(kValues.size() == setting_keys().size());
  std::string all;
  for (const auto& [key, value] : kValues) {
    CAPTURE(key);
    const Settings settings = parsed(", \"" + key + "\": " + value);
    CHECK(settings.has(key));
    CHECK(settings.place(key) == "s.json: at " + key + ": ");
    CHECK(settings_json(settings) ==
          "{\"format\":\"berth.settings/1\",\"" + key + "\":" + value + "}");
    all += ", \"" + key + "\": " + value;
  }
  const Settings whole = parsed(all);
  CHECK(settings_json(parse_settings(settings_json(whole), "again")) == settings_json(whole));
  // Lists stay lists: nothing is split at a comma.
  CHECK(whole.plugin_folders == std::vector<std::string>{"/a,b"});
  CHECK(whole.clusters->size() == 2);
}

TEST_CASE("a command line's text means what the file's value means") {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"cluster", "k80x4"},     {"objective", "throughput"},
      {"groups", "12"},         {"budget", "1500ms"},
      {"seeds", "0,7"},         {"bound", "quick"},
      {"prove", "true"},        {"fallbacks", "topo,single"},
      {"evaluator", "measure"}, {"within", "5%"}};
  for (const auto& [key, text] : texts) {
    CAPTURE(key);
    Settings settings;
    set_setting(settings, key, text);
    std::string value;
    for (const auto& [name, json] : kValues) value = name == key ? json : value;
    CHECK(settings_json(settings) == settings_json(parsed(", \"" + key + "\": " + value)));
  }
  Settings settings;
  set_setting(settings, "seeds", "0..2,9");
  CHECK(settings.seeds == std::vector<std::uint64_t>{0, 1, 2, 9});
  set_setting(settings, "budget", "none");
  CHECK(settings.budget_s == std::numeric_limits<double>::infinity());
  for (const auto& [key, text, part] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"groups", "0", "'0' is not a whole number from 1 to 2147483647"},
           {"threads", "1025", "0 to 1024"},
           {"objective", "speed", "latency"},
           {"seeds", "3..1", "'3..1' is no list"},
           {"budget", "5", "30s"},
           {"within", "5", "write 3% or 0.03"},
           {"policies", ",", "at least one"},
           {"dims", "a=1", "no form of one text"},
           {"polcy", "x", "did you mean 'policy'"}}) {
    expect_error(ErrorCode::invalid_argument, {part},
                 [&, &key = key, &text = text] { set_setting(settings, key, text); });
  }
}

TEST_CASE("what is wrong is said with file, line and key") {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"\"polcy\": \"heft\"", {"s.json: line 3: at polcy: unknown key 'polcy'; did you mean"}},
      {"\"seed\": 1, \"seed\": 2", {"s.json: line 3: the key 'seed' appears twice"}},
      {"\"cluster\": [\"k80x4\"]", {"s.json: line 3: at cluster: expected a text"}},
      {"\"policies\": \"heft,topo\"", {"s.json: line 3: at policies: expected a list"}},
      {"\"groups\": 0", {"s.json: line 3: at groups: expected a whole number from 1 to"}},
      {"\"threads\": 4096", {"s.json: line 3: at threads: ", "from 0 to 1024"}},
      {"\"objective\": \"speed\"", {"s.json: line 3: at objective: ", "'speed'", "latency"}},
      {"\"evaluator\": \"guess\"", {"s.json: line 3: at evaluator: ", "simulate"}},
      {"\"budget\": \"soon\"", {"s.json: line 3: at budget: ", "30s"}},
      {"\"seeds\": \"all\"", {"s.json: line 3: at seeds: 'all' is no list"}},
      {"\"options\": {\n\"a\": []}", {"s.json: line 4: at options.a: "}},
      {"\"constraints\": [{\"pin\": \"a\", \"to\": \"b\"},\n{\"pin\": \"c\", \"on\": \"d\"}]",
       {"s.json: line 4: at constraints[2]: 'on' does not belong to pin"}},
      {"\"dims\": {\"batch\":\n 1.5}", {"s.json: line 3: at dims.batch: "}},
      {"\"cluster\": {\"name\": \"x\"}", {"s.json: line 3: at cluster: "}},
  };
  for (const auto& [line, parts] : cases) {
    CAPTURE(line);
    const std::string text = "{\n\"format\": \"berth.settings/1\",\n" + line + "\n}";
    for (const std::string& part : parts) {
      expect_error(ErrorCode::invalid_file, {part},
                   [&] { static_cast<void>(parse_settings(text, "s.json")); });
    }
  }
}

TEST_CASE("the stronger wins key by key; options and plurals follow their own rules") {
  Settings settings = parsed(
      ", \"policy\": \"heft\", \"options\": {\"a\": 1}, \"seeds\": [1, 2], \"cluster\": \"k80x2\","
      "\"dims\": {\"x\": 1}, \"constraints\": [{\"pin\": \"a\", \"to\": \"gpu\"}]");
  Settings stronger;
  stronger.policy = "topo";
  stronger.seed = 3;
  stronger.clusters = {"k80x4", "v100x8"};
  stronger.load.dims["y"] = 2;
  stronger.constraints = parse_constraints(R"([{"forbid": "b", "on": "gpu"}])", "the program");
  settings.add(stronger);
  CHECK(settings.policy == "topo");
  CHECK(settings.options.empty());
  CHECK(settings.seed == 3);
  CHECK_FALSE(settings.seeds);
  CHECK_FALSE(settings.cluster);
  CHECK(settings.load.dims.size() == 2);
  CHECK(settings.constraints.size() == 2);
  CHECK(settings.place("policy").empty());
}

TEST_CASE("sizes of a weaker source are ranked behind those of a stronger one") {
  Settings stored = parsed(R"(, "dims": {"batch": 2, "seq": 5}, "shapes": {"x": [2, 3]})");
  Settings file = parsed(R"(, "batch": 4, "dims": {"seq": 6})");
  Settings given;
  given.seed = 3;  // no size: nothing gives way to it
  file.add(given);
  CHECK(file.load.weakness.empty());
  given.load.shapes["x"] = {8, 3};
  stored.add(file);
  stored.add(given);
  CHECK(stored.load.dims ==
        std::map<std::string, std::int64_t>{{"*", 4}, {"batch", 2}, {"seq", 6}});
  const std::map<std::string, int, std::less<>> weakness = {
      {"dims.batch", 2}, {"dims.*", 1}, {"dims.seq", 1}};
  CHECK(stored.load.weakness == weakness);
}

TEST_CASE("files that are read are those that no preset is, with options that may name one") {
  const Settings settings = parsed(
      R"(, "cluster": "k80x4", "costs": "mine", "policies": ["heft", "./own.lua:x=", "placeto:weights=w"], "start": "p",
         "op_rules": "rules", "output": "out.json", "options": {"weights": "w", "moves": 3})");
  std::vector<std::string> files;
  for (const NamedFile& file : files_read(settings)) files.push_back(file.key + "=" + file.path);
  CHECK(files == std::vector<std::string>{"costs=mine", "policies=./own.lua", "policies=w",
                                          "start=p", "op_rules=rules", "options.weights=w"});
}

TEST_CASE("untrusted settings choose, but open and write nothing") {
  CHECK(parsed(R"(, "cluster": "k80x4", "policy": "heft", "options": {"a": 1, "d": "gpu:0"},
                "seed": 1, "fallbacks": ["topo"], "constraints": [{"pin": "a", "to": "gpu:0"}])",
               SettingsTrust::untrusted)
            .policy == "heft");
  for (const std::string keys : {R"("cluster": "x.json")",
                                 R"("cluster": "/x")",
                                 R"("costs": "c.json")",
                                 R"("policy": "./evil.lua")",
                                 R"("policies": ["heft", "evil.lua"])",
                                 R"("policies": ["placeto:weights=w"])",
                                 R"("policies": ["auto:from=evil.lua"])",
                                 R"("fallbacks": ["evil.lua"])",
                                 R"("clusters": ["a/b"])",
                                 R"("plugin_folders": ["x"])",
                                 R"("plugins": ["policy_*"])",
                                 R"("output": "p")",
                                 R"("annotate": "p")",
                                 R"("trace": "p")",
                                 R"("svg": "p")",
                                 R"("certificate": "p")",
                                 R"("report": "p")",
                                 R"("log": "p")",
                                 R"("csv": "p")",
                                 R"("write": ["csv=p"])",
                                 R"("options": {"weights": "w"})",
                                 R"("options": {"from": "evil.lua"})"}) {
    CAPTURE(keys);
    CHECK_NOTHROW(static_cast<void>(parsed(", " + keys)));
    expect_error(ErrorCode::invalid_file, {"s.json: at ", "untrusted settings may name presets"},
                 [&] { static_cast<void>(parsed(", " + keys, SettingsTrust::untrusted)); });
  }
}

TEST_CASE("a key that a way in does not serve is an error there, with its place") {
  constexpr std::string_view kUnserved[] = {"evaluator", "output"};
  CHECK_NOTHROW(refuse_unserved(parsed(", \"evaluator\": \"simulate\""), "this", kUnserved));
  expect_error(ErrorCode::unsupported, {"s.json: at output: this does not serve"},
               [&] { refuse_unserved(parsed(", \"output\": \"p.json\""), "this", kUnserved); });
  expect_error(ErrorCode::unsupported, {"s.json: at evaluator: this does not serve"},
               [&] { refuse_unserved(parsed(", \"evaluator\": \"measure\""), "this", kUnserved); });
}
