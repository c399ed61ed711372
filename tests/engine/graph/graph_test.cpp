#include "berth/graph.h"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "support/expect_error.h"

namespace berth {
namespace {

template <typename Item>
std::vector<Item> list(std::span<const Item> items) {
  return {items.begin(), items.end()};
}

TensorInfo f32(std::vector<std::int64_t> shape) {
  return {DType::f32, true, std::move(shape)};
}

/* a --t0--> b --tb--> d      w (a parameter) is read by b and c
   |         :control    ^
   |         v           |
   +--t0---> c --tc------+
   +--t1-----------------+    */
struct Diamond {
  GraphBuilder builder{"diamond", "onnx"};
  OpId d = builder.add_op("d", "Add");  // forward references: ops need not come in order
  OpId a = builder.add_op("a", "Input");
  OpId b = builder.add_op("b", "MatMul");
  OpId c = builder.add_op("c", "MatMul");
  TensorId t0 = builder.add_output(a, f32({2, 3}), "t0");
  TensorId t1 = builder.add_output(a, f32({-1, 3}), "t1");
  TensorId tb = builder.add_output(b, f32({2, 4}));
  TensorId tc = builder.add_output(c, f32({2, 4}));
  TensorId w = builder.add_parameter({DType::f16, true, {3, 4}}, "w");

