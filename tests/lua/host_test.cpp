#include <dlfcn.h>

#include <thread>

#include "berth/plugin.h"
#include "support/host_fixture.h"

namespace berth {
namespace {

using test::expect_error;
using test::HostFixture;

// The first test: others may load libraries that need this one.
TEST_CASE("a library that a script opened outlives it, as the library's threads may") {
  const char* const name = "librsvg-2.so.2";
  REQUIRE(dlopen(name, RTLD_LAZY | RTLD_NOLOAD) == nullptr);
  {
    HostFixture fixture;
    fixture.run(
        "found = pcall(require('berth.library').open, { 'librsvg-2.so.2' }, 'absent')\n"
        "if not found then print 'skipped: librsvg is not here' end");
  }
  void* const found = dlopen(name, RTLD_LAZY);
  if (found == nullptr) return;
  dlclose(found);
  CHECK(dlopen(name, RTLD_LAZY | RTLD_NOLOAD) != nullptr);
}

TEST_CASE_FIXTURE(HostFixture, "a script gets its arguments") {
  run(R"(assert(select("#", ...) == 2)
         local first, second = ...
         assert(first == "a" and second == "b c")
         assert(arg[1] == "a" and arg[2] == "b c" and arg[3] == nil)
         assert(arg[0]:match("test.lua$")))",
      {"a", "b c"});
  run("assert(select('#', ...) == 0 and #arg == 0)");
}

TEST_CASE_FIXTURE(HostFixture, "a first line for the shell is ignored and counted") {
  run("#!/usr/bin/env berth\nassert(debug.getinfo(1).currentline == 2)");
}

TEST_CASE_FIXTURE(HostFixture, "require finds the library and what lies beside the script") {
  write("beside.lua", "return 'beside'");
  run(R"(assert(require "beside" == "beside")
         assert(require "berth" == require "berth")
         assert(type(require "berth.rewards") == "table"))");
  SUBCASE("and nothing of the working directory") {
    run(R"(assert(not package.path:find("^%.") and not package.path:find(";%."))
           assert(not package.cpath:find("^%.") and not package.cpath:find(";%.")))");
  }
}

TEST_CASE_FIXTURE(HostFixture, "a failing script gives its line and a traceback") {
  const struct {
    std::string what;
    const char* script;
    ErrorCode code;
    std::vector<std::string_view> parts;
  } cases[] = {
      {"syntax", "local x = \n=", ErrorCode::invalid_file, {"test.lua:2:"}},
      {"bytecode", "\x1bLJ\x02\x02", ErrorCode::invalid_file, {"test.lua", "source"}},
      {"error",
       "local function deep()\n  error('boom')\nend\ndeep()",
       ErrorCode::invalid_argument,
       {"test.lua:2: boom", "stack traceback", "test.lua:4:"}},
      {"error without text", "error({})", ErrorCode::invalid_argument, {"table"}},
      {"error with a text of its own",
       "error(setmetatable({}, {__tostring = function() return 'mine' end}))",
       ErrorCode::invalid_argument,
       {"mine"}},
      {"error whose own text is none",
       "error(setmetatable({}, {__tostring = function() return {} end}))",
       ErrorCode::invalid_argument,
       {"an error that is a table instead of a text"}},
      {"nil error", "error()", ErrorCode::invalid_argument, {"nil"}},
      {"endless recursion",
       "local function f() return 1 + f() end\nf()",
       ErrorCode::invalid_argument,
       {"test.lua:", "stack overflow"}},  // with the line unless it happens in compiled code
      {"an Error of the engine",
       "local berth = require 'berth'\n\nberth.cluster 'k80y5'",
       ErrorCode::not_found,
       {"test.lua:3: berth.cluster:", "k80y5", "k80x4", "stack traceback"}},
      {"the same through pcall and error",
       "local berth = require 'berth'\nlocal ok, e = pcall(berth.cluster, 'k80y5')\nerror(e, 0)",
       ErrorCode::not_found,
       {"test.lua:2: berth.cluster:", "k80y5"}},
      {"infeasible", "require('berth').infeasible 'no room'", ErrorCode::infeasible, {"no room"}},
  };
  for (const auto& bad : cases) {
    CAPTURE(bad.what);
    try {
      run(bad.script);
      FAIL_CHECK("ran");
    } catch (const Error& error) {
      CHECK(static_cast<int>(error.code()) == static_cast<int>(bad.code));
      for (const std::string_view part : bad.parts) {
        CHECK_MESSAGE(std::string_view(error.what()).find(part) != std::string_view::npos,
                      std::string(error.what()), " lacks ", std::string(part));
      }
    }
  }
  expect_error(ErrorCode::not_found, {"absent.lua"},
               [&] { host.run_script(folder / "absent.lua", {}); });
}

constexpr const char* kEverythingOnFirst = R"(
  local berth = require "berth"
  berth.register_policy {
    name = "first", description = "everything on one device",
    options = { { name = "device", default = 1, meaning = "which, >= 1" } },
    place = function(problem, evaluator, context)
      local placement = {}
      for op = 1, problem:graph():op_count() do placement[op] = context:options().device end
      return placement
    end,
  })";

