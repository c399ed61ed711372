#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "berth/files.h"
#include "berth/sdk/ops/constants.h"
#include "berth/support/text.h"
#include "support/data.h"
#include "support/expect_error.h"

namespace berth {
namespace {

const std::string kGood = R"({
  "format": "berth.graph/1", "name": "g",
  "ops": [{"name": "a", "type": "X", "cost_us": 3, "output_bytes": [10, 20]},
          {"name": "b", "type": "Y", "cost_us": {"gpu": 1.5, "cpu": 4}, "output_bytes": [],
           "param_bytes": 7, "colocate": "c"}],
  "edges": [{"src": 0, "output": 1, "dst": 1}]})";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("parse_graph reads every key") {
  const auto graph = parse_graph(kGood, "g.graph.json");
  CHECK(graph->op_count() == 2);
  CHECK(graph->stated_costs(0).size() == 1);
  CHECK(graph->stated_costs(0)[0].us == 3);
  CHECK(graph->stated_costs(1).size() == 2);
  CHECK(graph->param_bytes(1) == 7);
  CHECK(graph->colocation(1) == "c");
  REQUIRE(graph->in_edges(1).size() == 1);
  CHECK(graph->bytes(graph->in_edges(1)[0].tensor) == 20);
}

TEST_CASE("parse_graph: an edge without output is a control edge") {
  const auto graph = parse_graph(with(R"("output": 1, )", ""), "g");
  REQUIRE(graph->in_edges(1).size() == 1);
  CHECK(graph->in_edges(1)[0].tensor == kNoTensor);
}

TEST_CASE("parse_graph: sizes up to 2^63 - 1, in any form of a number") {
  for (const char* const size : {"4.7e18", "9e18", "9223372036854774784.0"}) {
    const auto graph =
        parse_graph(with(R"("param_bytes": 7)", cat(R"("param_bytes": )", size)), "g");
    CHECK(static_cast<double>(graph->param_bytes(1)) == std::stod(size));
  }
}

TEST_CASE("results are what the file names, and written again") {
  const auto unnamed = parse_graph(kGood, "g");
  CHECK_FALSE(unnamed->names_results());
  CHECK(unnamed->lasting_bytes(0) == 0);

  const auto named = parse_graph(
      with(R"("dst": 1}])", R"("dst": 1}], "results": [{"src": 0, "output": 1}])"), "g");
  CHECK(named->names_results());
  CHECK_FALSE(named->is_result(named->outputs(0)[0]));
  CHECK(named->is_result(named->outputs(0)[1]));
  CHECK(named->lasting_bytes(0) == 20);

  const Cluster cluster("c", std::vector<Device>(1, Device{.name = "gpu", .kind = "gpu"}), {});
  for (const auto& graph : {unnamed, named}) {
    const auto again =
        parse_graph(graph_json(*graph, *Costs::stated(*graph, cluster), cluster), "g");
    CHECK(again->names_results() == graph->names_results());
    CHECK(again->lasting_bytes(0) == graph->lasting_bytes(0));
  }
  const auto none = parse_graph(with(R"("dst": 1}])", R"("dst": 1}], "results": [])"), "g");
  CHECK(none->lasting_bytes(0) == 0);
}

TEST_CASE("a parameter that several ops read is written once, and resides once where they run") {
  GraphBuilder builder("tied");
  const TensorId weight = builder.add_parameter({DType::f32, true, {1024}}, "left");
  const TensorId own = builder.add_parameter({DType::f32, true, {8}});
  for (const char* const name : {"left", "right"}) {
    const OpId op = builder.add_op(name, "X");
    builder.add_input(op, weight);
    builder.add_input(op, own);
    builder.set_param_bytes(op, 100);
    builder.set_cost(op, {}, 1);
  }
  const auto graph = builder.build();
  const Cluster cluster("c", std::vector<Device>(1, Device{.name = "gpu", .kind = "gpu"}), {});
  const std::string json = graph_json(*graph, *Costs::stated(*graph, cluster), cluster);
  const auto again = ops::fold_constants(parse_graph(json, "g"));
  CHECK(graph->total_param_bytes() == 4096 + 32 + 200);
  CHECK(again->total_param_bytes() == graph->total_param_bytes());
  REQUIRE(again->shared_parameters().size() == 2);
  CHECK(again->shared_parameters()[0].bytes == 4096);
  CHECK(again->find_op("left#2"));  // an op has the parameter's name
  CHECK(again->own_param_bytes(*again->find_op("left")) == 100);
}

