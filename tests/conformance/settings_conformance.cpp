// The same settings through every way in: the command, C in this process, a Lua script, and the MLIR
// pass where it was built. What they find, and what they say of wrong settings, is the same.
#include <berth/c.h>
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "../command/berth.h"

using namespace berth::test;

namespace {

/// What a way in answers.
struct Answer {
  std::string error;  ///< without what the way in puts before it; empty = none
  std::vector<std::string> devices;
  double bound_us = 0;
  std::string end;
  std::vector<std::string> notes;
  std::string plan;  ///< for a tool
};

const std::string kModel = "diamond.graph.json";

std::string text_of(berth_text text) {
  return {text.data == nullptr ? "" : text.data, text.size};
}
berth_text view(const std::string& text) {
  return {text.data(), text.size()};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Answer by_command(const Workplace& work, const std::string& settings,
                  const std::string& model = kModel) {
  const ProcessResult ran = work.berth({"place", (work / model).string(), "--config", settings,
                                        "--json", "-o", (work / "by_command.json").string()});
  Answer answer;
  if (ran.status != 0) {
    const std::string mark = "berth: error: ";
    const std::size_t at = ran.err.find(mark);
    answer.error = at == std::string::npos ? "?" + ran.err : ran.err.substr(at + mark.size());
    if (const std::size_t help = answer.error.find("; see `berth"); help != std::string::npos) {
      answer.error.resize(help);
    }
    while (answer.error.ends_with('\n')) answer.error.pop_back();
    return answer;
  }
  const Json result = Json::parse(ran.out);
  const Json placed = Json::parse(file_text(work / "by_command.json"));
  for (const char* op : {"a0", "a1", "a2", "b0", "b1", "b2", "end"}) {
    if (model != kModel) break;
    answer.devices.push_back(placed["assignment"][op]);
  }
  answer.bound_us = result.value("lower_bound_us", 0.0);
  answer.end = result["ended"];
  answer.notes = result["notes"].get<std::vector<std::string>>();
  answer.plan = result.value("plan", "");
  return answer;
}

/// Releases what a test holds of C.
class Held {
 public:
  ~Held() {
    for (auto it = objects_.rbegin(); it != objects_.rend(); ++it) berth_release(*it);
  }
  void keep(void* object) { objects_.push_back(object); }

 private:
  std::vector<void*> objects_;
};

Answer by_c(const Workplace& work, const std::string& settings, const std::string& file = kModel) {
  Answer answer;
  Held held;
  const auto failed = [&](berth_status status) {
    if (status == BERTH_OK) return false;
    answer.error = text_of(berth_message());
    return true;
  };
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  options.settings = view(settings);
  berth_engine* engine = nullptr;
  berth_graph* graph = nullptr;
  berth_cluster* cluster = nullptr;
  berth_problem* problem = nullptr;
  berth_result* result = nullptr;
  if (failed(berth_engine_new(&options, &engine))) return answer;
  held.keep(engine);
  const std::string model = (work / file).string();
  if (failed(berth_graph_load(engine, view(model), &graph))) return answer;
  held.keep(graph);
  if (failed(berth_cluster_new(engine, {}, &cluster))) return answer;
  held.keep(cluster);
  if (failed(berth_problem_new(engine, graph, cluster, nullptr, &problem))) return answer;
  held.keep(problem);
  if (failed(berth_place(engine, problem, nullptr, &result))) return answer;
  held.keep(result);
  std::size_t count = 0;
  const std::int32_t* const devices = berth_result_devices(result, &count);
  for (std::size_t op = 0; op < count; ++op) {
    berth_text name{};
    REQUIRE(berth_cluster_device(cluster, devices[op], &name, nullptr) == BERTH_OK);
    answer.devices.push_back(text_of(name));
  }
  berth_summary summary = BERTH_SUMMARY_INIT;
  REQUIRE(berth_result_summary(result, &summary) == BERTH_OK);
  answer.bound_us = summary.bound_us;
  const char* const ends[] = {"done", "proven", "budget", "cancelled", "gave up"};
  answer.end = ends[summary.end];
  berth_text notes{};
  REQUIRE(berth_result_text(result, BERTH_TEXT_NOTES, &notes) == BERTH_OK);
  answer.notes = lines_of(text_of(notes));
  berth_text plan{};
  REQUIRE(berth_result_text(result, BERTH_TEXT_PLAN, &plan) == BERTH_OK);
  answer.plan = text_of(plan);
  return answer;
}

/// JSON as a Lua table.
std::string lua_literal(const Json& json) {
  if (json.is_object() || json.is_array()) {
    std::string text = "{";
    for (const auto& [key, value] : json.items()) {
      if (json.is_object()) text += "[" + Json(key).dump() + "] = ";
      text += lua_literal(value) + ", ";
    }
    return text + "}";
  }
  return json.dump();
}

/// Empty error and devices where this build has no Lua.
Answer by_lua(const Workplace& work, const std::string& settings,
              const std::string& model = kModel) {
  Json table = Json::parse(file_text(settings));
  table.erase("format");
  work.write_text(
      "place.lua",
      "local berth = require 'berth'\n"
      "local ok, placement, found = pcall(berth.place, '" +
          (work / model).string() + "', " + lua_literal(table) +
          ")\n"
          "if not ok then print('error ' .. placement) return end\n"
          "for _, device in ipairs(placement) do print('device ' .. device) end\n"
          "print('bound ' .. string.format('%.17g', found.bound_us or 0))\n"
          "print('end ' .. found.ended)\n"
          "for _, note in ipairs(found.notes) do print('note ' .. note) end\n"
          "for line in (found.plan or ''):gmatch('[^\\n]+') do print('plan ' .. line) end\n");
  const ProcessResult ran = work.berth({"run", (work / "place.lua").string()});
  Answer answer;
  if (ran.err.find("built without Lua") != std::string::npos) return answer;
  CHECK_MESSAGE(ran.status == 0, ran.err);
  const char* const names[] = {"gpu:0", "gpu:1", "cpu:0"};
  for (const std::string& line : lines_of(ran.out)) {
    const std::size_t blank = line.find(' ');
    const std::string what = line.substr(0, blank), value = line.substr(blank + 1);
    if (what == "error") answer.error = value;
    if (what == "device") answer.devices.push_back(names[std::stoi(value) - 1]);
    if (what == "bound") answer.bound_us = std::stod(value);
    if (what == "end") answer.end = value;
    if (what == "note") answer.notes.push_back(value);
    if (what == "plan") answer.plan += value + "\n";
  }
  return answer;
}

#ifdef BERTH_MLIR_OPT
/// Of a module that the pass places by these settings: its errors, and its notes.
Answer by_mlir(const Workplace& work, const std::string& settings) {
  Answer answer;
  work.write_text("two.mlir",
                  "func.func public @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {\n"
                  "  %a = math.exp %x : tensor<8x8xf32>\n"
                  "  %b = math.tanh %a : tensor<8x8xf32>\n"
                  "  return %b : tensor<8x8xf32>\n}\n");
  const ProcessResult ran =
      run_process({BERTH_MLIR_OPT, std::string("--load-pass-plugin=") + BERTH_MLIR_PLUGIN,
                   "--pass-pipeline=builtin.module(berth-place{settings=" + settings + "})",
                   (work / "two.mlir").string()},
                  work.settings);
  const std::string mark = "error: berth-place: ";
  if (const std::size_t at = ran.err.find(mark); at != std::string::npos) {
    answer.error = ran.err.substr(at + mark.size());
    answer.error.resize(answer.error.find('\n'));
  }
  CHECK((ran.status == 0) == answer.error.empty());
  for (const std::string& line : lines_of(ran.err)) {
    const std::string note = "remark: berth-place: note: ";
    if (const std::size_t at = line.find(note); at != std::string::npos) {
      answer.notes.push_back(line.substr(at + note.size()));
    }
  }
  return answer;
}
#endif

std::string file_of(const Workplace& work, const std::string& keys) {
  const std::string path = (work / "settings.json").string();
  work.write_text("settings.json", "{\n\"format\": \"berth.settings/1\",\n" + keys + "\n}\n");
  return path;
}

/// What an error says from the key on: files have lines, tables of Lua have none.
std::string from_key(const std::string& error) {
  const std::size_t at = error.find("at ");
  return at == std::string::npos ? error : error.substr(at);
}

/// The machine of most rows, described in place.
std::string machine() {
  Json cluster = pair_cluster();
  return "\"cluster\": " + cluster.dump();
}

void check_same(const Answer& one, const Answer& other) {
  CHECK(one.error == other.error);
  CHECK(one.devices == other.devices);
  CHECK(one.bound_us == other.bound_us);
  CHECK(one.end == other.end);
  CHECK(one.notes == other.notes);
  CHECK(lines_of(one.plan) == lines_of(other.plan));
}

}  // namespace

TEST_CASE("settings mean the same from every way in") {
  // A row per key that a single search has, with a value that changes what is found or said.
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"policy", R"("policy": "heft")"},
      {"policy, by default", ""},
      {"options", R"("policy": "single", "options": {"device": "gpu:1"})"},
      {"fallbacks", R"("policy": "absent", "fallbacks": ["missing", "heft"])"},
      {"seed", R"("policy": "random", "options": {"samples": 3}, "seed": 11)"},
      {"threads", R"("policy": "topo", "threads": 1)"},
      {"budget", R"("policy": "topo", "budget": "1h")"},
      {"budget, none", R"("policy": "topo", "budget": "none")"},
      {"moves", R"("policy": "mcmc", "moves": 50, "seed": 3)"},
      {"bound none", R"("policy": "heft", "bound": "none")"},
      {"bound quick", R"("policy": "heft", "bound": "quick")"},
      {"bound strong", R"("policy": "heft", "bound": "strong")"},
      {"objective", R"("policy": "topo", "objective": "throughput")"},
      {"semantics", R"("policy": "topo", "semantics": "placeto")"},
      {"costs", R"("policy": "topo", "costs": "stated")"},
      {"tf32", R"("policy": "topo", "tf32": "none")"},
      {"groups", R"("policy": "topo", "groups": 2)"},
      {"grouping", R"("policy": "topo", "grouping": "placeto", "groups": 3)"},
      {"inputs", R"("policy": "topo", "inputs": "any")"},
      {"in_flight", R"("policy": "topo", "objective": "throughput", "in_flight": 4)"},
      {"fold", R"("policy": "topo", "fold": false)"},
      {"states", R"("policy": "topo", "states": ["none"])"},
      {"constraints", R"("policy": "single", "constraints": [{"pin": "end", "to": "gpu:1"}])"},
      {"memory margin",
       R"("policy": "single", "constraints": [{"memory_margin": "95%", "on": "gpu"}])"},
      {"fetches", R"("policy": "single")"},
      {"evaluator", R"("policy": "heft", "evaluator": "simulate")"},
      {"soft", R"("policy": "single", "soft": true, "constraints": [{"pin": "a0", "to": "gpu:1"}, )"
               R"({"pin": "a0", "to": "gpu:0"}])"},
      {"tool", R"("policy": "topo", "tool": "onnxruntime")"},
      {"tool, any device", R"("policy": "topo", "tool": "openvino", "within": 0)"},
      {"within", R"("policy": "random", "seed": 5, "within": "10000%")"},
      {"start", R"("policy": "lookahead", "start": "split.json")"},
      {"plugins", R"("policy": "heft", "plugins": ["policy_heft"])"},
  };
  for (const auto& [what, keys] : rows) {
    CAPTURE(what);
    const Workplace work;
    const std::string settings = file_of(work, machine() + (keys.empty() ? "" : ",\n" + keys));
    const Answer command = by_command(work, settings);
    CHECK(command.error.empty());
    CHECK(command.devices.size() == 7);
    check_same(by_c(work, settings), command);
    if (what == "plugins") continue;  // a script's engine is there already: see below
    CHECK(command.plan.empty() != what.starts_with("tool"));
    const Answer lua = by_lua(work, settings);
    if (lua.devices.empty() && lua.error.empty()) continue;
    if (what == "soft") {  // a table has no lines to name
      CHECK(lua.devices == command.devices);
      CHECK(lua.notes.size() == command.notes.size());
      continue;
    }
    check_same(lua, command);
  }
}

