// Ops that write their output over an input.
#include "berth/sdk/ops/overwriting.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "berth/sdk/ops/constants.h"

namespace berth {
namespace {

/// Ops with one output each, of 8 floats but where a test says otherwise.
struct Net {
  explicit Net(const std::string& dialect) : builder("g", dialect) { builder.name_results(); }

  TensorId op(const std::string& type, const std::vector<TensorId>& inputs,
              TensorInfo info = {DType::f32, true, {8}}) {
    const OpId id = builder.add_op("op" + std::to_string(made++), type);
    for (const TensorId input : inputs) builder.add_input(id, input);
    return builder.add_output(id, info);
  }
  TensorId parameter() { return builder.add_parameter({DType::f32, true, {8}}); }
  /// What the ops write over, in their order.
  std::vector<TensorId> overwritten(bool hosts_alone = false) {
    return ops::overwritten_inputs(*builder.build(), hosts_alone);
  }

  GraphBuilder builder;
  int made = 0;
};

TEST_CASE(
    "activations write over what a product gives, in either dialect, others as their runtimes do") {
  struct Case {
    const char* dialect;
    const char* type;
    bool anywhere;
    bool on_hosts;
  };
  for (const Case& one :
       {Case{"onnx", "Relu", true, true}, Case{"onnx", "Tanh", true, true},
        Case{"onnx", "Softmax", false, true}, Case{"onnx", "Exp", false, false},
        Case{"onnx", "Gelu", false, false}, Case{"onnx", "MatMul", false, false},
        Case{"tf", "Relu", true, true}, Case{"tf", "Exp", true, true},
        Case{"tf", "Softmax", true, true}, Case{"mlir", "onnx.Relu", false, false},
        Case{"berth", "Relu", false, false}}) {
    CAPTURE(one.dialect);
    CAPTURE(one.type);
    Net net(one.dialect);
    const TensorId x = net.op("MatMul", {net.parameter()});
    net.builder.add_result(net.op("MatMul", {net.op(one.type, {x})}));
    const auto graph = net.builder.build();
    CHECK((ops::overwritten_inputs(*graph, false)[1] == x) == one.anywhere);
    CHECK((ops::overwritten_inputs(*graph, true)[1] == x) == one.on_hosts);
  }
}

TEST_CASE("nothing is overwritten that others need, or that is no tensor of the step's own") {
  Net net("onnx");
  SUBCASE("another reader") {
    const TensorId x = net.op("MatMul", {net.parameter()});
    net.op("MatMul", {net.op("Relu", {x}), x});
  }
  SUBCASE("the reader reads it twice") {
    const TensorId x = net.op("MatMul", {net.parameter()});
    net.op("Relu", {x, x});
  }
  SUBCASE("a view of it has a reader") {
    const TensorId x = net.op("MatMul", {net.parameter()});
    const TensorId view = net.op("Reshape", {x});
    net.op("MatMul", {net.op("Relu", {x}), view});
  }
  SUBCASE("a view of what others read") {
    const TensorId x = net.op("MatMul", {net.parameter()});
    net.op("MatMul", {net.op("Relu", {net.op("Reshape", {x})}), x});
  }
  SUBCASE("a parameter") {
    net.op("MatMul", {net.op("Relu", {net.parameter()})});
  }
  SUBCASE("a view of one") {
    net.op("MatMul", {net.op("Relu", {net.op("Reshape", {net.parameter()})})});
  }
  SUBCASE("an input") {
    net.op("MatMul", {net.op("Relu", {net.op("Input", {})})});
  }
  SUBCASE("a view of one") {
    net.op("MatMul", {net.op("Relu", {net.op("Reshape", {net.op("Input", {})})})});
  }
  SUBCASE("a constant that is not folded") {
    net.op("MatMul", {net.op("Relu", {net.op("Constant", {})})});
  }
  SUBCASE("a result") {
    const TensorId x = net.op("MatMul", {net.parameter()});
    net.builder.add_result(x);
    net.op("MatMul", {net.op("Relu", {x})});
  }
  SUBCASE("what it gives is a result") {
    net.builder.add_result(net.op("Relu", {net.op("MatMul", {net.parameter()})}));
  }
  SUBCASE("what it gives has another size") {
    const TensorId x = net.op("MatMul", {net.parameter()});
    net.op("MatMul", {net.op("Relu", {x}, {DType::f32, true, {9}})});
  }
  SUBCASE("what it gives has another type of as many bytes") {
    const TensorId x = net.op("MatMul", {net.parameter()});
    net.op("MatMul", {net.op("Relu", {x}, {DType::i32, true, {8}})});
  }
  for (const TensorId tensor : net.overwritten()) CHECK(tensor == kNoTensor);
}

TEST_CASE("chains are in one place, through views") {
  Net net("onnx");
  const TensorId x = net.op("MatMul", {net.parameter()});
  const TensorId relu = net.op("Relu", {x});
  const TensorId view = net.op("Reshape", {relu, net.parameter()}, {DType::f32, true, {2, 4}});
  // The shape is as large as the tensor, which might be a view of either.
  net.op("Tanh", {view});
  const TensorId y = net.op("MatMul", {net.parameter()});
  const TensorId narrow = net.op("Reshape", {y}, {DType::f32, true, {2, 4}});
  net.op("MatMul", {net.op("Tanh", {narrow})});
  CHECK(net.overwritten() == std::vector<TensorId>{kNoTensor, x, kNoTensor, kNoTensor, kNoTensor,
                                                   kNoTensor, narrow, kNoTensor});
}

TEST_CASE("a sum of TensorFlow writes over the first of its operands that is its own") {
  Net net("tf");
  const TensorId a = net.op("MatMul", {net.parameter()});
  const TensorId b = net.op("MatMul", {net.parameter()});
  const TensorId c = net.op("MatMul", {net.parameter()});
  const TensorId first = net.op("AddV2", {a, b});
  const TensorId second = net.op("Mul", {c, first});
  const TensorId third = net.op("Sub", {c, second});
  const TensorId bias = net.op("AddV2", {net.parameter(), third});
  net.builder.add_result(net.op("MatMul", {bias}));
  CHECK(net.overwritten() ==
        std::vector<TensorId>{kNoTensor, kNoTensor, kNoTensor, a, first, second, third, kNoTensor});
}

TEST_CASE("what TensorFlow's sources and ops of control flow give is not overwritten") {
  for (const char* const type : {"Const", "VarHandleOp", "Enter", "Switch"}) {
    CAPTURE(type);
    Net net("tf");
    const TensorId x = net.op(type, {});
    net.op("MatMul", {net.op("Relu", {x})});
    CHECK(net.overwritten()[1] == kNoTensor);
  }
  Net net("tf");
  const TensorId handle = net.op("VarHandleOp", {}, {DType::opaque, true, {}});
  net.op("MatMul", {net.op("Relu", {net.op("ReadVariableOp", {handle})})});
  CHECK(net.overwritten()[2] == kNoTensor);
}

TEST_CASE("what becomes a state is not overwritten") {
  Net net("onnx");
  const TensorId before = net.op("Input", {});
  const TensorId after = net.op("Concat", {before});
  const TensorId relu = net.op("Relu", {after});
  net.builder.add_result(net.op("MatMul", {relu}));
  const auto graph = net.builder.build();
  const std::vector<Graph::State> states = {{after, 0}};
  CHECK(ops::overwritten_inputs(*graph, false)[2] == after);
  CHECK(ops::overwritten_inputs(*graph->with_states(states), false)[2] == kNoTensor);
}

}  // namespace
}  // namespace berth
