#include <doctest/doctest.h>

#include "berth/colocation.h"
#include "berth/error.h"
#include "berth/groups.h"

using namespace berth;

namespace {

/// c ----> a -> b -> d      "leaf" is a constant nobody reads; side is a second result.
///          \-> side        w is a parameter of a, shared with side.
std::shared_ptr<const Graph> model() {
  GraphBuilder builder("model", "onnx");
  const OpId c = builder.add_op("c", "Constant");
  const OpId a = builder.add_op("a", "MatMul");
  const OpId leaf = builder.add_op("leaf", "Constant");
  const OpId b = builder.add_op("b", "Relu");
  const OpId side = builder.add_op("side", "Add");
  const OpId d = builder.add_op("d", "Softmax");
  const TensorInfo info{DType::f32, true, {2, kUnknownDim}, 64};
  const TensorId out_c = builder.add_output(c, info, "c_out");
  const TensorId out_a = builder.add_output(a, info, "a_out");
  builder.add_output(leaf, info);
  const TensorId out_b = builder.add_output(b, info, "b_out");
  builder.add_output(side, info, "side_out");
  builder.add_output(d, info, "d_out");
  const TensorId w = builder.add_parameter({DType::f16, true, {5}, 10}, "w");
  builder.add_input(a, out_c);
  builder.add_input(a, w);
  builder.add_input(b, out_a);
  builder.add_input(side, out_a);
  builder.add_input(side, kNoTensor);
  builder.add_input(side, w);
  builder.add_input(d, out_b);
  builder.add_control_edge(c, d);
  builder.set_param_bytes(a, 7);
  builder.set_attribute(a, "axis", std::int64_t{3});
  builder.set_colocation(a, "together");
  builder.set_requested_device(b, "/gpu:0");
  builder.set_cost(d, "k80", 2.5);
  builder.set_work(d, {1, 2, OpClass::reduction, DType::f16, 3});
  return builder.build();
}

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> result;
  for (OpId op = 0; op < graph.op_count(); ++op) result.push_back(graph.op_name(op));
  return result;
}

}  // namespace

TEST_CASE("prune: keeps what the fetches need") {
  const auto graph = model();
  using Names = std::vector<std::string>;

  SUBCASE("without fetches only constants that nobody reads go") {
    CHECK(names(*prune(*graph, {})) == Names{"c", "a", "b", "side", "d"});
  }
  SUBCASE("by op name, through data and control edges") {
    const Names fetches{"d"};
    CHECK(names(*prune(*graph, fetches)) == Names{"c", "a", "b", "d"});
  }
  SUBCASE("by output name") {
    const Names fetches{"b_out"};
    CHECK(names(*prune(*graph, fetches)) == Names{"c", "a", "b"});
  }
  SUBCASE("a constant that is asked for stays") {
    const Names fetches{"leaf"};
    CHECK(names(*prune(*graph, fetches)) == Names{"leaf"});
  }
  SUBCASE("an unknown name is an error that lists the results") {
    const Names fetches{"nope"};
    CHECK_THROWS_WITH_AS(static_cast<void>(prune(*graph, fetches)),
                         "graph 'model' has no op or output 'nope'; its results are side, d",
                         Error);
  }
}

TEST_CASE("prune: everything known of an op is kept") {
  const std::vector<std::string> fetches{"d", "side"};
  const auto graph = prune(*model(), fetches);
  CHECK(graph->name() == "model");
  CHECK(graph->dialect() == "onnx");
  const OpId a = graph->find_op("a").value();
  const OpId side = graph->find_op("side").value();
  const OpId d = graph->find_op("d").value();
  CHECK(graph->op_type(a) == "MatMul");
  CHECK(graph->param_bytes(a) == 17);
  CHECK(graph->own_param_bytes(a) == 7);
  CHECK(graph->total_param_bytes() == 17);
  REQUIRE(graph->shared_parameters().size() == 1);
  CHECK(graph->tensor_name(graph->shared_parameters()[0].tensor) == "w");
  CHECK(std::get<std::int64_t>(*graph->attribute(a, "axis")) == 3);
  CHECK(graph->colocation(a) == "together");
  CHECK(graph->requested_device(graph->find_op("b").value()) == "/gpu:0");
  REQUIRE(graph->inputs(side).size() == 3);
  CHECK(graph->inputs(side)[1] == kNoTensor);
  CHECK(graph->inputs(side)[2] == graph->inputs(a)[1]);
  REQUIRE(graph->stated_costs(d).size() == 1);
  CHECK(graph->stated_costs(d)[0].kind == "k80");
  CHECK(graph->stated_work(d)->launches == 3);
  CHECK(graph->in_edges(d).size() == 2);
  const TensorId out = graph->outputs(d)[0];
  CHECK(graph->dtype(out) == DType::f32);
  CHECK(graph->shape(out)[1] == kUnknownDim);
  CHECK(graph->bytes(out) == 64);
}

TEST_CASE("free_gradients: what reads from outside of its class is free of it") {
  // weights -> read -> loss -> op_grad -> update
  GraphBuilder builder("training", "tf");
  for (const char* const name : {"weights", "read", "loss", "op_grad", "update"}) {
    builder.add_output(builder.add_op(name, "Op"), {DType::f32, true, {2}, 8});
  }
  for (OpId op = 0; op < 4; ++op) builder.add_input(op + 1, op);
  builder.set_param_bytes(0, 8);
  for (const OpId op : {0, 1, 4}) builder.set_colocation(op, "weights");
  for (const OpId op : {2, 3}) builder.set_colocation(op, "loss");
  const auto graph = builder.build();
  const auto freed = free_gradients(*graph);
  REQUIRE(freed->op_count() == 5);
  for (OpId op = 0; op < 5; ++op) {
    CHECK(freed->op_name(op) == graph->op_name(op));
    CHECK(freed->colocation(op) == (op < 2 ? "weights" : ""));
    CHECK(freed->in_edges(op).size() == graph->in_edges(op).size());
  }
  CHECK(freed->param_bytes(0) == 8);
  CHECK_FALSE(colocation_groups(*graph)->acyclic());
  CHECK(colocation_groups(*freed)->acyclic());
}