TEST_CASE("assumed dimensions are noted from every way in, and given ones are taken from all") {
#ifdef BERTH_TEST_ONNX
  const std::string model = BERTH_TEST_ONNX;
  for (const std::string keys : {"", R"(, "dims": {"batch": 4})", R"(, "batch": 4)"}) {
    CAPTURE(keys);
    const Workplace work;
    const std::string settings =
        file_of(work, R"("cluster": "k80x2", "policy": "single", "bound": "none")" + keys);
    const Answer command = by_command(work, settings, model);
    CHECK(command.error.empty());
    const bool assumed = !command.notes.empty() &&
                         command.notes[0].starts_with("dimensions not given are taken as 1");
    CHECK(assumed == keys.empty());
    CHECK(by_c(work, settings, model).notes == command.notes);
    const Answer lua = by_lua(work, settings, model);
    if (!lua.end.empty()) CHECK(lua.notes == command.notes);
  }
#else
  MESSAGE("skipped: the ONNX frontend was not built");
#endif
}

TEST_CASE("wrong settings are the same error from every way in") {
  struct Row {
    std::string keys;
    std::string error;
    bool lua = true;  ///< a script's engine is there already
  };
  const std::vector<Row> rows = {
      {R"("polcy": "heft")", "at polcy: unknown key 'polcy'; did you mean 'policy'?"},
      {R"("cluster": ["k80x4"])", "at cluster: expected a text in quotes"},
      {R"("fallbacks": "heft,topo")", "at fallbacks: expected a list [ ... ]"},
      {R"("groups": 0)", "at groups: expected a whole number from 1 to 2147483647, found 0"},
      {R"("objective": "speed")", "at objective: "},
      {R"("budget": "soon")", "at budget: 'soon' is not a duration"},
      {R"("bound": "some")", "at bound: no effort for a bound 'some'"},
      {R"("options": {"a": [1]})", "at options.a: expected a text"},
      {R"("constraints": [{"pin": "a"}, {"pin": "b", "on": "c"}])", "at constraints[2]: 'on'"},
      {R"("cluster": "k80y5")", "at cluster: "},
      {R"("cluster": "none/of.json")", "at cluster: "},
      {R"("cluster": "k80x4", "policy": "heff")", "no policy 'heff'; did you mean 'heft'"},
      {R"("cluster": "k80x4", "policy": "heft", "options": {"nod": 1})", "nod"},
      {R"("cluster": "k80x4", "policy": "heft", "plugins": ["policy_topo"])",
       "Allowed are only: policy_topo", /*lua=*/false},
      {R"("tool": 3)", "at tool: expected a text in quotes"},
      {R"("cluster": "k80x4", "tool": "llamacpp")",
       "at tool: no tool is called 'llamacpp'; did you mean 'llama.cpp'?"},
      {R"("within": "much")", "at within: 'much' is not a share; write 3% or 0.03"},
      {R"("soft": "yes")", "at soft: "},
      {R"("plugins": ["heft"])", "at plugins: 'heft' names no plugin", /*lua=*/false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.keys);
    const Workplace work;
    const std::string settings = file_of(work, row.keys);
    const Answer command = by_command(work, settings);
    CHECK_MESSAGE(command.error.find(row.error) != std::string::npos, command.error);
    const Answer c = by_c(work, settings);
    CHECK(c.error == command.error);
    const Answer lua = by_lua(work, settings);
    // Beside a table there is no file: what is relative to it is relative to here.
    const bool file = row.error == "at cluster: " && row.keys.find('/') != std::string::npos;
    if (!row.lua) {
      CHECK((lua.error.empty() || lua.error.find("does not serve") != std::string::npos));
    } else if (!lua.error.empty() && !file) {
      CHECK_MESSAGE(lua.error.find(from_key(command.error)) != std::string::npos, lua.error,
                    " lacks ", from_key(command.error));
    }
#ifdef BERTH_MLIR_OPT
    CHECK(by_mlir(work, settings).error == command.error);
#endif
  }
}

