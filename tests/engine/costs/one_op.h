// A graph of one op under test, its inputs and its output.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/costs.h"
#include "berth/graph.h"

namespace berth::test {

using Shape = std::vector<std::int64_t>;

inline TensorInfo tensor(const Shape& shape, DType dtype = DType::f32) {
  TensorInfo info;
  info.dtype = dtype;
  info.has_shape = true;
  info.shape = shape;
  return info;
}

inline std::string class_of(const Work& work) {
  return std::string(op_class_name(work.op_class));
}

struct OneOp {
  std::string type;
  std::vector<std::optional<TensorInfo>> inputs;  ///< empty = omitted
  std::vector<TensorInfo> outputs;
  std::vector<std::pair<std::string, AttributeValue>> attributes = {};
  std::string dialect = "onnx";

  /// The op is the graph's last.
  [[nodiscard]] std::shared_ptr<const Graph> graph() const {
    GraphBuilder builder("one", dialect);
    std::vector<TensorId> made;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i]) {
        made.push_back(kNoTensor);
        continue;
      }
      const OpId source = builder.add_op("in" + std::to_string(i), "Input");
      made.push_back(builder.add_output(source, *inputs[i]));
    }
    const OpId op = builder.add_op("op", type);
    for (const TensorId input : made) builder.add_input(op, input);
    for (const TensorInfo& output : outputs) builder.add_output(op, output);
    for (const auto& [name, value] : attributes) builder.set_attribute(op, name, value);
    return builder.build();
  }

  [[nodiscard]] Work work() const {
    const auto made = graph();
    return op_work(*made, made->op_count() - 1);
  }
};

}  // namespace berth::test
