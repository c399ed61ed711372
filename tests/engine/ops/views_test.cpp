// Ops whose outputs lie in the memory of what they read.
#include "berth/sdk/ops/views.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "berth/costs.h"

namespace berth {
namespace {

/// An op that reads one input of the model of 8 floats and gives as many of a type.
std::shared_ptr<const Graph> one_op(const std::string& dialect, const std::string& type,
                                    DType given) {
  GraphBuilder builder("g", dialect);
  const OpId x = builder.add_op("x", dialect == "tf" ? "Placeholder" : "Input");
  const TensorId from = builder.add_output(x, {DType::f32, true, {8}});
  const OpId op = builder.add_op("op", type);
  builder.add_input(op, from);
  builder.add_output(op, {given, true, {8}});
  return builder.build();
}

TEST_CASE("views are what runtimes give another shape, name or the type that it has") {
  struct Case {
    const char* dialect;
    const char* type;
    DType given;
    bool view;
  };
  for (const Case& one :
       {Case{"onnx", "Reshape", DType::f32, true}, Case{"onnx", "Transpose", DType::f32, false},
        Case{"onnx", "Relu", DType::f32, false}, Case{"onnx", "Cast", DType::f32, true},
        Case{"onnx", "Cast", DType::f16, false}, Case{"onnx", "Cast", DType::unknown, false},
        Case{"tf", "Identity", DType::f32, true}, Case{"tf", "Cast", DType::f32, true},
        Case{"tf", "Cast", DType::i32, false}, Case{"tf", "Sum", DType::f32, true},
        Case{"tf", "EuclideanNorm", DType::f32, false},
        Case{"onnx", "ReduceSum", DType::f32, false},
        Case{"mlir", "stablehlo.reshape", DType::f32, true},
        Case{"mlir", "torch.aten.view", DType::f32, true},
        Case{"berth", "Reshape", DType::f32, false}}) {
    CAPTURE(one.dialect);
    CAPTURE(one.type);
    const auto graph = one_op(one.dialect, one.type, one.given);
    CHECK(ops::is_view(*graph, 1) == one.view);
    CHECK(ops::is_view(*graph, 0) == false);
    if (graph->dialect() != "berth") CHECK((op_work(*graph, 1).launches == 0) == one.view);
  }
}

TEST_CASE("a view is none where all that it gives is written to the places of inputs") {
  for (const bool more : {false, true}) {
    CAPTURE(more);
    GraphBuilder builder("g");
    const OpId x = builder.add_op("x", "Input");
    const OpId op = builder.add_op("op", "Split");
    builder.set_attribute(op, "view", std::int64_t{1});
    builder.add_input(op, builder.add_output(x, {DType::f32, true, {8}}));
    const std::vector<Graph::State> states = {{builder.add_output(op, {DType::f32, true, {8}}), x}};
    if (more) builder.add_output(op, {DType::f32, true, {1000}});
    const auto graph = builder.build();
    CHECK(ops::is_view(*graph, op));
    CHECK(ops::is_view(*graph->with_states(states), op) == more);
  }
}

TEST_CASE("a Dropout is a view where it drops nothing and nobody reads its mask") {
  struct Case {
    std::int64_t training;
    bool mask;
    bool view;
  };
  for (const Case& one : {Case{0, false, true}, Case{1, false, false}, Case{0, true, false}}) {
    GraphBuilder builder("g", "onnx");
    const OpId x = builder.add_op("x", "Input");
    const OpId op = builder.add_op("op", "Dropout");
    builder.add_input(op, builder.add_output(x, {DType::f32, true, {8}}));
    builder.add_input(op, builder.add_parameter({DType::f32, true, {}}));
    builder.add_input(op, builder.add_parameter({DType::boolean, true, {}}));
    builder.set_attribute(op, "training_mode", one.training);
    builder.add_output(op, {DType::f32, true, {8}});
    const TensorId mask = builder.add_output(op, {DType::boolean, true, {8}});
    if (one.mask) builder.add_input(builder.add_op("reader", "Not"), mask);
    const auto graph = builder.build();
    CHECK(ops::is_view(*graph, op) == one.view);
    CHECK((op_work(*graph, op).launches == 0) == (one.training == 0));
  }
}

TEST_CASE(
    "an update in place is a view, but where it copies first or starts with an empty buffer") {
  for (const std::string has_memory : {"", "copies", "starts_empty"}) {
    CAPTURE(has_memory);
    GraphBuilder builder("g", "mlir");
    const OpId op = builder.add_op("op", "stablehlo.dynamic_update_slice");
    builder.add_input(op, builder.add_parameter({DType::f32, true, {8}}));
    builder.add_input(op, builder.add_parameter({DType::f32, true, {2}}));
    builder.add_output(op, {DType::f32, true, {8}});
    if (!has_memory.empty()) builder.set_attribute(op, has_memory, std::vector<std::int64_t>{1});
    CHECK(ops::is_view(*builder.build(), op) == has_memory.empty());
  }
}

TEST_CASE(
    "an op of which someone says that it works is no view, nor one that a state's place takes") {
  GraphBuilder builder("g", "onnx");
  const OpId x = builder.add_op("x", "Input");
  const TensorId from = builder.add_output(x, {DType::f32, true, {8}});
  const OpId op = builder.add_op("op", "Identity");
  builder.add_input(op, from);
  const TensorId to = builder.add_output(op, {DType::f32, true, {8}});
  const auto plain = builder.build();
  CHECK(ops::is_view(*plain, op));
  const std::vector<Graph::State> states = {{to, x}};
  CHECK_FALSE(ops::is_view(*plain->with_states(states), op));

  GraphBuilder other("g", "onnx");
  other.add_input(other.add_op("op", "Identity"), other.add_parameter({DType::f32, true, {8}}));
  other.set_work(0, Work{.flops = 5});
  CHECK_FALSE(ops::is_view(*other.build(), 0));
}

}  // namespace
}  // namespace berth
