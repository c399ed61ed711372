// Small networks in TensorFlow's vocabulary, with what makes a layer and little else.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "berth/graph.h"

namespace berth::test {

/// Adds ops one by one; a tensor is the op that makes it, of `bytes` bytes.
class NetworkBuilder {
 public:
  explicit NetworkBuilder(std::string name) : builder_(std::move(name), "tf") {}

  TensorId op(const std::string& name, const std::string& type, const std::vector<TensorId>& inputs,
              OpClass op_class = OpClass::elementwise, std::int64_t bytes = 100) {
    return outputs(name, type, inputs, op_class, 1, bytes).front();
  }
  std::vector<TensorId> outputs(const std::string& name, const std::string& type,
                                const std::vector<TensorId>& inputs, OpClass op_class,
                                std::size_t count, std::int64_t bytes = 100) {
    const OpId id = builder_.add_op(name, type);
    builder_.set_work(id, {.flops = 1e6, .bytes = 1e3, .op_class = op_class});
    for (const TensorId input : inputs) builder_.add_input(id, input);
    TensorInfo info;
    info.bytes = bytes;
    std::vector<TensorId> result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(builder_.add_output(id, info));
    return result;
  }
  TensorId variable(const std::string& name) { return op(name, "VariableV2", {}, OpClass::none); }
  TensorId dense(const std::string& name, TensorId input, TensorId weights) {
    return op(name, "MatMul", {input, weights}, OpClass::matmul);
  }
  TensorId conv(const std::string& name, TensorId input) {
    const TensorId weights = variable(name + "/weights");
    const TensorId product = op(name + "/Conv2D", "Conv2D", {input, weights}, OpClass::convolution);
    return op(name + "/Relu", "Relu", {product});
  }
  TensorId concat(const std::string& name, const std::vector<TensorId>& inputs) {
    return op(name, "ConcatV2", inputs, OpClass::data_movement);
  }
  GraphBuilder& builder() { return builder_; }
  std::shared_ptr<const Graph> build() { return builder_.build(); }

 private:
  GraphBuilder builder_;
};

struct LstmState {
  TensorId cell;
  TensorId hidden;
};

/// One LSTM step; ops are named "SCOPE/...".
inline LstmState lstm_step(NetworkBuilder& net, const std::string& scope, TensorId input,
                           LstmState state, TensorId kernel) {
  const TensorId joined = net.concat(scope + "/concat", {input, state.hidden});
  const TensorId product = net.dense(scope + "/MatMul", joined, kernel);
  const auto gates = net.outputs(scope + "/split", "Split", {product}, OpClass::data_movement, 4);
  const TensorId update = net.op(scope + "/update", "Sigmoid", {gates[0]});
  const TensorId candidate = net.op(scope + "/candidate", "Tanh", {gates[1]});
  const TensorId biased = net.op(scope + "/bias", "AddV2", {gates[2]});
  const TensorId forget = net.op(scope + "/forget", "Sigmoid", {biased});
  const TensorId output = net.op(scope + "/output", "Sigmoid", {gates[3]});
  const TensorId kept = net.op(scope + "/kept", "Mul", {state.cell, forget});
  const TensorId taken = net.op(scope + "/taken", "Mul", {update, candidate});
  const TensorId cell = net.op(scope + "/cell", "AddV2", {kept, taken});
  const TensorId shown = net.op(scope + "/shown", "Tanh", {cell});
  return {cell, net.op(scope + "/hidden", "Mul", {shown, output})};
}

/// "embedding/t" -> "layer_l/t/..." -> "softmax/t", with one variable per layer.
inline std::shared_ptr<const Graph> lstm_network(int layers, int steps) {
  NetworkBuilder net("lstm");
  const TensorId words = net.op("words", "Placeholder", {}, OpClass::none);
  const TensorId table = net.variable("table");
  const TensorId softmax = net.variable("softmax/weights");
  std::vector<TensorId> kernels;
  std::vector<LstmState> states;
  for (int layer = 0; layer < layers; ++layer) {
    const std::string scope = "layer_" + std::to_string(layer);
    kernels.push_back(net.variable(scope + "/kernel"));
    states.push_back({net.op(scope + "/zero_cell", "Fill", {}, OpClass::data_movement),
                      net.op(scope + "/zero_hidden", "Fill", {}, OpClass::data_movement)});
  }
  for (int step = 0; step < steps; ++step) {
    const std::string number = "/" + std::to_string(step);
    TensorId value =
        net.op("embedding" + number, "GatherV2", {table, words}, OpClass::data_movement);
    for (int layer = 0; layer < layers; ++layer) {
      const auto l = static_cast<std::size_t>(layer);
      states[l] =
          lstm_step(net, "layer_" + std::to_string(layer) + number, value, states[l], kernels[l]);
      value = states[l].hidden;
    }
    net.op("softmax" + number + "/bias", "BiasAdd",
           {net.dense("softmax" + number, value, softmax)});
  }
  return net.build();
}

/// stem -> two blocks of four branches (one, two, three convolutions; a pool and one) -> head.
/// `scopes`: whether names tell the branches ("block_b/branch_i/conv_k").
inline std::shared_ptr<const Graph> branched_network(bool scopes) {
  NetworkBuilder net("branched");
  constexpr std::array<int, 4> kConvolutions = {1, 2, 3, 1};
  TensorId value = net.conv("stem", net.op("images", "Placeholder", {}, OpClass::none));
  int anonymous = 0;
  for (int block = 0; block < 2; ++block) {
    std::vector<TensorId> ends;
    for (int branch = 0; branch < 4; ++branch) {
      const std::string scope =
          "block_" + std::to_string(block) + "/branch_" + std::to_string(branch) + "/";
      const auto name = [&](const std::string& op) {
        return scopes ? scope + op : "n" + std::to_string(anonymous++);
      };
      TensorId end = value;
      if (branch == 3) end = net.op(name("pool"), "AvgPool", {end}, OpClass::pooling);
      for (int k = 0; k < kConvolutions[static_cast<std::size_t>(branch)]; ++k) {
        end = net.conv(name("conv_" + std::to_string(k)), end);
      }
      ends.push_back(end);
    }
    value = net.concat("block_" + std::to_string(block) + "/concat", ends);
  }
  net.dense("logits", value, net.variable("logits/weights"));
  return net.build();
}

}  // namespace berth::test
