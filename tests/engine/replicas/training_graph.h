// A training step of two layers and an embedding, at any batch.
//
//   ids -> Gather(table) -> x [b,4] -> MatMul(w) -> y [b,8] -> Mean -> loss
//   dy -> MatMul(x^T, dy) -> dw [4,8] --> L2Loss -> norm --.
//                                     `-> Mul <- Rsqrt <---+-- clipped -> ApplyGradientDescent(w)
//                              y -> Identity -> Mean
//   dx [b,4] -> L2Loss ------------------------------------'
//      `------> Mul -> ScatterSub(table, ids)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/graph.h"

namespace berth::test {

/// Adds an op and returns its one output.
inline auto adder(GraphBuilder& builder) {
  return [&builder](const std::string& name, const char* type, const std::vector<TensorId>& inputs,
                    std::vector<std::int64_t> shape, DType dtype = DType::f32,
                    const std::string& colocation = {}) {
    const OpId made = builder.add_op(name, type);
    for (const TensorId input : inputs) builder.add_input(made, input);
    if (!colocation.empty()) builder.set_colocation(made, colocation);
    TensorInfo info;
    info.dtype = dtype;
    info.has_shape = true;
    info.shape = std::move(shape);
    return builder.add_output(made, info);
  };
}

class TrainingGraph {
 public:
  explicit TrainingGraph(std::int64_t batch, bool updates = true) : b_(batch) {
    const TensorId ids = op("ids", "Placeholder", {}, {b_}, DType::i32);
    const TensorId table = variable("table", {10, 4});
    const TensorId w = variable("w", {4, 8});
    const TensorId x = op("x", "GatherV2", {table, ids}, {b_, 4});
    const TensorId y = op("y", "MatMul", {x, w}, {b_, 8});
    op("loss", "Mean", {y}, {});
    const TensorId dy = op("dy", "TanhGrad", {y, y}, {b_, 8});
    const TensorId dw = op("dw", "MatMul", {x, dy}, {4, 8});
    const TensorId dx = op("dx", "MatMul", {dy, w}, {b_, 4});
    const TensorId norm_w = op("norm_w", "L2Loss", {dw}, {});
    const TensorId norm_x = op("norm_x", "L2Loss", {dx}, {});
    const TensorId norm = op("norm", "AddN", {norm_w, norm_x}, {});
    const TensorId scale = op("scale", "Rsqrt", {norm}, {});
    const TensorId clipped_w = op("clipped_w", "Mul", {dw, scale}, {4, 8});
    const TensorId clipped_x = op("clipped_x", "Mul", {dx, scale}, {b_, 4});
    if (!updates) return;
    op("update_w", "ApplyGradientDescent", {w, clipped_w}, {4, 8}, DType::f32, "w");
    op("update_table", "ScatterSub", {table, ids, clipped_x}, {10, 4}, DType::f32, "table");
    op("activations", "Mean", {op("y_seen", "Identity", {y}, {b_, 8})}, {});
  }

  std::shared_ptr<const Graph> build() { return builder_.build(); }

 private:
  TensorId op(const std::string& name, const char* type, const std::vector<TensorId>& inputs,
              const std::vector<std::int64_t>& shape, DType dtype = DType::f32,
              const std::string& colocation = {}) {
    return adder(builder_)(name, type, inputs, shape, dtype, colocation);
  }
  TensorId variable(const std::string& name, const std::vector<std::int64_t>& shape) {
    const TensorId tensor = op(name, "VariableV2", {}, shape, DType::f32, name);
    builder_.set_param_bytes(*builder_op_++, 4 * shape[0] * shape[1]);
    return tensor;
  }

  std::int64_t b_;
  GraphBuilder builder_{"training", "tf"};
  std::vector<OpId> variables_ = {1, 2};
  std::vector<OpId>::iterator builder_op_ = variables_.begin();
};

inline std::shared_ptr<const Graph> training_graph(std::int64_t batch, bool updates = true) {
  return TrainingGraph(batch, updates).build();
}

}  // namespace berth::test
