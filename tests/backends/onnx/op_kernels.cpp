// Kernels of ops that ONNX has no tests of, against ONNX Runtime; see make_op_cases.py.
#include <doctest/doctest.h>

#include <fstream>
#include <iostream>

#include "backends/onnx/values.h"
#include "support/data.h"

namespace berth::test {
namespace {

std::map<std::string, runtime::Value> read_values() {
  std::ifstream in(source_path("tests/backends/onnx/op_values.onnx"), std::ios::binary);
  onnx::ModelProto model;
  REQUIRE(model.ParseFromIstream(&in));
  std::map<std::string, runtime::Value> values;
  for (const auto& tensor : model.graph().initializer()) values[tensor.name()] = value_of(tensor);
  return values;
}

TEST_CASE("ops that ONNX has no tests of give what ONNX Runtime gives") {
  const std::map<std::string, runtime::Value> values = read_values();
  const CpuModel model(source_path("tests/backends/onnx/op_cases.onnx"));
  const Program& program = model.program();
  std::vector<runtime::Value> inputs;
  for (const std::string& name : program.input_names) inputs.push_back(values.at(name));
  const std::vector<runtime::Value> outputs = model.run(inputs);
  REQUIRE(outputs.size() > 100);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = program.output_names[i];
    CAPTURE(name);
    // Sums in another order.
    const std::string differs = difference(values.at(name), outputs[i], {1e-4, 2e-6});
    CHECK_MESSAGE(differs.empty(),
                  program.graph->op_name(program.graph->producer(program.outputs[i])), ": ",
                  differs);
  }
  std::cout << outputs.size() << " outputs are ONNX Runtime's\n";
}

}  // namespace
}  // namespace berth::test
