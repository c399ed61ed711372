#include <set>

#include "berth/files.h"
#include "support/format_page.h"
#include "support/host_fixture.h"

namespace berth {
namespace {

using test::HostFixture;

TEST_CASE_FIXTURE(HostFixture, "a config gives settings, options and dims of their types") {
  const Settings config = host.read_config(write("good.lua", R"(
    local devices = 4
    return {
      cluster = "k80x" .. devices, policy = "scotch", objective = "latency",
      semantics = "placeto", costs = "roofline",
      groups = 2 ^ 7, seed = 7, threads = 2, budget = 1.5,
      policies = { "topo", "scotch" },
      options = { rounds = 8, lr = 1e-3, verbose = true, mode = "fast" },
      dims = { batch = math.max(8, 4) }, batch = 4, shapes = { image = { 1, 3, 8, 8 } },
      fetches = { "loss:0", "train" },
    })"));
  CHECK(config.cluster == "k80x4");
  CHECK(config.policy == "scotch");
  CHECK(config.objective == Objective::latency);
  CHECK(config.semantics == Semantics::placeto);
  CHECK(config.costs == "roofline");
  CHECK(config.groups == 128);
  CHECK(config.seed == 7);
  CHECK(config.threads == 2);
  CHECK(config.budget_s == 1.5);
  CHECK(config.policies == std::vector<std::string>{"topo", "scotch"});
  CHECK(config.options ==
        std::map<std::string, OptionValue>{
            {"rounds", std::int64_t{8}}, {"lr", 1e-3}, {"verbose", true}, {"mode", "fast"}});
  CHECK(config.load.dims == std::map<std::string, std::int64_t>{{"*", 4}, {"batch", 8}});
  CHECK(config.load.shapes ==
        std::map<std::string, std::vector<std::int64_t>>{{"image", {1, 3, 8, 8}}});
  CHECK(config.load.fetches == std::vector<std::string>{"loss:0", "train"});
}

TEST_CASE_FIXTURE(HostFixture, "a config has the language itself, and nothing that reaches out") {
  const Settings config = host.read_config(write("language.lua", R"(
    local names = {}
    for i, name in ipairs { "topo", "heft" } do names[i] = name end
    for key, value in pairs { seed = tonumber "7" } do names[key] = value end
    for _, name in ipairs { "print", "pcall", "dofile", "loadfile", "load", "require", "getmetatable", "rawset",
                            "setfenv", "collectgarbage", "coroutine", "_G" } do
      assert(not ({ print = print, pcall = pcall, dofile = dofile, loadfile = loadfile, load = load,
        require = require, getmetatable = getmetatable, rawset = rawset, setfenv = setfenv,
        collectgarbage = collectgarbage, coroutine = coroutine, _G = _G })[name])
    end
    return { policies = { names[1], names[2] }, seed = names.seed, policy = type(names) })"));
  CHECK(config.policies == std::vector<std::string>{"topo", "heft"});
  CHECK(config.seed == 7);
  CHECK(config.policy == "table");
}

TEST_CASE_FIXTURE(HostFixture, "a config describes a machine of its own") {
  const Settings config = host.read_config(write("machine.lua", R"(
    local devices = {}
    for i = 1, 3 do devices[i] = { name = "gpu:" .. i - 1, kind = "gpu", memory_bytes = 1.5e9 } end
    return { cluster = { name = "three", devices = devices,
      links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e9, latency_us = 2.5 } } } })"));
  const auto cluster = load_cluster(*config.cluster);
  CHECK(cluster->name() == "three");
  CHECK(cluster->device_count() == 3);
  CHECK(cluster->device(2).memory_bytes == 1'500'000'000);
  CHECK(cluster->links().at(0).latency_us == 2.5);
  test::expect_error(
      ErrorCode::invalid_file, {"bad.lua: at cluster: ", "devices[0]", "'kind'"}, [&] {
        static_cast<void>(host.read_config(
            write("bad.lua", "return { cluster = { name = 'x', devices = { { name = 'd' } } } }")));
      });
}

TEST_CASE_FIXTURE(HostFixture, "the page of the settings holds what a config may give") {
  const test::FormatPage page("settings.md");
  const std::string example = page.block("lua");
  const Settings config = host.read_config(write("example.lua", example));
  CHECK(config.cluster == "k80x4");
  CHECK(config.constraints.size() == 6);
  const auto path = write("unknown.lua", "return { no_such_key = 1 }");
  try {
    (void)host.read_config(path);
    FAIL_CHECK("an unknown key is accepted");
  } catch (const Error& error) {
    CHECK(page.keys() == test::names_after(error.what(), "Known: "));
  }
}

TEST_CASE_FIXTURE(HostFixture, "a config may give nothing") {
  const Settings config = host.read_config(write("empty.lua", "return {}"));
  CHECK(settings_json(config) == "{\"format\":\"berth.settings/1\"}");
  CHECK(config.options.empty());
  CHECK(config.load.dims.empty());
}

TEST_CASE_FIXTURE(HostFixture, "a bad config is refused with the file, the key and the fix") {
  const struct {
    std::string what;
    const char* content;
    std::vector<std::string> parts;
  } cases[] = {
      {"syntax", "return {\n  cluster = ,\n}", {"bad.lua:2:"}},
      {"bytecode", "\x1bLJ\x02\x02", {"bad.lua", "source"}},
      {"returns nothing", "local x = 1", {"bad.lua", "return {", "nil"}},
      {"returns a text", "return 'k80x4'", {"bad.lua", "table", "string"}},
      {"unknown key", "return { polcy = 'topo' }", {"bad.lua", "polcy", "policy"}},
      {"a list", "return { 'topo' }", {"bad.lua", "names as keys"}},
      {"ill-typed text", "return { cluster = 4 }", {"bad.lua: at cluster: ", "text"}},
      {"ill-typed count", "return { groups = '128' }", {"bad.lua: at groups: ", "a whole number"}},
      {"fraction", "return { groups = 1.5 }", {"at groups: ", "a whole number"}},
      {"negative", "return { seed = -1 }", {"at seed: ", "a whole number from 0", "-1"}},
      {"huge", "return { seed = 1e300 }", {"at seed: "}},
      {"not a number", "return { budget = 0/0 }", {"'budget'"}},
      {"negative budget", "return { budget = -1 }", {"at budget: ", "not negative"}},
      {"names that are none", "return { policies = { 1 } }", {"at policies[1]: ", "text"}},
      {"options no table", "return { options = 1 }", {"at options: ", "object"}},
      {"option no value", "return { options = { a = {} } }", {"at options.a: ", "text"}},
      {"dims not integers",
       "return { dims = { batch = 'x' } }",
       {"at dims.batch: ", "whole number"}},
      {"shapes no lists", "return { shapes = { x = 3 } }", {"at shapes.x: ", "list"}},
      {"shapes no table", "return { shapes = 3 }", {"at shapes: ", "object"}},
      {"fetches no list", "return { fetches = 'loss' }", {"at fetches: ", "list"}},
      {"asks the system", "return { seed = os.time() }", {"bad.lua:1:", "os", "only `math`"}},
      {"loads code", "return loadstring('return {}')()", {"bad.lua:1:", "only `math`"}},
      {"raises", "local x = nil\nreturn x.y", {"bad.lua:2:"}},
      {"raises no text",
       "error { code = 2 }",
       {"an error that is a table instead of a text", "only `math`", "bad.lua"}},
      {"raises nothing", "error(nil)", {"an error that is a nil instead of a text"}},
      {"does not end", "while true do end", {"bad.lua:1:", "does not end"}},
      {"a text that fills memory",
       "local s = 'x'\nwhile true do s = s .. s end",
       {"bad.lua", "more than 64 MiB"}},
      {"tables that fill memory",
       "local t = {}\nfor i = 1, 2e6 do t[i] = { i, i, i, i } end\nreturn t",
       {"bad.lua", "more than 64 MiB"}},
      {"recurses",
       "local function f() return 1 + f() end\nreturn f()",
       {"bad.lua", "stack overflow"}},
  };
  for (const auto& bad : cases) {
    CAPTURE(bad.what);
    const auto path = write("bad.lua", bad.content);
    try {
      static_cast<void>(host.read_config(path));
      FAIL_CHECK("accepted");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_file);
      for (const std::string& part : bad.parts) {
        CHECK_MESSAGE(std::string(error.what()).find(part) != std::string::npos,
                      std::string(error.what()), " lacks ", part);
      }
    }
  }
  test::expect_error(ErrorCode::not_found, {"absent.lua"},
                     [&] { static_cast<void>(host.read_config(folder / "absent.lua")); });
}

}  // namespace
}  // namespace berth
