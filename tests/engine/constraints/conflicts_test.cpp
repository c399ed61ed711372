// Rules that say nothing, or what cannot be.
#include <doctest/doctest.h>

#include "support/constrained_chain.h"
#include "support/expect_error.h"

using namespace berth;
using namespace berth::test;

TEST_CASE("Constraints: rules that mean nothing name what is near") {
  const Chain chain;
  const auto expect = [&](const ConstraintRule& made,
                          std::initializer_list<std::string_view> parts) {
    expect_error(ErrorCode::invalid_argument, parts, [&] { chain.constraints({made}); });
  };
  expect(pin(named("a/11"), {"gpu:0"}),
         {R"({ pin = { name = "a/11" }, to = "gpu:0" })", "selects none of the 6 ops", "'a/1'"});
  expect(pin(like("A"), {"gpu:0"}), {"whole names", "'a/1'", "'a/2'"});
  expect(pin(like("zz"), {"gpu:0"}), {"ops are called 'in/x'"});
  expect(pin(like("a/("), {"gpu:0"}), {"a/(", "'(' is not closed"});
  expect(pin(typed("a"), {"gpu:0"}), {"types", "A, B, In, Out"});
  expect(pin(asking("gpu:0"), {"gpu:0"}), {"requested devices", "gpu:1"});
  expect(pin(named("a/1"), {"gpu:7"}), {"'gpu:7'", "gpu:0", "host"});
  expect(pin(named("a/1"), {}), {"does not say which devices"});
  expect(pin(OpSelector{}, {"gpu:0"}), {"does not say which ops"});
  expect(rule(Kind::colocate, {}), {"does not say which ops"});
}

TEST_CASE("Constraints: an expression that lacks the slash that names begin with is told so") {
  GraphBuilder builder("slashes");
  builder.add_op("/layer1/conv", "Op");
  const auto graph = builder.build();
  const Chain chain;
  const Costs costs({{1}, {1}}, {}, "test");
  expect_error(
      ErrorCode::invalid_argument, {"names here begin with a slash: write /layer1/..."},
      [&] { Constraints(*graph, *chain.cluster, costs, {pin(like("layer1/.*"), {"gpu:0"})}); });
}

TEST_CASE("Constraints: respecting devices that are not there, or that nobody asks for") {
  const Chain chain;
  expect_error(ErrorCode::invalid_argument, {"no op", "asks for a device"},
               [&] { chain.constraints({rule(Kind::respect_devices, {named("a/1")})}); });
  GraphBuilder builder("tpu");
  builder.set_requested_device(builder.add_op("x", "Op"), "/device:TPU:0");
  const auto graph = builder.build();
  const Costs costs({{1}, {1}}, {}, "test");
  expect_error(ErrorCode::invalid_argument, {"'x'", "/device:TPU:0", "cpu:0, gpu:0, gpu:1"}, [&] {
    Constraints(*graph, *chain.cluster, costs, {rule(Kind::respect_devices, {})});
  });
}

TEST_CASE("Constraints: what leaves no device is shown as it was written, and no more") {
  const Chain chain;
  const auto expect = [&](const std::vector<ConstraintRule>& rules,
                          std::initializer_list<std::string_view> parts,
                          std::initializer_list<std::string_view> absent = {}) {
    try {
      chain.constraints(rules);
      FAIL_CHECK("expected an error");
    } catch (const Error& error) {
      const std::string message = error.what();
      CAPTURE(message);
      CHECK(error.code() == ErrorCode::infeasible);
      for (const auto part : parts) {
        CAPTURE(std::string(part));
        CHECK(message.find(part) != std::string::npos);
      }
      for (const auto part : absent) {
        CAPTURE(std::string(part));
        CHECK(message.find(part) == std::string::npos);
      }
    }
  };
  expect({forbid(named("a/1"), {"host"}), pin(named("a/1"), {"gpu:0"}),
          forbid(like("a/.*"), {"gpu:0"})},
         {"'a/1'", R"({ pin = { name = "a/1" }, to = "gpu:0" })",
          R"({ forbid = "a/.*", on = "gpu:0" })"},
         {"host"});
  // Neither rule alone, but both devices together are all there are.
  expect({pin(named("a/1"), {"gpu"}), forbid(named("a/1"), {"gpu:0"}),
          forbid(named("a/1"), {"gpu:1"})},
         {"pin", "gpu:0", "gpu:1"});
  // The kind cannot run it.
  expect({pin(named("b/1"), {"cpu:0"})}, {"pin", "op 'b/1' of type 'B' runs on kind gpu alone"});
  // Through a chain of co-locations: rules 0 and 3, joined by 1, the model, and 2.
  expect(
      {pin(named("a/1"), {"gpu:0"}), colocate({named("a/1"), named("b/1")}),
       colocate({named("b/2"), named("out")}), pin(named("out"), {"gpu:1"}),
       colocate({named("in/x"), named("a/1")})},
      {R"(to = "gpu:0")", R"(to = "gpu:1")",
       R"({ colocate = { { name = "a/1" }, { name = "b/1" } } })", "the model's co-location 'pair'",
       R"({ colocate = { { name = "b/2" }, { name = "out" } } })"},
      {"in/x"});
  // Together and apart.
  expect({separate({named("a/1"), named("out")}), colocate({named("out"), typed("A")})},
         {"together and apart", "separate", "colocate"});
  expect({separate({like("b/.*")})}, {"together and apart", "the model's co-location 'pair'"});
  expect({separate({named("a/1"), typed("A")})}, {"'a/1'", "apart from itself"});
  ConstraintRule written = separate({like("[iao].*")});
  written.text = "what I wrote";
  expect({written}, {"4 devices", "has 3", "what I wrote"});
  // Each of two fits nowhere but on gpu:0.
  expect({separate({named("a/1"), named("a/2")}), pin(typed("A"), {"gpu:0"})},
         {"a device of its own", "separate", "pin"});
  // Any two of three separations can be kept on two devices, all three cannot.
  expect({separate({named("a/1"), named("a/2")}), separate({named("a/2"), named("out")}),
          separate({named("out"), named("a/1")}), forbid(like(".*"), {"host"})},
         {"too few", "separate", "forbid"});
}
