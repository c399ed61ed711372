// Steps in which sums write over their operands, against each op by itself.
#include <ATen/Functions.h>

#include "berth/sdk/random.h"
#include "cpu/backend.h"
#include "frontends/tf/text_graph.h"
#include "step.h"
#include "support/temporary_folder.h"
#include "support/torch_doctest.h"

namespace berth::runtime {
namespace {

using tf_frontend::kFloats;
using tf_frontend::node;
using tf_frontend::placeholder;

TEST_CASE(
    "sums over operands give the same as beside them, with functions behind, on any devices") {
  Options two(cpu::kOptions);
  two.set("backend 'cpu'", "devices", std::int64_t{2});
  const auto backend = std::make_unique<cpu::CpuBackend>(two);
  const test::TemporaryFolder folder;
  const at::Tensor x = at::linspace(-2, 2, 16, at::kFloat).reshape({4, 4});
  const at::Tensor row = at::linspace(-1, 3, 4, at::kFloat);
  SessionOptions given;
  for (const auto& [name, tensor] : {std::pair{"x", x}, std::pair{"i", row}}) {
    TensorContent& content = given.inputs[name];
    content.dtype = DType::f32;
    content.shape = tensor.sizes().vec();
    content.bytes = {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()};
  }
  // b is read again, and its sum with c over c; r is over that. d is over its second operand; e adds the row in i,
  // which is smaller; h is the sum of what nobody else has; g is read twice by the same op.
  write_file(folder / "graph.pbtxt",
             placeholder("x", {4, 4}) + placeholder("i", {4}) +
                 node("b", "MatMul", "x x", kFloats) + node("c", "MatMul", "b x", kFloats) +
                 node("s", "AddV2", "b c", kFloats) + node("r", "Relu", "s", kFloats) +
                 node("d", "Sub", "x r", kFloats) + node("e", "BiasAdd", "d i", kFloats) +
                 node("u", "Relu", "e", kFloats) + node("f", "MatMul", "x x", kFloats) +
                 node("h", "AddV2", "f u", kFloats) + node("v", "Relu", "h", kFloats) +
                 node("g", "Identity", "v", kFloats) + node("m", "Mul", "g g", kFloats) +
                 node("o", "AddV2", "i m", kFloats) + node("t", "Softmax", "o", kFloats) +
                 node("z", "MatMul", "t b", kFloats));
  const auto program = load_tf(folder / "graph.pbtxt", {"z:0"});
  const auto session = backend->open(program, given);
  StepOptions options;
  options.outputs = true;
  Stepper stepper(program);
  stepper.run({{"x", x}, {"i", row}});
  Random random(1);
  for (int i = 0; i < 30; ++i) {
    CAPTURE(i);
    Placement placement(static_cast<std::size_t>(program->graph->op_count()), 0);
    if (i > 0) {
      for (DeviceId& device : placement) device = static_cast<DeviceId>(random.below(2));
    }
    for (int step = 0; step < 2; ++step) {
      const StepResult result = session->run(placement, options);
      CHECK(difference(make_tensor(result.outputs[0]), stepper.value("z")) < 1e-5);
    }
  }
}

}  // namespace
}  // namespace berth::runtime
