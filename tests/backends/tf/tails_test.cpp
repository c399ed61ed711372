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

}  // namespace
}  // namespace berth::runtime