TEST_CASE("a key that a way in does not serve is an error there") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"evaluator", R"("measure")"},  {"prove", "true"},         {"policies", R"(["heft"])"},
      {"clusters", R"(["k80x2"])"},   {"seeds", "[0, 1]"},       {"output", R"("p.json")"},
      {"annotate", R"("p.onnx")"},    {"trace", R"("t.json")"},  {"svg", R"("t.svg")"},
      {"certificate", R"("c.json")"}, {"report", R"("r.html")"}, {"write", R"(["csv=p.csv"])"},
      {"csv", R"("t.csv")"},          {"log", R"("l.jsonl")"},   {"replicate", R"("auto")"},
  };
  for (const auto& [key, value] : rows) {
    CAPTURE(key);
    const Workplace work;
    const std::string settings =
        file_of(work, "\"cluster\": \"k80x4\",\n\"" + key + "\": " + value);
    const std::string refused =
        "at " + key + ": the C API does not serve the setting '" + key + "'";
    CHECK(by_c(work, settings).error.find("settings.json: line 4: " + refused) !=
          std::string::npos);
    const Answer lua = by_lua(work, settings);
    if (!lua.error.empty() && key != "evaluator" && key != "replicate") {
      CHECK_MESSAGE(lua.error.find("berth.place does not serve the setting '" + key + "'") !=
                        std::string::npos,
                    lua.error);
    }
#ifdef BERTH_MLIR_OPT
    CHECK(by_mlir(work, settings).error.find(refused) != std::string::npos);
#endif
  }
}

