#include "berth/constraints.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/constrained_chain.h"
#include "support/expect_error.h"

using namespace berth;
using namespace berth::test;

namespace {

/// The devices allowed to each op, such as "c01 c01 1 ..." by the last letters of their names.
std::string allowed_text(const Chain& chain, const Constraints& constraints) {
  std::string text;
  for (OpId op = 0; op < chain.graph->op_count(); ++op) {
    if (op > 0) text += ' ';
    for (DeviceId d = 0; d < 3; ++d) {
      if (constraints.allowed(op, d)) text += "c01"[d];
    }
  }
  return text;
}

}  // namespace

TEST_CASE("Constraints: what each way of selecting ops and devices allows") {
  const Chain chain;
  struct Row {
    std::vector<ConstraintRule> rules;
    const char* allowed;  // by op: in/x a/1 a/2 b/1 b/2 out
  };
  OpSelector both = like("[ab]/.*");
  both.type = "A";
  const Row rows[] = {
      {{}, "c01 c01 c01 c01 c01 c01"},
      {{pin(named("a/1"), {"gpu:1"})}, "c01 1 c01 c01 c01 c01"},
      {{pin(named("a/1"), {"gpu"})}, "c01 01 c01 c01 c01 c01"},
      {{pin(like("a/.*"), {"cpu:0", "gpu:1"})}, "c01 c1 c1 c01 c01 c01"},
      {{pin(like(".*"), {"gpu:0"})}, "0 0 0 0 0 0"},
      {{pin(typed("In"), {"host"})}, "c c01 c01 c01 c01 c01"},
      {{pin(both, {"gpu:0"})}, "c01 0 0 c01 c01 c01"},
      {{forbid(typed("A"), {"gpu:0", "host"})}, "c01 1 1 c01 c01 c01"},
      // The model's co-location spreads a rule to its whole class.
      {{forbid(named("b/2"), {"gpu:0"})}, "c01 c01 c01 c1 c1 c01"},
      {{pin(asking("*"), {"gpu:0"})}, "0 c01 c01 c01 c01 0"},
      {{pin(asking("gpu:1"), {"gpu:0"})}, "c01 c01 c01 c01 c01 0"},
      {{pin(asking("cpu:0"), {"gpu:0"})}, "0 c01 c01 c01 c01 c01"},
      {{pin(asking("gpu"), {"cpu:0"})}, "c01 c01 c01 c01 c01 c"},
      {{rule(Kind::respect_devices, {})}, "c c01 c01 c01 c01 1"},
      {{rule(Kind::respect_devices, {named("out")})}, "c01 c01 c01 c01 c01 1"},
      {{colocate({named("a/1"), typed("Out")}), pin(named("out"), {"gpu:0"})},
       "c01 0 c01 c01 c01 0"},
      {{pin(named("a/1"), {"gpu"}), forbid(like("a/.*"), {"gpu:1"})}, "c01 0 c0 c01 c01 c01"},
      {{separate({named("a/1"), named("a/2")})}, "c01 c01 c01 c01 c01 c01"},
  };
  for (const Row& row : rows) {
    for (const ConstraintRule& each : row.rules) CAPTURE(to_text(each));
    CHECK(allowed_text(chain, *chain.constraints(row.rules)) == row.allowed);
  }
}

TEST_CASE("Constraints: which rules keep an op from a device") {
  const Chain chain;
  const auto constraints = chain.constraints(
      {pin(like("a/.*"), {"gpu"}), colocate({like("a/.*")}), forbid(named("a/1"), {"gpu:0"})});
  using Rules = std::vector<std::size_t>;
  CHECK(constraints->rules_against(Chain::kA2, Chain::kCpu) == Rules{0});
  CHECK(constraints->rules_against(Chain::kA2, Chain::kGpu0) == Rules{2});
  CHECK(constraints->rules_against(Chain::kA2, Chain::kGpu1).empty());
  CHECK(constraints->rules_against(Chain::kOut, Chain::kCpu).empty());
}