std::shared_ptr<const Problem> small_problem() {
  GraphBuilder builder("one op");
  const OpId op = builder.add_op("a", "Test");
  builder.set_cost(op, "", 3);
  const auto graph = builder.build();
  std::vector<Device> devices(2);
  devices[0].name = "d0";
  devices[1].name = "d1";
  devices[0].kind = devices[1].kind = "d";
  LinkSpec link;
  link.src = link.dst = "*";
  link.bandwidth_bytes_per_s = 1e9;
  const auto cluster = std::make_shared<const Cluster>("two", devices, std::vector<LinkSpec>{link});
  return std::make_shared<const Problem>(graph, cluster, Costs::stated(*graph, *cluster));
}

TEST_CASE_FIXTURE(HostFixture, "C++ places with a policy written in Lua") {
  const auto problem = small_problem();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  const double unlimited = std::numeric_limits<double>::infinity();

  SUBCASE("by the file that registers it") {
    const auto path = write("first.lua", kEverythingOnFirst);
    const auto policy = host.make_policy(path.string(), {{"device", "2"}});
    CHECK(place(*policy, *evaluator, {}, unlimited).placement == Placement{1});
    // The same file again, as a second run of a command in one process would.
    const auto again = host.make_policy(path.string());
    CHECK(place(*again, *evaluator, {}, unlimited).placement == Placement{0});
  }
  SUBCASE("a file that fails gives its line alone") {
    const auto path =
        write("typo.lua", "require('berth').register_policy {\n  name = 'typo', plcae = 1 }");
    try {
      static_cast<void>(host.make_policy(path.string()));
      FAIL_CHECK("expected an error");
    } catch (const Error& error) {
      const std::string message = error.what();
      CHECK_MESSAGE(message.find("typo.lua:1:") != std::string::npos, message);
      CHECK_MESSAGE(message.find("'plcae'; did you mean 'place'") != std::string::npos, message);
      CHECK_MESSAGE(message.find('\n') == std::string::npos, message);
    }
  }
  SUBCASE("by its name, and it is listed") {
    run(kEverythingOnFirst);
    const auto policy = host.make_policy("first");
    CHECK(place(*policy, *evaluator, {}, unlimited).placement == Placement{0});
    bool listed = false;
    for (const PluginInfo& info : host.plugins()) {
      if (info.name != "first") continue;
      listed = true;
      CHECK(info.kind == PluginKind::policy);
      CHECK(info.description == "everything on one device");
      REQUIRE(info.options.size() == 1);
      CHECK(info.options[0].type == OptionType::integer);
      CHECK(info.options[0].default_value == "1");
    }
    CHECK(listed);
  }
  SUBCASE("a bad option is refused") {
    run(kEverythingOnFirst);
    expect_error(ErrorCode::invalid_argument, {"first", "devise", "device"}, [&] {
      static_cast<void>(host.make_policy("first", {{"devise", "2"}}));
    });
  }
  SUBCASE("what it returns is checked") {
    run(kEverythingOnFirst);
    const auto policy = host.make_policy("first", {{"device", "3"}});
    expect_error(ErrorCode::invalid_argument, {"'first'", "entry 1", "1..2", "3"},
                 [&] { static_cast<void>(place(*policy, *evaluator, {}, unlimited)); });
  }
  SUBCASE("its error names its line") {
    const auto path = write("bad.lua", R"(
      require("berth").register_policy { name = "bad", place = function()
        local x = nil + 1 end })");
    const auto policy = host.make_policy(path.string());
    expect_error(ErrorCode::invalid_argument, {"'bad'", "bad.lua:3:", "arithmetic"},
                 [&] { static_cast<void>(place(*policy, *evaluator, {}, unlimited)); });
  }
  SUBCASE("it says that nothing fits") {
    const auto path = write("none.lua", R"(local berth = require "berth"
      berth.register_policy { name = "none", place = function() berth.infeasible "too big" end })");
    const auto policy = host.make_policy(path.string());
    expect_error(ErrorCode::infeasible, {"too big"},
                 [&] { static_cast<void>(place(*policy, *evaluator, {}, unlimited)); });
  }
  SUBCASE("one that never asks is ended with the best that it evaluated") {
    host.set_patience(0);
    PlaceContext context;
    int asked = 0;
    context.should_stop = [&asked] { return ++asked > 20; };
    const auto ended = [&](const char* body) {
      asked = 0;
      const auto path = write("deaf.lua", std::string(R"(local berth = require "berth"
        berth.register_policy { name = "deaf", place = function(problem, evaluator, context)
          local moves = berth.moves(evaluator)
          moves:reset { 2 }
          while true do )") + body + " end end }");
      const auto policy = host.make_policy(path.string());
      const PlaceResult result = place(*policy, *evaluator, context, unlimited);
      REQUIRE(!result.notes.empty());
      CHECK(result.notes[0].find("'deaf' never asked whether to stop") != std::string::npos);
      return result.placement;
    };
    CHECK(ended("evaluator:evaluate { 1 }") == Placement{0});
    CHECK(ended("evaluator:batch { { 2 }, { 1 } }") == Placement{1});
    CHECK(ended("moves:propose(1, 1)") == Placement{1});
    CHECK(ended("pcall(evaluator.evaluate, evaluator, { 1 })") == Placement{0});
    CHECK(ended("coroutine.wrap(function() pcall(evaluator.evaluate, evaluator, { 1 }) end)()") ==
          Placement{0});
    // The next run is not ended.
    run("for i = 1, 1000 do assert(tostring(i) == ('%d'):format(i)) end");
  }
  SUBCASE("one that asks ends by itself") {
    host.set_patience(0);
    PlaceContext context;
    context.should_stop = [] { return true; };
    const auto path = write("asks.lua", R"(
      require("berth").register_policy { name = "asks", place = function(_, evaluator, context)
        assert(context:should_stop())
        for _ = 1, 100 do evaluator:evaluate { 1 } end
        return { 2 } end })");
    const auto policy = host.make_policy(path.string());
    CHECK(place(*policy, *evaluator, context, unlimited).placement == Placement{1});
  }
  SUBCASE("one that asks as scripts do ends by itself, too") {
    host.set_patience(0);
    host.set_should_stop([] { return true; });
    PlaceContext context;
    context.should_stop = [] { return true; };
    const auto path = write("asks.lua", R"(local berth = require "berth"
      berth.register_policy { name = "asks", place = function(_, evaluator)
        assert(berth.should_stop())
        for _ = 1, 100 do evaluator:evaluate { 1 } end
        return { 2 } end })");
    const auto policy = host.make_policy(path.string());
    CHECK(place(*policy, *evaluator, context, unlimited).placement == Placement{1});
  }
  SUBCASE("one that never asks and evaluated nothing has no answer") {
    host.set_patience(0);
    PlaceContext context;
    context.should_stop = [] { return true; };
    const auto path = write("nothing.lua", R"(local berth = require "berth"
      berth.register_policy { name = "nothing", place = function(_, evaluator)
        while true do evaluator:batch {} end end })");
    const auto policy = host.make_policy(path.string());
    expect_error(ErrorCode::cancelled, {"'nothing'", "nothing.lua:3:", "context:should_stop()"},
                 [&] { static_cast<void>(place(*policy, *evaluator, context, unlimited)); });
  }
  SUBCASE("another thread cannot call it") {
    run(kEverythingOnFirst);
    const auto policy = host.make_policy("first");
    std::thread([&] {
      expect_error(ErrorCode::unsupported, {"'first'", "thread"},
                   [&] { static_cast<void>(place(*policy, *evaluator, {}, unlimited)); });
    }).join();
  }
  SUBCASE("a script that registers none, or two") {
    expect_error(ErrorCode::invalid_file, {"no policy", "register_policy"},
                 [&] { static_cast<void>(host.make_policy(write("empty.lua", "").string())); });
    const auto two = write("two.lua", R"(local berth = require "berth"
      for _, name in ipairs { "a", "b" } do
        berth.register_policy { name = name, place = function() end }
      end)");
    expect_error(ErrorCode::invalid_file, {"more than one", "'a'", "'b'"},
                 [&] { static_cast<void>(host.make_policy(two.string())); });
  }
}

// --- exceptions of C++ code that a script calls --------------------------------------------------

enum class Failure { none, error, standard, other };

struct Failing : Policy {
  static inline Failure failure = Failure::none;
  static inline int alive = 0;
  Failing() { ++alive; }
  ~Failing() override { --alive; }
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    switch (failure) {
      case Failure::error:
        throw Error(ErrorCode::infeasible, "the plugin says no");
      case Failure::standard:
        throw std::out_of_range("a bug in the plugin");
      case Failure::other:
        throw 42;
      case Failure::none:
        break;
    }
    if (context.progress) context.progress(1, "half");
    return Placement(static_cast<std::size_t>(problem.graph().op_count()), 0);
  }
};

