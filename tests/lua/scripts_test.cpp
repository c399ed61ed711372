// Runs every script of tests/lua/scripts; each uses tests/lua/support/check.lua.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "support/host_fixture.h"
#include "support/lines.h"
#include "support/paths.h"

/// fontconfig, which draws the letters of pictures, keeps its fonts; ATen keeps its allocator, and both
/// are closed before the end.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfontconfig\nleak:install_allocator\n";
}

namespace berth {
namespace {

/// Files of `folder` whose names start so.
int file_count(const std::filesystem::path& folder, const std::string& start) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    count += entry.path().filename().string().starts_with(start) ? 1 : 0;
  }
  return count;
}

/// From now on, output() returns what scripts have written to standard output since its last call.
void keep_output(test::HostFixture& fixture) {
  fixture.run(R"(
    local texts = {}
    io.write = function(...)
      for _, text in ipairs { ... } do texts[#texts + 1] = tostring(text) end
    end
    output = function()
      local text = table.concat(texts)
      texts = {}
      return text
    end)");
}

/// The words of a line, and `more` behind them.
std::vector<std::string> words(const std::string& line, std::vector<std::string> more = {}) {
  std::istringstream stream(line);
  const std::istream_iterator<std::string> begin(stream), end;
  more.insert(more.begin(), begin, end);
  return more;
}

/// A problem as experiments take it.
std::string branches_on_two_gpus() {
  return test::source_path("examples/lua/branches.graph.json").string() + ":" +
         test::source_path("examples/lua/two_gpus.cluster.json").string();
}

TEST_CASE("scripts of tests/lua/scripts") {
  std::vector<std::filesystem::path> scripts;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::source_path("tests/lua/scripts"))) {
    scripts.push_back(entry.path());
  }
  std::sort(scripts.begin(), scripts.end());
  REQUIRE(!scripts.empty());
  for (const auto& script : scripts) {
    SUBCASE(script.filename().c_str()) {
      test::HostFixture fixture;
      fixture.run("package.path = package.path .. ';" +
                  test::source_path("tests/lua/support").string() + "/?.lua'");
      try {
        fixture.host.run_script(script, {fixture.folder.path().string()});
      } catch (const Error& error) {
        FAIL_CHECK(std::string(error.what()));
      }
      fixture.host.collect_garbage();
      CHECK(fixture.host.live_objects() == 0);
    }
  }
}

TEST_CASE_FIXTURE(test::HostFixture, "the examples run") {
  run("print, io.write = function() end, function() end");  // what they say is for people
  const auto graph = test::source_path("examples/lua/branches.graph.json").string();
  for (const char* script : {"examples/lua/hello.lua", "examples/lua/compare_with_greedy.lua"}) {
    CAPTURE(std::string(script));
    CHECK_NOTHROW(host.run_script(test::source_path(script), {graph}));
  }
}

TEST_CASE_FIXTURE(test::HostFixture, "decoders on unequal GPUs, with plans and a page") {
  run("io.write = function() end");
  const std::string page = (folder.path() / "page.html").string();
  CHECK_NOTHROW(host.run_script(
      test::source_path("scripts/experiments/decoders.lua"),
      {"--models", "7b:4.5", "--tokens", "1", "--policy", "single", "--plans",
       folder.path().string(), "--report", page, "--figures", folder.path().string()}));
  CHECK(std::filesystem::exists(folder.path() / "decoders_token.svg"));
  CHECK(std::filesystem::exists(page));
  CHECK(std::filesystem::exists(folder.path() / "7b_4.5_bits.device_map.json"));
}