TEST_CASE("workspaces and states are written and read again") {
  GraphBuilder builder("decoder");
  const OpId cache = builder.add_op("cache", "Input");
  const OpId small = builder.add_op("small", "Input");
  const OpId attend = builder.add_op("attend", "Attend");
  const TensorId old = builder.add_output(cache, {DType::f32, true, {100}});
  const TensorId older = builder.add_output(small, {DType::f32, true, {10}});
  builder.add_input(attend, old);
  builder.add_input(attend, older);
  const TensorId next = builder.add_output(attend, {DType::f32, true, {100}});
  const TensorId grown = builder.add_output(attend, {DType::f32, true, {20}});
  for (const OpId op : {cache, small, attend}) builder.set_cost(op, {}, 1);
  const Cluster cluster("c", std::vector<Device>(1, Device{.name = "gpu", .kind = "gpu"}), {});
  const Costs costs({{1, 1, 1}}, {0, 0, 4096}, "made");
  const auto plain = builder.build();
  const Graph::State same{next, cache};
  const Graph::State larger{grown, small};
  const std::vector<Graph::State> first = {same};
  const std::vector<Graph::State> both = {same, larger};
  const auto one = plain->with_states(first);
  const auto two = plain->with_states(both);
  for (const auto& graph : {plain, one, two, two->with_states(both)}) {
    const auto again = parse_graph(graph_json(*graph, costs, cluster), "g");
    CHECK(std::ranges::equal(again->states(), graph->states()));
    CHECK(again->reused_bytes(attend) == graph->reused_bytes(attend));
    CHECK(again->lasting_bytes(attend) == graph->lasting_bytes(attend));
    CHECK(again->colocation(attend) == graph->colocation(attend));
    CHECK(Costs::stated(*again, cluster)->workspace_bytes(attend) == 4096);
    CHECK(Costs::stated_or_roofline(*again, cluster)->workspace_bytes(attend) == 4096);
  }
}

TEST_CASE("a constant that no op reads is written, and returned where the step returns it") {
  GraphBuilder builder("g");
  const OpId table = builder.add_op("table", "Const"), x = builder.add_op("x", "Input");
  const OpId op = builder.add_op("op", "Op");
  builder.set_pure(table);
  builder.add_input(op, builder.add_output(x, {DType::f32, true, {5}}));
  builder.add_output(table, {DType::f32, true, {10}});
  const TensorId returned = builder.add_output(table, {DType::f32, true, {250}});
  builder.add_result(returned);
  builder.add_result(builder.add_output(op, {DType::f32, true, {5}}));
  for (const OpId each : {table, x, op}) builder.set_cost(each, {}, 1);
  const auto graph = ops::fold_constants(builder.build());
  REQUIRE(graph->is_constant(table));
  const Cluster cluster("c", std::vector<Device>(1, Device{.name = "gpu", .kind = "gpu"}), {});
  const auto again = ops::fold_constants(
      parse_graph(graph_json(*graph, *Costs::stated(*graph, cluster), cluster), "g"));
  CHECK(again->total_param_bytes() == 1040);
  const auto found = again->find_op("table");
  REQUIRE(found);
  CHECK(again->is_constant(*found));
  CHECK_FALSE(again->is_result(again->outputs(*found)[0]));
  CHECK(again->is_result(again->outputs(*found)[1]));
  CHECK(again->is_result(again->outputs(*again->find_op("op"))[0]));
}

TEST_CASE("parse_graph takes the file apart as JSON has it, whatever its texts and spaces hold") {
  const auto graph = parse_graph(
      "\xEF\xBB\xBF \n{\"edges\" :\t[ {\"src\":0,\"dst\" : 1} ] , \"format\":\"berth.graph/1\",\r\n"
      R"("\u006fps":[{"name":"a]\\\"}, {","type":"X","output_bytes":[ ]},)"
      R"({"name":"[\\","type":":,","output_bytes":[1 ,2]}],"name":"{[\""} )",
      "odd.graph.json");
  CHECK(graph->name() == "{[\"");
  REQUIRE(graph->op_count() == 2);
  CHECK(graph->op_name(0) == "a]\\\"}, {");
  CHECK(graph->op_name(1) == "[\\");
  CHECK(graph->op_type(1) == ":,");
  CHECK(graph->outputs(1).size() == 2);
  REQUIRE(graph->in_edges(1).size() == 1);
  CHECK(graph->in_edges(1)[0].src == 0);
}

