// Kernels that write over an input, against the same kernels when they may not.
#include "runtime/overwriting.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/sdk/ops/overwriting.h"
#include "runtime/onnx/kernels.h"
#include "runtime/tf/kernels.h"
#include "support/torch_doctest.h"

namespace berth::runtime {
namespace {

/// An op of the type that reads a parameter or a tensor of the step for each of two operands, or one.
struct OneOp {
  OneOp(const std::string& dialect, const std::string& type, std::vector<bool> own) {
    GraphBuilder builder("g", dialect);
    builder.name_results();
    const TensorInfo info{DType::f32, true, {4, 6}};
    const OpId maker = builder.add_op("maker", "MatMul");
    const OpId op = builder.add_op("op", type);
    Instruction instruction;
    instruction.type = type;
    instruction.version = dialect == "onnx" ? 18 : 0;
    for (const bool is_own : own) {
      instruction.inputs.push_back(is_own ? builder.add_output(maker, info)
                                          : builder.add_parameter(info));
      builder.add_input(op, instruction.inputs.back());
    }
    instruction.outputs = {builder.add_output(op, info)};
    builder.add_input(builder.add_op("reader", "MatMul"), instruction.outputs[0]);
    program.graph = builder.build();
    program.instructions = {{}, std::move(instruction), {}};
    program.parameters.resize(static_cast<std::size_t>(program.graph->tensor_count()));
  }

  [[nodiscard]] bool overwrites() const {
    return ops::overwritten_inputs(*program.graph, true)[1] != kNoTensor;
  }
  [[nodiscard]] Kernel kernel() const {
    const KernelRegistry& registry =
        program.graph->dialect() == "tf" ? tf_kernels() : onnx_kernels();
    const KernelRequest request{program, program.instructions[1], registry};
    return overwriting(request, registry.make(request));
  }