TEST_CASE("Constraints: classes join the model's co-location and the rules'") {
  const Chain chain;
  const auto constraints = chain.constraints({colocate({named("in/x"), named("b/1")})});
  CHECK(constraints->classes()->count() == 4);
  CHECK(constraints->classes()->of(Chain::kIn) == constraints->classes()->of(Chain::kB2));
  // b/1 needs a gpu, so what is with it does.
  CHECK_FALSE(constraints->class_can_be_on(constraints->classes()->of(Chain::kIn), Chain::kCpu));
  CHECK(constraints->allowed(Chain::kIn, Chain::kCpu));
}

TEST_CASE(
    "Constraints: a rule on constants of the step alone is refused, one on others too is kept") {
  Chain chain;
  std::vector<Graph::Constant> roles(static_cast<std::size_t>(chain.graph->op_count()),
                                     Graph::Constant::no);
  roles[Chain::kIn] = Graph::Constant::made;
  chain.graph = chain.graph->with_constants(roles);
  for (const ConstraintRule& alone :
       {pin(named("in/x"), {"gpu:1"}), forbid(typed("In"), {"gpu:1"}), colocate({named("in/x")}),
        separate({named("in/x"), named("out")})}) {
    CAPTURE(to_text(alone));
    expect_error(ErrorCode::invalid_argument,
                 {"selects only constants of the step, such as 'in/x'", "'a/1'", "without folding"},
                 [&] { static_cast<void>(chain.constraints({alone})); });
  }
  const auto kept = chain.constraints({pin(like(".*"), {"gpu:1"})});
  CHECK(kept->ops_of(0).size() == 5);
  // A constant is with the first op that reads it, and with no other.
  expect_error(ErrorCode::invalid_argument,
               {"selects 'out' and else only constants of the step, such as 'in/x'", "'a/1'"}, [&] {
                 chain.constraints({colocate({named("in/x"), named("out")})});
               });
  CHECK(chain.constraints({colocate({named("in/x"), named("a/1")})})->ops_of(0).size() == 1);
}

TEST_CASE("Constraints: memory margins") {
  const Chain chain;
  CHECK(memory_margin_rule("10%", {}).margin_share == doctest::Approx(0.1));
  CHECK(memory_margin_rule("2GiB", {}).margin_bytes == std::int64_t{2} << 30);
  CHECK(memory_margin_rule("1.5 kB", {}).margin_bytes == 1500);
  CHECK(memory_margin_rule("123", {}).margin_bytes == 123);
  CHECK(memory_margin_rule("2g", {}).margin_bytes == std::int64_t{2} << 30);
  for (const char* bad : {"", "x", "-1", "100%", "1e99", "nan", "inf", "5 apples", "10 %%"}) {
    CAPTURE(bad);
    expect_error(ErrorCode::invalid_argument, {"is not a memory margin"},
                 [&] { static_cast<void>(memory_margin_rule(bad, {})); });
  }
  const auto constraints =
      chain.constraints({memory_margin_rule("10%", {}), memory_margin_rule("400", {"gpu:1"})});
  CHECK(constraints->memory_bytes(Chain::kCpu) == kNoLimit);
  CHECK(constraints->memory_bytes(Chain::kGpu0) == 900);
  CHECK(constraints->memory_bytes(Chain::kGpu1) == 600);
  CHECK(chain.constraints({memory_margin_rule("1000", {})})->memory_bytes(Chain::kGpu0) == 0);
  expect_error(ErrorCode::invalid_argument, {"memory_margin = 1001", "gpu:0", "1000 B"},
               [&] { chain.constraints({memory_margin_rule("1001", {})}); });
}

TEST_CASE("Constraints: rules as text") {
  OpSelector two = typed("A");
  two.name = "x \"y\"";
  CHECK(to_text(pin(like("a/.*"), {"gpu:0"})) == R"({ pin = "a/.*", to = "gpu:0" })");
  CHECK(to_text(forbid(two, {"gpu:0", "host"})) ==
        R"({ forbid = { name = "x \"y\"", type = "A" }, on = { "gpu:0", "host" } })");
  CHECK(to_text(separate({named("a"), like("b")})) == R"({ separate = { { name = "a" }, "b" } })");
  CHECK(to_text(rule(Kind::respect_devices, {})) == "{ respect_devices = true }");
  CHECK(to_text(memory_margin_rule("10%", {"gpu"})) == R"({ memory_margin = "10%", on = "gpu" })");
}