TEST_CASE("parse_graph refuses a bad file, naming file, place and fix") {
  struct Case {
    std::string json;
    std::vector<std::string> parts;
  };
  const std::vector<Case> cases = {
      {"", {"empty"}},
      {"{\n  \"format\": ", {"line 2"}},
      {"[1, 2", {"line 1, column"}},
      {"[]", {"expected an object"}},
      {"\"{\"", {"expected an object"}},
      {with(R"("edges": [)", R"("edges": [7, )"), {"at edges[0]", "expected an object"}},
      {with(R"("edges": [)", R"("edges": 7, "results": [)"), {"at edges", "expected a list"}},
      {with(R"("edges")", R"("results")"), {"'edges' is missing"}},
      {with("berth.graph/1", "berth.graph/2"), {"at format", "'berth.graph/2'"}},
      {with(R"("name": "g",)", ""), {"'name' is missing"}},
      {with(R"("type": "X",)", ""), {"at ops[0]", "'type' is missing"}},
      {with(R"("colocate")", R"("colocation")"), {"at ops[1]", "did you mean 'colocate'"}},
      {with(R"("cost_us": 3)", R"("cost_us": -3)"), {"at ops[0].cost_us"}},
      {with(R"("cost_us": 3)", R"("cost_us": "3")"), {"at ops[0].cost_us", "number"}},
      {with(R"("cost_us": 3)", R"("cost_us": {})"), {"at ops[0].cost_us", "no device kind"}},
      {with("[10, 20]", "[10, -20]"), {"at ops[0].output_bytes[1]"}},
      {with("[10, 20]", "[10, 1.5]"), {"at ops[0].output_bytes[1]", "whole"}},
      {with("[10, 20]", "[10, 1e300]"), {"at ops[0].output_bytes[1]", "not within 2^63 - 1"}},
      {with("[10, 20]", "[10, 9223372036854775808]"), {"not within 2^63 - 1"}},
      {with(R"("dst": 1}])", R"("dst": 1}], "results": [{"src": 1, "output": 0}])"),
       {"at results[0]", "no outputs"}},
      {with(R"("dst": 1}])", R"("dst": 1}], "results": [{"src": 0, "output": 2}])"),
       {"at results[0].output"}},
      {with(R"("dst": 1}])", R"("dst": 1}], "states": [{"src": 0, "output": 1, "input": 2}])"),
       {"at states[0].input", "from 0 to 1"}},
      {with(R"("dst": 1}])", R"("dst": 1}], "states": [{"src": 0, "output": 1, "input": 0}])"),
       {"'a' is no input"}},
      {with(R"("cost_us": 3)", R"("workspace_bytes": 3)"),
       {"at ops[0].workspace_bytes", "cost_us", "costs file"}},
      {with("[10, 20]", "[10, 99999999999999999999]"), {"at ops[0].output_bytes[1]"}},
      {with("[10, 20]", "[9223372036854775807, 9223372036854775807]"), {"op 'a'", "2^63"}},
      {with("[10, 20]", "10"), {"at ops[0].output_bytes", "list"}},
      {with(R"("src": 0)", R"("src": 2)"), {"at edges[0].src", "from 0 to 1"}},
      {with(R"("dst": 1)", R"("dst": -1)"), {"at edges[0].dst"}},
      {with(R"("output": 1)", R"("output": 2)"), {"at edges[0].output"}},
      {with(R"("src": 0)", R"("src": 1)"), {"at edges[0]", "no outputs"}},
      {with(R"("dst": 1)", R"("dst": 0)"), {"cycle"}},
      {with(R"("name": "b")", R"("name": "a")"), {"both named 'a'"}},
      {with(R"("name": "b")", R"("name": "")"), {"no name"}},
      {with(R"("src": 0)", R"("src": 0, "src": 1)"), {"'src' appears twice"}},
      {with(R"("name": "b")", R"("name": "b\u0000c")"), {"NUL character (\\u0000) follows 'b'"}},
      {with(R"("colocate")", R"("coloc\u0000ate")"), {"NUL character (\\u0000) follows 'coloc'"}},
      {std::string(100000, '['), {"not valid JSON"}},
  };
  for (const Case& bad : cases) {
    CAPTURE(bad.json.substr(0, 200));
    try {
      static_cast<void>(parse_graph(bad.json, "bad.graph.json"));
      FAIL_CHECK("accepted");
    } catch (const Error& error) {
      const std::string message = error.what();
      CHECK(error.code() == ErrorCode::invalid_file);
      CHECK(message.rfind("bad.graph.json: ", 0) == 0);
      for (const std::string& part : bad.parts) {
        CHECK_MESSAGE(message.find(part) != std::string::npos, message, " lacks ", part);
      }
    }
  }
}

TEST_CASE("load_graph reads the shared workloads") {
  if (!test::have_shared_data("load_graph")) return;
  CHECK(load_graph(test::shared_path("pipeline/bert24.graph.json"))->op_count() > 20);
  CHECK(load_graph(test::shared_path("pipeline/bert_l3_ops.graph.json"))->op_count() > 200);
}

}  // namespace
}  // namespace berth