  Program program;
};

at::Tensor run(const Kernel& kernel, const std::vector<Value>& inputs, std::size_t overwritten) {
  const c10::InferenceMode no_gradients;  // as the executor runs kernels
  KernelContext context;
  context.overwritten = overwritten;
  std::vector<Value> outputs(1);
  kernel(context, inputs, outputs);
  return outputs[0].tensor;
}

/// Numbers above 0, of which every function has a value.
std::vector<Value> drawn(const std::vector<std::vector<std::int64_t>>& shapes) {
  std::vector<Value> values;
  for (const auto& shape : shapes) values.push_back({at::rand(shape).add_(0.1), nullptr});
  return values;
}

std::vector<Value> copies(const std::vector<Value>& values) {
  std::vector<Value> copied;
  for (const Value& value : values) copied.push_back({value.tensor.clone(), nullptr});
  return copied;
}

TEST_CASE("every type that may write over an input gives the same there as beside it") {
  int found = 0;
  for (const auto& [dialect, registry] :
       {std::pair{"tf", &tf_kernels()}, std::pair{"onnx", &onnx_kernels()}}) {
    for (const auto& [type, maker] : registry->makers()) {
      if (!OneOp(dialect, type, {true}).overwrites()) continue;
      CAPTURE(type);
      ++found;
      const bool takes_two = OneOp(dialect, type, {false, true}).overwrites();
      const OneOp one(dialect, type, std::vector<bool>(takes_two ? 2 : 1, true));
      const Kernel kernel = one.kernel();
      std::vector<std::vector<std::int64_t>> shapes(takes_two ? 2 : 1, {4, 6});
      if (type == "BiasAdd") shapes.push_back({6});
      for (std::size_t i = 0; i < (takes_two ? 2 : 1); ++i) {
        // And with the other operand broadcast.
        for (const bool broadcast : {false, true}) {
          if (broadcast && !takes_two) continue;
          auto given = shapes;
          // TensorFlow's sum of several has no other shapes.
          if (broadcast && type != "AddN") given[1 - i] = {6};
          const std::vector<Value> inputs = drawn(given);
          const std::vector<Value> same = copies(inputs);
          const at::Tensor expected = run(kernel, same, kNoInput);
          const void* const memory = inputs[i].tensor.data_ptr();
          const at::Tensor got = run(kernel, inputs, i);
          CHECK(got.data_ptr() == memory);
          CHECK(at::equal(got, expected));
        }
      }
    }
  }
  CHECK(found > 40);
}

TEST_CASE("an input is overwritten where its memory is nobody else's and has no gaps alone") {
  const c10::InferenceMode no_gradients;  // in which views do not keep what they are of
  const Kernel kernel = OneOp("tf", "Relu", {true}).kernel();
  const at::Tensor whole = at::linspace(-1, 1, 24, at::kFloat).reshape({4, 6});
  const at::Tensor before = whole.clone();
  std::vector<Value> inputs(1);
  const auto check_untouched = [&] {
    const at::Tensor expected = at::relu(inputs[0].tensor);
    const void* const memory = inputs[0].tensor.data_ptr();
    const at::Tensor got = run(kernel, inputs, 0);
    CHECK(got.data_ptr() != memory);
    CHECK(at::equal(got, expected));
  };
  SUBCASE("the tensor has another holder") {
    inputs[0].tensor = whole;
    check_untouched();
    CHECK(at::equal(whole, before));
  }
  SUBCASE("its memory has another holder") {
    inputs[0].tensor = whole.view({24});
    check_untouched();
    CHECK(at::equal(whole, before));
  }
  SUBCASE("it repeats its elements") {
    inputs[0].tensor = at::linspace(-1, 1, 6, at::kFloat).expand({4, 6});
    check_untouched();
  }
  SUBCASE("it skips elements") {
    inputs[0].tensor = before.clone().slice(1, 0, 6, 2);
    check_untouched();
  }
  SUBCASE("its numbers are whole") {
    inputs[0].tensor = at::arange(-3, 3, at::kInt);
    check_untouched();
  }
  SUBCASE("columns in a row are written as they lie") {
    inputs[0].tensor = before.clone().t();
    const void* const memory = inputs[0].tensor.data_ptr();
    const at::Tensor got = run(kernel, inputs, 0);
    CHECK(got.data_ptr() == memory);
    CHECK(at::equal(got, at::relu(before).t()));
  }
}

TEST_CASE("a sum whose result is larger than the operand is computed beside it") {
  const Kernel kernel = OneOp("tf", "AddV2", {true, true}).kernel();
  const std::vector<Value> inputs = drawn({{6}, {4, 6}});
  const at::Tensor expected = at::add(inputs[0].tensor, inputs[1].tensor);
  const void* const memory = inputs[0].tensor.data_ptr();
  const at::Tensor got = run(kernel, inputs, 0);
  CHECK(got.data_ptr() != memory);
  CHECK(at::equal(got, expected));
}

TEST_CASE("attributes count where a function writes over its input") {
  struct Case {
    const char* type;
    std::vector<std::pair<std::string, AttributeContent>> attributes;
  };
  for (const Case& each :
       {Case{"Elu", {{"alpha", 2.0}}}, Case{"Celu", {{"alpha", 2.0}}},
        Case{"Selu", {{"alpha", 2.0}, {"gamma", 3.0}}},
        Case{"HardSigmoid", {{"alpha", 0.5}, {"beta", 0.25}}}, Case{"LeakyRelu", {{"alpha", 0.5}}},
        Case{"ThresholdedRelu", {{"alpha", 0.5}}}, Case{"Clip", {{"min", -0.5}, {"max", 0.5}}},
        Case{"Softmax", {{"axis", std::int64_t{0}}}}, Case{"Softmax", {}}}) {
    CAPTURE(each.type);
    OneOp one("onnx", each.type, {true});
    one.program.instructions[1].attributes = each.attributes;
    const Kernel kernel = one.kernel();
    const at::Tensor x = at::linspace(-1, 1, 24, at::kFloat).reshape({4, 6});
    const at::Tensor expected = run(kernel, {{x, nullptr}}, kNoInput);
    CHECK(at::equal(run(kernel, {{x.clone(), nullptr}}, 0), expected));
  }
}

}  // namespace
}  // namespace berth::runtime
