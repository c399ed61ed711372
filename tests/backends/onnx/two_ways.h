// Two outputs of ops that are the same by what the ops are.
#pragma once

#include <string>
#include <vector>

#include "backends/onnx/values.h"
#include "frontends/onnx/model_text.h"

namespace berth::test {

/// How the outputs y and z of ops differ, given x: empty where they do not.
inline std::string difference_of(const std::string& ops, const std::vector<std::int64_t>& shape) {
  onnx::TensorProto x;
  x.set_data_type(onnx::TensorProto::FLOAT);
  std::int64_t count = 1;
  std::string dims;
  for (const std::int64_t dim : shape) {
    x.add_dims(dim);
    count *= dim;
    dims += (dims.empty() ? "" : ",") + std::to_string(dim);
  }
  for (std::int64_t i = 0; i < count; ++i) x.add_float_data(static_cast<float>(i * 7 % 5) - 1.5F);
  ModelFolder models;
  const CpuModel model(
      models.save(parse_graph("g (float[" + dims + "] x) => (y, z) { " + ops + " }", 26)));
  const auto outputs = model.run({value_of(x)});
  return difference(outputs.at(0), outputs.at(1), {1e-5, 1e-6});
}

}  // namespace berth::test
