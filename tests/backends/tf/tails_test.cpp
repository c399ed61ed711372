// Layers that do the work of the functions behind them, wherever these are.
#include <ATen/Functions.h>

#include "cpu/backend.h"
#include "frontends/tf/text_graph.h"
#include "step.h"
#include "support/temporary_folder.h"
#include "support/torch_doctest.h"

namespace berth::runtime {
namespace {

using tf_frontend::attr;
using tf_frontend::kFloats;
using tf_frontend::node;
using tf_frontend::placeholder;

struct Case {
  std::string ops;  ///< from y to z
  std::size_t joined;
  at::Tensor (*function)(const at::Tensor& y);
};

const std::vector<Case> kCases = {
    {node("z", "Relu", "y", kFloats), 1, [](const at::Tensor& y) { return at::relu(y); }},
    {node("z", "Relu6", "y", kFloats), 1, [](const at::Tensor& y) { return at::clamp(y, 0, 6); }},
    {node("z", "LeakyRelu", "y", kFloats), 1,
     [](const at::Tensor& y) { return at::leaky_relu(y, 0.2); }},
    {node("s", "Sigmoid", "y", kFloats) + node("z", "Mul", "s y", kFloats), 2,
     [](const at::Tensor& y) { return at::mul(y, at::sigmoid(y)); }},
    {node("s", "Sigmoid", "y", kFloats) + node("z", "AddV2", "s y", kFloats), 0,
     [](const at::Tensor& y) { return at::add(y, at::sigmoid(y)); }},
};

/// One Switch: the ops of such a graph are told which of them run.
const std::string kBranch =
    node("taken", "Const", "",
         attr("dtype", "type: DT_BOOL") +
             attr("value", "tensor { dtype: DT_BOOL tensor_shape { } bool_val: true }")) +
    node("switch", "Switch", "x taken", kFloats);

TEST_CASE("layers of TensorFlow's do the work of the functions behind them, on one device") {
  Options two(cpu::kOptions);
  two.set("backend 'cpu'", "devices", std::int64_t{2});
  const auto backend = std::make_unique<cpu::CpuBackend>(two);
  const test::TemporaryFolder folder;
  const at::Tensor x = at::linspace(-9, 9, 24, at::kFloat).reshape({4, 6});
  SessionOptions given;
  given.inputs["x"].dtype = DType::f32;
  given.inputs["x"].shape = {4, 6};
  given.inputs["x"].bytes = {static_cast<const std::byte*>(x.data_ptr()), x.nbytes()};
  for (const bool branches : {false, true}) {
    for (const Case& one : kCases) {
      CAPTURE(one.ops);
      const std::string layer = branches ? node("y", "AddV2", "switch:1 switch:1", kFloats)
                                         : node("y", "AddV2", "x x", kFloats);
      write_file(folder / "graph.pbtxt",
                 placeholder("x", {4, 6}) + (branches ? kBranch : "") + layer + one.ops);
      const auto program = load_tf(folder / "graph.pbtxt", {"z:0"});
      const auto session = backend->open(program, given);
      CHECK(session->joined().size() == (branches ? 0 : one.joined));
      const Graph& graph = *program->graph;
      for (const std::string away : {"", "z", "s", "y"}) {
        CAPTURE(away);
        Placement placement;
        for (OpId op = 0; op < graph.op_count(); ++op) {
          placement.push_back(graph.op_name(op) == away ? 1 : 0);
        }
        StepOptions options;
        options.outputs = true;
        const StepResult result = session->run(placement, options);
        CHECK(difference(make_tensor(result.outputs[0]), one.function(at::add(x, x))) < 1e-6);
      }
    }
  }
}

/// A constant of numbers around 0.
std::string constant(const std::string& name, const std::vector<int>& shape, double least = -2) {
  std::string dims, values;
  int count = 1;
  for (const int dim : shape) {
    dims += " dim { size: " + std::to_string(dim) + " }";
    count *= dim;
  }
  for (int i = 0; i < count; ++i) {
    values += " float_val: " + std::to_string(least + (i * 5 % 7) * 0.5);
  }
  return node(
      name, "Const", "",
      attr("dtype", "type: DT_FLOAT") +
          attr("value", "tensor { dtype: DT_FLOAT tensor_shape {" + dims + " }" + values + " }"));
}

TEST_CASE(
    "convolutions of TensorFlow's images do the work of biases, normalizations and functions") {
  Options two(cpu::kOptions);
  two.set("backend 'cpu'", "devices", std::int64_t{2});
  const auto backend = std::make_unique<cpu::CpuBackend>(two);
  const test::TemporaryFolder folder;
  const at::Tensor x = at::linspace(-3, 5, 2 * 6 * 5 * 3, at::kFloat).reshape({2, 6, 5, 3});
  SessionOptions given;
  given.inputs["x"].dtype = DType::f32;
  given.inputs["x"].shape = {2, 6, 5, 3};
  given.inputs["x"].bytes = {static_cast<const std::byte*>(x.data_ptr()), x.nbytes()};
  const auto windows = [](int stride) {
    const std::string step = std::to_string(stride);
    return kFloats + attr("padding", "s: 'SAME'") +
           attr("strides", "list { i: 1 i: " + step + " i: " + step + " i: 1 }");
  };
  const std::string normal = kFloats + attr("U", "type: DT_FLOAT") + attr("epsilon", "f: 0.01") +
                             attr("is_training", "b: false");
  write_file(folder / "graph.pbtxt",
             placeholder("x", {2, 6, 5, 3}) + constant("w", {2, 3, 3, 4}) +
                 constant("each", {3, 3, 4, 2}) + constant("scale", {4}) + constant("mean", {4}) +
                 constant("variance", {4}, 1) + constant("bias", {8}) +
                 constant("factor", {1, 1, 1, 8}) + node("c", "Conv2D", "x w", windows(2)) +
                 node("n", "FusedBatchNormV3", "c scale mean mean variance", normal) +
                 node("r", "Relu6", "n", kFloats) +
                 node("d", "DepthwiseConv2dNative", "r each", windows(1)) +
                 node("m", "Mul", "d factor", kFloats) + node("b", "BiasAdd", "m bias", kFloats) +
                 node("s", "Sigmoid", "b", kFloats) + node("z", "Mul", "b s", kFloats));
  const auto program = load_tf(folder / "graph.pbtxt", {"z:0"});
  const auto session = backend->open(program, given);
  CHECK(session->joined().size() == 6);
  const Graph& graph = *program->graph;
  StepOptions options;
  options.outputs = true;
  const auto computed = [&](const auto& device_of) {
    Placement placement;
    for (OpId op = 0; op < graph.op_count(); ++op)
      placement.push_back(device_of(graph.op_name(op)));
    return make_tensor(session->run(placement, options).outputs[0]).clone();
  };
  Stepper stepper(program);  // each op by itself
  stepper.run({{"x", x}});
  for (const std::string away : {"", "c", "n", "r", "d", "m", "b", "s", "z"}) {
    CAPTURE(away);
    const at::Tensor got = computed([&](const std::string& name) { return name == away ? 1 : 0; });
    CHECK(difference(got, stepper.value("z")) < 1e-5);
  }
}

}  // namespace
}  // namespace berth::runtime