TEST_CASE_FIXTURE(test::HostFixture,
                  "the constraint solver's policy places, or says what it lacks") {
  run(R"(
    local berth = require "berth"
    local problem = berth.problem { graph = berth.load(arg[1]), cluster = arg[2] }
    berth.register_policy { name = "heft", place = function(p) return p:single().placement end }
    local lost = berth.policy(arg[3], { python = "/no/such/python" })
    local ok, message = pcall(lost.place, lost, problem)
    assert(not ok and message:find("pip install ortools", 1, true), message)
    local throughput = berth.problem { graph = problem:graph(), cluster = arg[2],
                                       objective = "throughput" }
    ok, message = pcall(lost.place, lost, throughput)
    assert(not ok and message:find("latency", 1, true), message)
    if os.execute "python3 -c 'import ortools' 2>/dev/null" ~= 0 then return end
    local placement, outcome = berth.policy(arg[3], { seconds = 5 }):place(problem)
    assert(outcome.feasible)
    assert(outcome.bound_us <= outcome.objective_us * (1 + 1e-9))
    assert(outcome.bound_us >= problem:bound()))",
      {test::source_path("examples/lua/branches.graph.json").string(),
       test::source_path("examples/lua/two_gpus.cluster.json").string(),
       test::source_path("scripts/policies/cp_sat.lua").string()});
}

TEST_CASE_FIXTURE(test::HostFixture,
                  "the constraint solver is told what is shared and apart, and needs no start") {
  run(R"(
    local berth, files = require "berth", require "berth.files"
    local builder = berth.graph_builder "tied"
    local weight, first, last = builder:add_op("w", "Const"), builder:add_op("first", "X"), builder:add_op("last", "X")
    for _, op in ipairs { weight, first, last } do builder:set_cost(op, 1) end
    builder:set_pure(weight)
    local tensor = builder:add_output(weight, { bytes = 60000 })
    builder:add_input(first, tensor)
    builder:add_input(last, builder:add_output(first, { bytes = 8 }))
    builder:add_input(last, tensor)
    builder:add_output(last, { bytes = 8 })
    local graph = builder:build()
    assert(#graph:shared_parameters() == 1 and graph:shared_parameters()[1].bytes == 60000)
    assert(#graph:shared_parameters()[1].consumers == 2)
    local problem = berth.problem { graph = graph, constraints = { { separate = { "first", "last" } } },
      cluster = berth.cluster { name = "two", devices = { { name = "a", kind = "k" }, { name = "b", kind = "k" } },
        links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e9 } } } }
    berth.register_policy { name = "heft", place = function() error "memory is short" end }
    -- A solver that keeps what it is told and knows one placement, or none.
    local solver, told = arg[2] .. "/solver", arg[2] .. "/told"
    local function solve(answer)
      files.write(solver, "#!/bin/sh\ncp \"$2\" " .. told .. "\nprintf '" .. answer .. "' > \"$3\"\n")
      os.execute("chmod +x " .. solver)
      return pcall(function() return (berth.policy(arg[1], { python = solver }):place(problem)) end)
    end
    local ok, placement = solve "status OPTIMAL\\nbound_us 0\\ndevices 1 1 2\\n"
    assert(ok, placement)
    assert(placement[2] == 1 and placement[3] == 2)
    local lines = {}
    for line in io.lines(told) do
      local what = line:match "^%a+ .*"
      if what then lines[what] = true end
    end
    local groups = problem:groups()
    local pair = groups:of(first) .. " " .. groups:of(last)
    assert(lines["shared 60000 " .. pair] and lines["apart " .. pair])
    local message
    ok, message = solve "status INFEASIBLE\\nbound_us 0\\n"
    assert(not ok and message:find("INFEASIBLE", 1, true) and message:find("memory is short", 1, true), message))",
      {test::source_path("scripts/policies/cp_sat.lua").string(), folder.path().string()});
}

TEST_CASE_FIXTURE(test::HostFixture, "a bound that a Lua policy proves counts, and is checked") {
  run(R"(
    local berth = require "berth"
    local problem = berth.problem { graph = berth.load(arg[1]), cluster = arg[2] }
    local own_us
    berth.register_policy { name = "sure", place = function(p, _, context)
      local single = p:single()
      own_us = own_us or single.evaluation.objective_us
      context:prove(own_us / 2, "halves")
      context:prove(own_us, "a proof")
      assert(not pcall(context.prove, context, math.huge, "too much"))
      return single.placement
    end }
    local _, outcome = berth.policy "sure":place(problem)
    assert(outcome.bound_us == own_us and outcome.bound_source == "a proof")
    assert(outcome.ended == "proven")
    own_us = 2 * own_us
    local policy = berth.policy "sure"
    local ok, message = pcall(policy.place, policy, problem)
    assert(not ok and message:find("claims", 1, true), message))",
      {test::source_path("examples/lua/branches.graph.json").string(),
       test::source_path("examples/lua/two_gpus.cluster.json").string()});
}