TEST_CASE("the pass tells the notes of its result") {
#ifdef BERTH_MLIR_OPT
  const Workplace work;
  const std::string settings =
      file_of(work, "\"cluster\": \"k80x2\", \"policy\": \"absent\", \"fallbacks\": [\"single\"]");
  const Answer answer = by_mlir(work, settings);
  REQUIRE(!answer.notes.empty());
  CHECK(answer.notes[0].find("'single' was asked instead") != std::string::npos);
#else
  MESSAGE("skipped: the MLIR pass was not built, or mlir-opt-19 is missing");
#endif
}

TEST_CASE("BERTH_CONFIG reaches every subcommand: a broken one, and its list of plugins") {
  Workplace work;
  const std::vector<std::vector<std::string>> commands = {
      {"place", kModel, "--cluster", "k80x4", "--policy", "heft"},
      {"compare", kModel, "--cluster", "k80x4", "--policies", "heft"},
      {"report", kModel, "--cluster", "k80x4", "--policy", "heft", "-o", "r.html"},
      {"explain", kModel, "--cluster", "k80x4", "--policy", "heft"},
      {"simulate", kModel, "--cluster", "pair.cluster.json", "--placement", "split.json"},
      {"inspect", kModel},
      {"measure", "m.onnx", "--backend", "cpu", "--placement", "split.json"},
      {"verify", "m.onnx", "--backend", "cpu", "--placement", "split.json"},
      {"profile", "m.onnx", "--backend", "cpu"},
      {"devices", "--backend", "cpu"},
      {"plugins"},
      {"config"},
      {"run", "s.lua"},
      {"study", "ls", "s.db"},
  };
  work.settings.environment = {"BERTH_CONFIG={\"format\": \"berth.settings/1\", \"polcy\": 1}"};
  for (const std::vector<std::string>& command : commands) {
    CAPTURE(command.front());
    const ProcessResult ran = work.berth(command);
    CHECK(ran.status == 1);
    CHECK_MESSAGE(ran.err.find("berth: error: BERTH_CONFIG: the settings: at polcy: unknown key "
                               "'polcy'; did you mean 'policy'?") == 0,
                  ran.err);
  }
  work.settings.environment = {
      "BERTH_CONFIG={\"format\": \"berth.settings/1\", \"plugins\": [\"policy_topo\"]}"};
  work.write_text("evil.lua", "io.open('ran', 'w'):close()\n");
  work.write_text("s.lua", "print(pcall(require 'berth'.policy, ...))\n");
  const std::string allowed = "Allowed are only: policy_topo";
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(commands[i].front());
    const ProcessResult ran = work.berth(commands[i]);
    CHECK_MESSAGE(ran.err.find(allowed) != std::string::npos, ran.err);
  }
  CHECK(work.berth(commands[9]).err.find(allowed) != std::string::npos);
  const Json plugins = work.berth_json({"plugins", "--json"})["plugins"];
  REQUIRE(plugins.size() == 1);
  CHECK(plugins[0]["name"] == "topo");
  const ProcessResult script = work.berth({"run", "s.lua", "heft"});
  if (script.err.find("built without Lua") != std::string::npos) return;
  CHECK(script.out.find(allowed) != std::string::npos);
  CHECK(work.berth({"run", "s.lua", "./evil.lua"}).out.find("may not be opened") !=
        std::string::npos);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"place", kModel, "--cluster", "k80x4", "--policy", "./evil.lua"},
        {"plugins", "./evil.lua"}}) {
    const ProcessResult ran = work.berth(command);
    CHECK(ran.status == 1);
    CHECK_MESSAGE(ran.err.find("'./evil.lua' may not be opened") != std::string::npos, ran.err);
  }
  CHECK_FALSE(std::filesystem::exists(work / "ran"));
}