TEST_CASE("Constraints: devices as TensorFlow names them") {
  GraphBuilder builder("asking");
  struct Row {
    const char* text;
    const char* allowed;
  };
  const Row rows[] = {
      {"gpu:1", "1"},          {"GPU:1", "1"},
      {"/device:GPU:0", "0"},  {"/gpu:1", "1"},
      {"/device:CPU:0", "c"},  {"/job:ps/task:3/cpu:0", "c"},
      {"/device:GPU:*", "01"}, {"/device:GPU", "01"},
      {"host", "c"},           {"/job:ps/task:3", "c01"},
      {"/job:worker", "c01"},  {"/", "c01"},
  };
  for (const Row& row : rows) {
    const OpId op = builder.add_op(row.text, "Op");
    builder.set_requested_device(op, row.text);
  }
  const auto graph = builder.build();
  const Chain chain;
  const auto costs = std::make_shared<const Costs>(
      std::vector<std::vector<double>>(2, std::vector<double>(std::size(rows), 1)),
      std::vector<std::int64_t>(), "test");
  const Constraints constraints(*graph, *chain.cluster, *costs, {rule(Kind::respect_devices, {})});
  for (OpId op = 0; op < graph->op_count(); ++op) {
    CAPTURE(graph->op_name(op));
    std::string allowed;
    for (DeviceId d = 0; d < 3; ++d) {
      if (constraints.allowed(op, d)) allowed += "c01"[d];
    }
    CHECK(allowed == rows[op].allowed);
  }
}

TEST_CASE("Constraints: a cluster whose names state jobs has what agrees with all that is stated") {
  const char* const names[] = {"/job:ps/replica:0/task:0/device:CPU:0", "/job:ps/task:1",
                               "/job:worker/replica:0/task:0/device:GPU:0",
                               "/job:worker/replica:0/task:1/device:GPU:0",
                               "/job:worker/replica:0/task:1/device:GPU:1"};
  std::vector<Device> devices;
  for (const char* const name : names) {
    Device device;
    device.name = name;
    device.kind = std::string_view(name).find("GPU") != std::string_view::npos ? "gpu" : "host";
    device.host = device.kind == "host";
    devices.push_back(device);
  }
  const Cluster cluster("ps", devices, {{"*", "*", 1e6, 0, {}}});
  struct Row {
    const char* text;
    const char* allowed;
  };
  const Row rows[] = {
      {"/job:ps/task:0", "0"},
      {"/job:ps/task:1/device:CPU:0", "1"},
      {"/job:worker/task:1/device:GPU:0", "3"},
      {"/job:worker/replica:0/task:1", "34"},
      {"/job:worker/task:*/device:GPU:0", "23"},
      {"/task:0", "02"},
      {"/gpu:1", "4"},
      {"/device:CPU:*", "01"},
      {"gpu", "234"},
      {"", "01234"},
  };
  GraphBuilder builder("asking");
  for (const Row& row : rows) {
    builder.set_requested_device(builder.add_op(std::string("to ") + row.text, "Op"), row.text);
  }
  const auto graph = builder.build();
  const Costs costs(std::vector<std::vector<double>>(2, std::vector<double>(std::size(rows), 1)),
                    {}, "test");
  const Constraints constraints(*graph, cluster, costs, {rule(Kind::respect_devices, {})});
  for (OpId op = 0; op < graph->op_count(); ++op) {
    CAPTURE(graph->op_name(op));
    std::string allowed;
    for (DeviceId d = 0; d < 5; ++d) {
      if (constraints.allowed(op, d)) allowed += "01234"[d];
    }
    CHECK(allowed == rows[op].allowed);
  }
  GraphBuilder elsewhere("elsewhere");
  elsewhere.set_requested_device(elsewhere.add_op("x", "Op"), "/job:ps/task:2");
  const auto asking = elsewhere.build();
  const Costs one({{1}, {1}}, {}, "test");
  expect_error(ErrorCode::invalid_argument, {"'x'", "/job:ps/task:2", "does not have"},
               [&] { Constraints(*asking, cluster, one, {rule(Kind::respect_devices, {})}); });
}