constexpr PluginDescriptor kFailing = describe_plugin<Failing>("failing", "1", "fails on request");

constexpr const char* kPlaceWithFailing = R"(
  local berth = require "berth"
  local builder = berth.graph_builder "g"
  builder:set_cost(builder:add_op("a", "Test"), 1)
  local problem = berth.problem { graph = builder:build(), cluster = berth.cluster {
    name = "c", devices = { { name = "d", kind = "d" } } } }
  policy = berth.policy "failing"
  local placement = policy:place(problem, { progress = progress }))";

TEST_CASE_FIXTURE(HostFixture, "no exception crosses Lua raw") {
  engine.register_plugin(kFailing);
  const auto with = [&](Failure failure, ErrorCode code, std::string_view message) {
    Failing::failure = failure;
    expect_error(code, {"test.lua:8: policy:place: ", message, "stack traceback"},
                 [&] { run(kPlaceWithFailing); });
    Failing::failure = Failure::none;
  };
  with(Failure::error, ErrorCode::infeasible, "the plugin says no");
  with(Failure::standard, ErrorCode::invalid_argument, "a bug in the plugin");
  with(Failure::other, ErrorCode::invalid_argument, "");
  run(kPlaceWithFailing);
}

TEST_CASE_FIXTURE(HostFixture, "an error in a Lua callback passes through the C++ that called it") {
  engine.register_plugin(kFailing);
  expect_error(ErrorCode::invalid_argument,
               {"test.lua:8: policy:place: ", "test.lua:1: no news at half"}, [&] {
                 run(std::string("progress = function(us, text) error('no news at ' .. text) end") +
                     kPlaceWithFailing);
               });
}