TEST_CASE_FIXTURE(test::HostFixture, "the greedy policy keeps its promises") {
  run(R"(
    local berth = require "berth"
    local problem = berth.problem { graph = berth.load(arg[1]), cluster = arg[2] }
    local policy = berth.policy(arg[3])
    local placement, outcome = policy:place(problem, { seed = 7 })
    assert(outcome.feasible)
    -- Two branches that cost more than moving their input: one device each.
    assert(outcome.objective_us < outcome.single.evaluation.objective_us)
    local again = policy:place(problem, { seed = 7 })
    for op = 1, #placement do assert(placement[op] == again[op]) end

    local small = berth.problem { graph = problem:graph(), cluster = berth.cluster { name = "small",
      devices = { { name = "d", kind = "gpu", memory_bytes = 10e6 } } } }
    local ok, message = pcall(policy.place, policy, small)
    assert(not ok and message:find "no device has room", message))",
      {test::source_path("examples/lua/branches.graph.json").string(),
       test::source_path("examples/lua/two_gpus.cluster.json").string(),
       test::source_path("examples/lua/greedy.lua").string()});
}

TEST_CASE_FIXTURE(test::HostFixture, "the baselines of the papers, on their smallest graph") {
  run(R"(
    local lines = {}
    print = function(text) lines[#lines + 1] = tostring(text) end
    io.write = print
    output = function() return table.concat(lines, "\n") end)");
  const auto script = test::source_path("scripts/experiments/baselines.lua");
  const auto graph = test::source_path("examples/models/tf/nmt_tiny.pb").string();
  host.run_script(script, {graph, "--figures", folder.path().string()});
  CHECK(std::filesystem::exists(folder.path() / "baselines.svg"));
  host.run_script(script, {graph, "--gpus", "2", "--grouping", "icml2017", "--format", "markdown"});
  run(R"(
    local text = output()
    assert(text:find("CPU +1 GPU +Scotch +MinCut +Expert"), text)
    assert(text:find("nmt_tiny%S* +2 +%d+%.%d%d +%d+%.%d%d"), text)
    assert(text:find("| nmt_tiny%S* | +2 |"), text)
    assert(text:find("4 recurrent layers, one per device", 1, true), text))");
  const struct {
    std::vector<std::string> arguments;
    std::string_view message;
  } cases[] = {{{"--gpus", "3"}, "--gpus: 2, 4 or both, got '3'"},
               {{"--seed", "x"}, "--seed: number expected, got 'x'"},
               {{"--format", "csv"}, "--format: text or markdown, got 'csv'"},
               {{"--cluster", "k80x4"}, "unknown option '--cluster'"},
               {{"--gpus"}, "--gpus: a value is missing"}};
  for (const auto& bad : cases) {
    test::expect_error(ErrorCode::invalid_argument, {bad.message, "usage:"},
                       [&] { host.run_script(script, bad.arguments); });
  }
}

TEST_CASE_FIXTURE(test::HostFixture, "the published methods, on a tiny graph in no time") {
  for (const char* plugin : {"policy_seq2seq.so", "policy_placeto.so", "policy_hdp.so"}) {
    if (!std::filesystem::exists(test::plugin_folder() / plugin)) return;
  }
  keep_output(*this);
  // Benchmark graphs are found by name in a folder.
  const auto models = folder.path() / "models";
  std::filesystem::create_directory(models);
  std::filesystem::copy(test::source_path("examples/models/tf/nmt_tiny.pb"),
                        models / "nmt_tiny.pb.gz");
  const auto script = test::source_path("scripts/experiments/published.lua");
  std::vector<std::string> arguments =
      words("--graphs nmt_tiny --gpus 2 --seeds 1,2 --seconds 0.01 --format markdown",
            {"--models", models.string(), "--record", (folder / "runs").string(), "--figures",
             folder.path().string()});
  host.run_script(script, arguments);
  run(R"(
    first = output()
    -- Of each graph one row with all forms, and one for each of them.
    assert(first:find("| nmt_tiny +| +2 | [%d.]+ +| [%d.]+ +| [%d.]+ +|"), first)
    for _, form in ipairs { "1 GPU", "auto", "placeto published", "placeto own", "placeto untrained",
      "seq2seq published", "seq2seq own", "seq2seq untrained", "hdp published", "hdp own", "hdp untrained" } do
      assert(first:find("| nmt_tiny +| +2 | " .. form .. " +| +2 |"), first)
    end)");
  CHECK(std::filesystem::exists(folder / "published.svg"));
  // What is done is not done again, and the table alone is the same.
  arguments.insert(arguments.begin(), "table");
  host.run_script(script, arguments);
  run("local text = output(); assert(text == first, text)");
  test::expect_error(ErrorCode::invalid_argument, {"--forms: one of 1 GPU, expert", "got 'placto'"},
                     [&] {
                       host.run_script(script, {"--forms", "placto"});
                     });
}

TEST_CASE_FIXTURE(test::HostFixture, "random instances are written and compared") {
  keep_output(*this);
  run("print = function(text) io.write(text, '\\n') end");
  const std::string file = (folder.path() / "one.hdag").string();
  // Op 0 feeds 1 and 2; the work of op 2 is 3, its input's size 2.
  std::ofstream(file) << "%% HyperDAG\n2 3 4\n0 1\n1 2\n0 1\n1 1\n2 3 % heavy\n"
                      << "0 0\n0 1\n1 1\n1 2\n";
  const auto instances = test::source_path("scripts/experiments/instances.lua");
  host.run_script(instances,
                  words("--count 1 --seed 3 --slots 1 --layers 6 --width 8 --nodes 2 --gpus 2 "
                        "--families in_trees,out_trees,chains,gaussian,fft,layered",
                        {folder.path().string(), file}));
  run("pairs_text = output(); assert(select(2, pairs_text:gsub('\\n', '')) == 7, pairs_text)");
  std::vector<std::string> arguments = words("--policies single,topo --seeds 1 --seconds 0.05");
  for (const char* name :
       {"one", "in_trees_1", "out_trees_1", "chains_1", "gaussian_1", "fft_1", "layered_6x8"}) {
    const std::string stem = (folder / name).string();
    CAPTURE(stem);
    REQUIRE(std::filesystem::exists(stem + ".graph.json"));
    arguments.insert(arguments.begin(), stem + ".graph.json:" + stem + ".cluster.json");
  }
  host.run_script(test::source_path("scripts/experiments/compare.lua"), arguments);
  run("local text = output(); assert(text:find('topo +7 '), text)");
  test::expect_error(ErrorCode::invalid_argument, {"--families: one of in_trees", "got 'trees'"},
                     [&] {
                       host.run_script(instances, {folder.path().string(), "--families", "trees"});
                     });
}

TEST_CASE_FIXTURE(test::HostFixture, "policies at equal time, beside longer searches") {
  keep_output(*this);
  const auto script = test::source_path("scripts/experiments/compare.lua");
  std::vector<std::string> arguments = words(
      "--policies auto,auto:threads=1,topo --seconds 0.02 --longer 2 --seeds 2 --shares 0.5,1 "
      "--same-start --bounds --groups 4",
      {branches_on_two_gpus(), "--record", (folder / "runs").string(), "--figures",
       folder.path().string(), "--format", "markdown"});
  host.run_script(script, arguments);
  run(R"(
    first = output():gsub("| seconds |.*", "")
    for _, row in ipairs { "auto", "auto, 2 times as long", "auto:threads=1", "topo" } do
      assert(first:find("| " .. row .. " +| +1 | +[%d.+-]+ %% | +%- |"), first)  -- a graph, whatever its seeds
      assert(first:find("| branches.graph.json, two_gpus.cluster.json | " .. row .. " +|"), first)
    end
    assert(first:find("| bound, ms | one device |", 1, true), first)
    assert(first:find("| paths and work, ms | joins, ms | backlogs, ms | refutation, ms ", 1, true), first))");
  CHECK(std::filesystem::exists(folder / "compare.svg"));
  CHECK(file_count(folder.path(), "quality_branches_") == 1);
  // What is done is not done again.
  host.run_script(script, arguments);
  run("local text = output():gsub('| seconds |.*', ''); assert(text == first, text)");
  arguments.back() = "csv";
  host.run_script(script, arguments);
  run(R"(
    local text = output()
    assert(text:find("graph,policy,seed,objective_us", 1, true), text)
    assert(select(2, text:gsub("\n", "")) == 1 + 4 * 2, text))");
}

TEST_CASE_FIXTURE(test::HostFixture, "a policy that finds nothing is a failed run, not the end") {
  keep_output(*this);
  run(R"(
    local berth = require "berth"
    io.stderr = { write = function() end, flush = function() end }
    berth.register_policy { name = "lost", place = function() error "no way" end })");
  host.run_script(
      test::source_path("scripts/experiments/compare.lua"),
      {branches_on_two_gpus(), "--policies", "single,lost", "--seeds", "2", "--seconds", "0.02"});
  run(R"(
    local text = output()
    assert(text:find("policy +graphs +failed"), text)
    assert(text:find("lost +0 +2 "), text))");
}

TEST_CASE_FIXTURE(test::HostFixture,
                  "a graph on two machines is one graph where policies are compared") {
  keep_output(*this);
  const auto graph = test::source_path("examples/lua/branches.graph.json").string();
  host.run_script(test::source_path("scripts/experiments/compare.lua"),
                  {graph + ":k80x2", graph + ":v100x8", "--policies", "single,topo", "--seeds", "2",
                   "--seconds", "0.02"});
  run(R"(
    local text = output()
    assert(text:find("policy +graphs +median"), text)
    assert(text:find("topo +1 "), text))");
}

TEST_CASE_FIXTURE(test::HostFixture, "an experiment explains its usage") {
  const auto experiment = test::source_path("scripts/experiments/compare.lua");
  const auto problem = test::source_path("examples/lua/branches.graph.json").string() + ":k80x4";
  const struct {
    std::vector<std::string> arguments;
    std::string_view message;
  } cases[] = {
      {{}, "name at least one GRAPH:CLUSTER"},
      {{"branches"}, "is not of the form GRAPH:CLUSTER"},
      {{problem, "--cluster", "k80x4"}, "unknown option '--cluster'"},
      {{problem, "--seeds"}, "--seeds: a value is missing"},
      {{problem, "--seeds", "x"}, "--seeds: number expected, got 'x'"},
      {{problem, "--format", "xml"}, "--format: text, csv or markdown, got 'xml'"},
  };
  for (const auto& bad : cases) {
    test::expect_error(
        ErrorCode::invalid_argument,
        {bad.message, "usage: compare.lua GRAPH:CLUSTER.. [--policies", " [--longer 2,4]"},
        [&] { host.run_script(experiment, bad.arguments); });
  }
  test::expect_error(ErrorCode::invalid_argument, {"no option 'guess'"}, [&] {
    host.run_script(experiment, {problem, "--policies", "auto:guess=1"});
  });
}

TEST_CASE_FIXTURE(test::HostFixture,
                  "placements by a few measured steps, beside what else they would give") {
  keep_output(*this);
  const std::string record = (folder.path() / "tune.record").string();
  const std::vector<std::string> arguments =
      words("--seeds 1 --measurements 3 --alone 3 --moves 20",
            {branches_on_two_gpus(), "--record", record});
  const auto script = test::source_path("scripts/experiments/tune.lua");
  host.run_script(script, arguments);
  run("first = output()");
  run("assert(first:find('tune, 3 measured', 1, true) and first:find('told', 1, true), first)");
  host.run_script(script, arguments);
  run("assert(output() == first)");  // from the record
}

TEST_CASE_FIXTURE(test::HostFixture, "the experiments with Placeto, as small as they get") {
  const auto plugins = engine.plugins();
  if (std::none_of(plugins.begin(), plugins.end(),
                   [](const PluginInfo& plugin) { return plugin.name == "placeto"; })) {
    MESSAGE("policy 'placeto' is not installed: its experiments are left out");
    return;
  }
  keep_output(*this);
  run("io.stderr = { write = function() end, flush = function() end }");
  const auto script = [](const char* name) {
    return test::source_path(std::string("scripts/experiments/") + name + ".lua");
  };
  const auto graph = test::source_path("examples/models/tf/nmt_tiny.pb").string();
  const auto svg = (folder / "placeto_curves.svg").string();
  const auto csv = (folder / "curves.csv").string();
  host.run_script(script("placeto_curves"),
                  {graph, "--groups", "6", "--updates", "2", "--samples", "2", "--from", graph,
                   "--figures", folder.path().string(), "--csv", csv});
  run(R"(
    local text = output()
    for _, name in ipairs { "intermediate", "terminal", "as published", "looking ahead", "transferred" } do
      assert(text:find(name, 1, true), text)
    end
    assert(io.open(arg[1]):read "*a":find("</svg>", 1, true))
    assert(select(2, io.open(arg[2]):read "*a":gsub("\n", "")) == 1 + 6 * 2))",
      {svg, csv});
  host.run_script(script("placeto_curves"),
                  {graph, "--groups", "6", "--updates", "2", "--samples", "2", "--csv", csv,
                   "--trainings", "as published by the logarithm, memory free"});
  run("local text = output(); assert(text:find('memory free', 1, true), text)");
  CHECK(test::lines_of(csv).size() == 1 + 2);  // nothing of the run before
  std::vector<std::string> arguments = words(
      "--families ptb --variants rounds=0;traversal=reverse,reward=seconds,entropy=0.05 --groups 6 "
      "--train 1 --test 1 --updates 1 --own 1 --rnn 1 --ahead 1 --clusters k80x2 --budget 0.1 "
      "--seeds 1,2",
      {"--record", (folder / "families").string(), "--figures", folder.path().string(), "--csv",
       csv});
  host.run_script(script("placeto_families"), arguments);
  run("first = output(); assert(first:find('ptb +k80x2 +1.000 +%d'), first)");
  run("assert(first:find('rounds=0 greedy +zero%-shot greedy'), first)");
  run("assert(first:find('entropy=0.05 sampled +untrained sampled'), first)");
  run("assert(first:find('zero%-shot sampled +random gpus'), first)");
  const std::vector<std::string> figures = test::lines_of(csv);
  CHECK(figures.at(0) == "family,cluster,column,seed,graph,share");
  CHECK(figures.size() > 1);
  arguments.insert(arguments.begin(), "table");
  host.run_script(script("placeto_families"), arguments);
  run("local text = output(); assert(text == first, text)");
  CHECK(test::lines_of(csv) == figures);
  CHECK(std::filesystem::exists(folder.path() / "zero_shot_ptb_k80x2.svg"));
  host.run_script(script("placeto_families"),
                  words("--families nmt --clusters 4xk80:4GiB --groups 6 --train 1 --test 1 "
                        "--updates 1 --seeds 1 --columns",
                        {"single,list,untrained greedy,zero-shot greedy"}));
  run(R"(  -- what does not fit is worse than what does, and is counted
    local text = output()
    assert(text:find("zero%-shot greedy +1 +0\n"), text)
    assert(text:find("zero%-shot greedy +list +1 +does not fit +0 +1 "), text))");
  host.run_script(script("learned_policies"),
                  {branches_on_two_gpus(), "--seconds", "0.2", "--seeds", "1", "--figures",
                   folder.path().string()});
  run(R"(
    local text = output()
    for _, name in ipairs { "doppler, untrained", "doppler, no imitation, trained", "placeto, trained", "auto" } do
      assert(text:find(name, 1, true), text)
    end)");
  CHECK(std::filesystem::exists(folder.path() / "learned_branches.svg"));
  test::expect_error(ErrorCode::invalid_argument, {"--seed: number expected, got 'x'", "usage:"},
                     [&] {
                       host.run_script(script("placeto_curves"), {"--seed", "x"});
                     });
}

}  // namespace
}  // namespace berth
