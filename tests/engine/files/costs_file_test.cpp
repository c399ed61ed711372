#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "berth/files.h"
#include "support/expect_error.h"

namespace berth {
namespace {

using nlohmann::json;

std::shared_ptr<const Graph> two_ops() {
  GraphBuilder builder("g");
  builder.add_op("a", "Op");
  builder.add_op("b \"quoted\" \xc3\xa9", "Op");
  return builder.build();
}

Cluster cpu_and_gpu() {
  Device cpu, gpu;
  cpu.name = cpu.kind = "cpu";
  gpu.name = gpu.kind = "gpu";
  return Cluster("c", {cpu, gpu}, {{"*", "*", 1e9, 0, {}}});
}

TEST_CASE("costs_json reads back to the same costs") {
  const auto graph = two_ops();
  const Cluster cluster = cpu_and_gpu();
  const Costs costs({{0.1, kCannotRun}, {0, 1e-9}}, {0, 77}, "mine", {{1, 0}});
  const auto read = parse_costs(costs_json(*graph, costs, cluster), "c.json", *graph, cluster);
  for (KindId kind = 0; kind < 2; ++kind) {
    for (OpId op = 0; op < 2; ++op) CHECK(read->op_us(op, kind) == costs.op_us(op, kind));
  }
  CHECK(read->workspace_bytes(0) == 0);
  CHECK(read->workspace_bytes(1) == 77);
  CHECK(read->source() == "c.json");
  REQUIRE(read->joined().size() == 1);
  CHECK(read->joined()[0].op == 1);
  CHECK(read->joined()[0].with == 0);
  std::string other = costs_json(*graph, costs, cluster);
  other.replace(other.find(R"(": "a")") + 4, 1, "x");
  test::expect_error(ErrorCode::invalid_file, {"c.json", "'x'", "another graph"},
                     [&] { (void)parse_costs(other, "c.json", *graph, cluster); });
}

TEST_CASE("parse_costs takes the costs that a graph file states") {
  const Cluster cluster = cpu_and_gpu();
  GraphBuilder builder("g");
  builder.add_op("a", "Op");
  const auto graph = builder.build();
  const std::string good = R"({"format": "berth.graph/1", "name": "other", "edges": [], "ops": [
      {"name": "z", "type": "T", "cost_us": 1, "output_bytes": []},
      {"name": "a", "type": "T", "cost_us": {"gpu": 2.5}, "workspace_bytes": 64,
       "output_bytes": []}]})";
  const auto costs = parse_costs(good, "g.json", *graph, cluster);
  CHECK(costs->workspace_bytes(0) == 64);
  CHECK(costs->op_us(0, cluster.kind_of(1)) == 2.5);
  CHECK_FALSE(costs->can_run(0, cluster.kind_of(0)));
  std::string without = good;
  const std::string stated = R"("cost_us": {"gpu": 2.5}, "workspace_bytes": 64,)";
  without.erase(without.find(stated), stated.size());
  test::expect_error(ErrorCode::invalid_file, {"g.json", "'a'", "no cost"},
                     [&] { (void)parse_costs(without, "g.json", *graph, cluster); });
  const auto another = two_ops();
  test::expect_error(ErrorCode::invalid_file, {"g.json", "'b ", "another graph"},
                     [&] { (void)parse_costs(good, "g.json", *another, cluster); });
}

TEST_CASE("parse_costs refuses what does not fit, naming the place") {
  GraphBuilder builder("g");
  builder.add_op("a", "Op");
  builder.add_op("b", "Op");
  const auto graph = builder.build();
  const Cluster cluster = cpu_and_gpu();
  const json good = {{"format", "berth.costs/1"},
                     {"graph", "g"},
                     {"kinds", {"cpu", "gpu", "tpu"}},
                     {"ops", {{"a", {{"cpu", 1}, {"tpu", 3}}}, {"b", {{"gpu", 2}}}}}};
  const auto read = parse_costs(good.dump(), "c.json", *graph, cluster);
  CHECK(read->op_us(0, cluster.kind_of(0)) == 1);
  CHECK_FALSE(read->can_run(0, cluster.kind_of(1)));

  struct Case {
    const char* what;
    std::function<void(json&)> spoil;
    std::initializer_list<std::string_view> parts;
  };
  const Case cases[] = {
      {"another format", [](json& d) { d["format"] = "berth.costs/2"; }, {"format", "costs/1"}},
      {"an unknown key", [](json& d) { d["op"] = 1; }, {"unknown key 'op'"}},
      {"no kinds", [](json& d) { d.erase("kinds"); }, {"'kinds'", "missing"}},
      {"a kind of the cluster without costs",
       [](json& d) { d["kinds"] = {"cpu"}; },
       {"kinds", "'gpu'", "'c'", "cpu"}},
      {"a misspelt kind", [](json& d) { d["ops"]["a"]["cpv"] = 1; }, {"ops.a", "'cpv'", "cpu"}},
      {"an unknown op", [](json& d) { d["ops"]["z"]["cpu"] = 1; }, {"ops.z", "'g'", "another"}},
      {"a missing op", [](json& d) { d["ops"].erase("b"); }, {"ops", "'b'", "missing"}},
      {"a negative cost", [](json& d) { d["ops"]["a"]["cpu"] = -1; }, {"ops.a.cpu", "-1"}},
      {"a cost in text", [](json& d) { d["ops"]["a"]["cpu"] = "1"; }, {"ops.a.cpu", "number"}},
      {"a bare cost", [](json& d) { d["ops"]["a"] = 1; }, {"ops.a", "object"}},
      {"ops as a list", [](json& d) { d["ops"] = json::array(); }, {"ops", "object"}},
      {"workspace as a number", [](json& d) { d["workspace_bytes"] = 1; }, {"workspace_bytes"}},
      {"negative workspace",
       [](json& d) { d["workspace_bytes"]["a"] = -1; },
       {"workspace_bytes.a"}},
      {"workspace of an unknown op",
       [](json& d) { d["workspace_bytes"]["z"] = 1; },
       {"workspace_bytes.z", "another"}},
      {"a list", [](json& d) { d = json::array(); }, {"object"}},
  };
  for (const Case& bad : cases) {
    CAPTURE(bad.what);
    json document = good;
    bad.spoil(document);
    test::expect_error(ErrorCode::invalid_file, bad.parts,
                       [&] { (void)parse_costs(document.dump(), "c.json", *graph, cluster); });
  }
}

}  // namespace
}  // namespace berth