TEST_CASE_FIXTURE(HostFixture, "garbage collection frees C++ objects") {
  engine.register_plugin(kFailing);
  host.collect_garbage();
  REQUIRE(host.live_objects() == 0);
  run(kPlaceWithFailing);
  CHECK(Failing::alive == 1);
  host.collect_garbage();
  CHECK(host.live_objects() == 1);  // the global `policy` keeps it
  CHECK(Failing::alive == 1);
  SUBCASE("when nothing refers to it") {
    run("policy = nil");
    host.collect_garbage();
  }
  SUBCASE("or at once when it is released") {
    run("policy:release() policy:release()");
  }
  CHECK(host.live_objects() == 0);
  CHECK(Failing::alive == 0);
}

TEST_CASE("a host that ends frees what its scripts hold") {
  {
    HostFixture fixture;
    fixture.engine.register_plugin(kFailing);
    fixture.run(kPlaceWithFailing);
    CHECK(Failing::alive == 1);
  }
  CHECK(Failing::alive == 0);
}

TEST_CASE_FIXTURE(HostFixture, "a request to stop reaches scripts and policies") {
  int asked = 0;
  host.set_should_stop([&] { return ++asked > 0; });
  run("assert(require('berth').should_stop())");
  CHECK(asked > 0);
  host.set_should_stop({});
  run("assert(not require('berth').should_stop())");
}

TEST_CASE_FIXTURE(HostFixture,
                  "a script begins no search after a request to stop, and goes on with one") {
  int asked = 0;
  host.set_should_stop([&] { return ++asked > 1; });
  run(R"(
    local berth = require 'berth'
    local builder = berth.graph_builder 'one'
    builder:set_cost(builder:add_op('a', 'Op'), 5)
    local problem = berth.problem { graph = builder:build(), cluster = 'k80x2', costs = 'stated' }
    local policy = berth.policy 'round_robin'
    assert(#policy:place(problem) == 1)
    local ok, message = pcall(policy.place, policy, problem)
    assert(not ok and tostring(message):find('before this search began', 1, true), message)
    ok, message = pcall(berth.place, 'absent.onnx', {})
    assert(not ok and tostring(message):find('before this search began', 1, true), message))");
}

TEST_CASE_FIXTURE(HostFixture, "a training's own should_stop leaves Ctrl-C as it is") {
  int asked = 0;
  host.set_should_stop([&] { return ++asked > 6; });
  run(R"(
    local berth, train = require 'berth', require 'berth.train'
    berth.register_policy { name = 'still', learns = {
      make = function() return {} end, load = function() return '' end, save = function() end,
      parameters = function() return 0 end,
      act = function(_, environment)
        local devices = {}
        for e = 1, environment:episodes() do devices[e] = 1 end
        return devices
      end,
      update = function() return { loss = 0, entropy = 0, gradient_norm = 0 } end } }
    local builder = berth.graph_builder 'one'
    builder:set_cost(builder:add_op('a', 'Op'), 5)
    local own = 0
    local result = train.episodes { policy = berth.policy 'still', count = 1000, samples = 1,
      problems = { berth.problem { graph = builder:build(), cluster = 'k80x2', costs = 'stated' } },
      should_stop = function() own = own + 1 return false end }
    assert(result.stopped and result.updates > 0 and result.updates < 10, result.updates)
    assert(own == result.updates))");
}

}  // namespace
}  // namespace berth