  std::shared_ptr<const Graph> build() {
    builder.add_input(b, t0);
    builder.add_input(b, w);
    builder.add_input(c, t0);
    builder.add_input(c, w);
    builder.add_input(d, tb);
    builder.add_input(d, kNoTensor);
    builder.add_input(d, tc);
    builder.add_input(d, t1);
    builder.add_input(d, tb);  // read twice: one edge
    builder.add_control_edge(b, c);
    builder.add_control_edge(a, c);  // implied by t0
    builder.set_param_bytes(b, 100);
    builder.set_colocation(b, "together");
    builder.set_attribute(b, "transB", std::int64_t{1});
    return builder.build();
  }
};

TEST_CASE("Graph: what the builder was told") {
  Diamond diamond;
  const auto graph = diamond.build();
  CHECK(graph->name() == "diamond");
  CHECK(graph->dialect() == "onnx");
  CHECK(graph->op_count() == 4);
  CHECK(graph->find_op("c") == diamond.c);
  CHECK_FALSE(graph->find_op("e").has_value());
  CHECK(list(graph->inputs(diamond.d)) ==
        std::vector<TensorId>{diamond.tb, kNoTensor, diamond.tc, diamond.t1, diamond.tb});
  CHECK(list(graph->outputs(diamond.a)) == std::vector<TensorId>{diamond.t0, diamond.t1});
  CHECK(graph->tensor_name(diamond.t0) == "t0");
  CHECK(graph->colocation(diamond.b) == "together");
  CHECK(graph->colocation(diamond.c).empty());
  REQUIRE(graph->attribute(diamond.b, "transB") != nullptr);
  CHECK(std::get<std::int64_t>(*graph->attribute(diamond.b, "transB")) == 1);
  CHECK(graph->attribute(diamond.b, "transA") == nullptr);
}

TEST_CASE("Graph: edges, each consumer once per tensor, control edges last") {
  Diamond diamond;
  const auto graph = diamond.build();
  const auto in = graph->in_edges(diamond.d);
  REQUIRE(in.size() == 3);
  CHECK(in[0].tensor == diamond.tb);
  CHECK(in[1].tensor == diamond.tc);
  CHECK(in[2].tensor == diamond.t1);
  const auto into_c = graph->in_edges(diamond.c);
  REQUIRE(into_c.size() == 2);
  CHECK(into_c[0].src == diamond.a);
  CHECK(into_c[1].src == diamond.b);
  CHECK(into_c[1].tensor == kNoTensor);
  const auto out = graph->out_edges(diamond.a);
  REQUIRE(out.size() == 3);
  CHECK(out[0].dst == diamond.d);  // by consumer id
  CHECK(out[1].dst == diamond.b);
  CHECK(out[2].dst == diamond.c);
  CHECK(graph->edge_count() == 6);
  CHECK(list(graph->topological_order()) ==
        std::vector<OpId>{diamond.a, diamond.b, diamond.c, diamond.d});
}

TEST_CASE("Graph: sizes") {
  Diamond diamond;
  const auto graph = diamond.build();
  CHECK(graph->bytes(diamond.t0) == 24);
  CHECK_FALSE(graph->bytes_known(diamond.t1));
  CHECK(graph->bytes(diamond.t1) == 0);
  CHECK(graph->output_bytes(diamond.a) == 24);
  CHECK(graph->param_bytes(diamond.b) == 124);
  CHECK(graph->own_param_bytes(diamond.b) == 100);
  CHECK(graph->param_bytes(diamond.c) == 24);
  CHECK(graph->total_param_bytes() == 124);
  REQUIRE(graph->shared_parameters().size() == 1);
  CHECK(graph->shared_parameters()[0].consumers == std::vector<OpId>{diamond.b, diamond.c});
}

TEST_CASE("element_count") {
  const auto count = [](std::vector<std::int64_t> shape) { return element_count(shape); };
  CHECK(count({}) == 1);
  CHECK(count({2, 3}) == 6);
  CHECK(count({2, -1}) == kUnknownDim);
  CHECK(count({std::int64_t{1} << 62, 8, 0}) == 0);
  CHECK(count({std::int64_t{1} << 62, 8}) == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("GraphBuilder::build refuses broken graphs") {
  GraphBuilder builder("g");
  const OpId a = builder.add_op("a", "Op");
  const OpId b = builder.add_op("b", "Op");
  const TensorId ta = builder.add_output(a, {});
  const TensorId tb = builder.add_output(b, {});
  const auto refuse = [&](std::initializer_list<std::string_view> parts) {
    test::expect_error(ErrorCode::invalid_graph, parts,
                       [&] { static_cast<void>(builder.build()); });
  };
  SUBCASE("a cycle, shown") {
    builder.add_input(b, ta);
    builder.add_input(a, tb);
    builder.add_input(builder.add_op("c", "Op"), tb);
    refuse({"'g'", "cycle", "a -> b -> a"});
  }
  SUBCASE("an op that waits for itself") {
    builder.add_input(a, ta);
    refuse({"a -> a"});
  }
  SUBCASE("a cycle of control edges") {
    builder.add_control_edge(a, b);
    builder.add_control_edge(b, a);
    refuse({"cycle"});
  }
  SUBCASE("two ops of one name") {
    builder.add_op("a", "Op");
    refuse({"#0", "#2", "'a'"});
  }
  SUBCASE("an op without a name") {
    builder.add_op("", "Op");
    refuse({"#2", "no name"});
  }
  SUBCASE("outputs too large together") {
    const std::int64_t huge = std::int64_t{1} << 62;
    for (int i = 0; i < 2; ++i) builder.add_output(a, {DType::u8, false, {}, huge});
    refuse({"op 'a'", "2^63"});
  }
}

TEST_CASE("GraphBuilder refuses bad values at once") {
  GraphBuilder builder("g");
  const OpId a = builder.add_op("a", "Op");
  const TensorId ta = builder.add_output(a, {});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(builder.add_input(a, ta + 1), Error);
  CHECK_THROWS_AS(builder.add_input(a, -2), Error);
  CHECK_THROWS_AS(builder.add_input(a + 1, ta), Error);
  CHECK_THROWS_AS(builder.add_output(-1, {}), Error);
  CHECK_THROWS_AS(builder.add_control_edge(a, 7), Error);
  CHECK_THROWS_AS(builder.add_output(a, {DType::f32, false, {}, -5}), Error);
  CHECK_THROWS_AS(builder.add_output(a, f32({-2})), Error);
  CHECK_THROWS_AS(builder.add_output(a, f32({std::int64_t{1} << 40, std::int64_t{1} << 40})),
                  Error);
  CHECK_THROWS_AS(builder.set_param_bytes(a, -1), Error);
  CHECK_THROWS_AS(builder.set_cost(a, "gpu", -1), Error);
  CHECK_THROWS_AS(builder.set_cost(a, "gpu", nan), Error);
  CHECK_THROWS_AS(builder.set_work(a, {.flops = nan}), Error);
  // What was refused left no trace.
  CHECK(builder.build()->op_count() == 1);
}

TEST_CASE("GraphBuilder: one that was moved from says so, and one that failed is empty") {
  GraphBuilder first("g");
  first.add_op("a", "Op");
  GraphBuilder second = std::move(first);
  CHECK(first.op_count() == 0);  // NOLINT: what is left of it is the question
  CHECK_THROWS_AS(first.add_op("b", "Op"), Error);
  CHECK_THROWS_AS(first.add_output(0, {}), Error);
  CHECK_THROWS_AS(first.add_parameter({}), Error);
  CHECK_THROWS_AS(first.set_cost(0, "", 1), Error);
  CHECK_THROWS_AS(static_cast<void>(first.build()), Error);
  first = GraphBuilder("again");
  CHECK(first.add_op("b", "Op") == 0);

  second.add_control_edge(0, 0);
  CHECK_THROWS_AS(static_cast<void>(second.build()), Error);
  CHECK(second.op_count() == 0);
  CHECK(second.add_op("c", "Op") == 0);
  CHECK(second.build()->op_count() == 1);
}

TEST_CASE("GraphBuilder: one that has built makes graphs of the same name and dialect") {
  GraphBuilder builder("g", "onnx");
  builder.add_op("a", "Relu");
  CHECK(builder.build()->dialect() == "onnx");
  CHECK(builder.op_count() == 0);
  builder.add_op("a", "Relu");
  const auto second = builder.build();
  CHECK(second->name() == "g");
  CHECK(second->dialect() == "onnx");
}

}  // namespace
}  // namespace berth
