#include "berth/sdk/layers.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "berth/engine.h"
#include "support/layered_network.h"
#include "support/paths.h"

using namespace berth;
using namespace berth::test;

namespace {

/// An op of the graph that must be there.
OpId op_of(const Graph& graph, const std::string& name) {
  const auto op = graph.find_op(name);
  REQUIRE_MESSAGE(op.has_value(), name);
  return *op;
}

std::map<LayerKind, int> counts(const Layers& layers) {
  std::map<LayerKind, int> result;
  for (const Layer& layer : layers.all()) ++result[layer.kind];
  return result;
}

}  // namespace

TEST_CASE("layers: an LSTM step is one layer, with the lookup that serves it") {
  const auto graph = lstm_network(2, 3);
  const Layers layers(*graph);
  CHECK(counts(layers) ==
        std::map<LayerKind, int>{{LayerKind::recurrent, 6}, {LayerKind::dense, 3}});
  std::map<TensorId, int> steps;  // by weights
  for (const Layer& layer : layers.all()) {
    if (layer.kind == LayerKind::recurrent) ++steps[layer.weights];
  }
  CHECK(steps ==
        std::map<TensorId, int>{{graph->outputs(op_of(*graph, "layer_0/kernel")).front(), 3},
                                {graph->outputs(op_of(*graph, "layer_1/kernel")).front(), 3}});
  for (const std::string step : {"0", "1", "2"}) {
    for (const std::string layer : {"layer_0/", "layer_1/"}) {
      const LayerId expected = layers.of(op_of(*graph, layer + step + "/split"));
      for (const char* op : {"/concat", "/MatMul", "/update", "/bias", "/forget", "/kept", "/taken",
                             "/cell", "/shown", "/hidden"}) {
        CHECK_MESSAGE(layers.of(op_of(*graph, layer + step + op)) == expected, (layer + step + op));
      }
    }
    CHECK(layers.of(op_of(*graph, "embedding/" + step)) ==
          layers.of(op_of(*graph, "layer_0/" + step + "/split")));
    CHECK(layers.of(op_of(*graph, "softmax/" + step + "/bias")) ==
          layers.of(op_of(*graph, "softmax/" + step)));
  }
  CHECK(layers.of(op_of(*graph, "layer_0/zero_cell")) ==
        layers.of(op_of(*graph, "layer_0/0/split")));
  CHECK(layers.of(op_of(*graph, "layer_0/kernel")) == kNoLayer);  // serves three
}

TEST_CASE("layers: depth counts layers on the longest path") {
  const auto graph = lstm_network(2, 3);
  const Layers layers(*graph);
  const auto depth = [&](const std::string& name) {
    return layers[layers.of(op_of(*graph, name))].depth;
  };
  CHECK(depth("layer_0/0/split") == 1);
  CHECK(depth("layer_1/0/split") == 2);
  CHECK(depth("layer_0/2/split") == 3);
  CHECK(depth("layer_1/2/split") == 4);
  CHECK(depth("softmax/2") == 5);
}

TEST_CASE("layers: convolutions with their weights, pools, joins") {
  const auto graph = branched_network(/*scopes=*/true);
  const Layers layers(*graph);
  CHECK(counts(layers) == std::map<LayerKind, int>{{LayerKind::convolution, 15},
                                                   {LayerKind::pooling, 2},
                                                   {LayerKind::join, 2},
                                                   {LayerKind::dense, 1}});
  const LayerId conv = layers.of(op_of(*graph, "block_0/branch_1/conv_1/Conv2D"));
  CHECK(layers[conv].op == op_of(*graph, "block_0/branch_1/conv_1/Conv2D"));
  CHECK(layers.of(op_of(*graph, "block_0/branch_1/conv_1/Relu")) == conv);
  CHECK(layers.of(op_of(*graph, "block_0/branch_1/conv_1/weights")) == conv);
  CHECK(layers[layers.of(op_of(*graph, "block_0/concat"))].kind == LayerKind::join);
}

TEST_CASE("layers: a product of two activations is no layer") {
  NetworkBuilder net("scores");
  const TensorId input = net.op("input", "Placeholder", {}, OpClass::none);
  const TensorId query = net.dense("query", input, net.variable("q"));
  const TensorId key = net.dense("key", query, net.variable("k"));
  net.dense("scores", query, key);
  const auto graph = net.build();
  const Layers layers(*graph);
  CHECK(layers.all().size() == 2);
  CHECK(layers.of(op_of(*graph, "scores")) == layers.of(op_of(*graph, "key")));
}

TEST_CASE("layers: gradients are told by type, by name and by what they come from") {
  NetworkBuilder net("gradients");
  const TensorId input = net.op("input", "Placeholder", {}, OpClass::none);
  const TensorId weights = net.variable("weights");
  const TensorId product = net.dense("dense", input, weights);
  const TensorId loss = net.op("relu", "Relu", {product});
  const TensorId down = net.op("backward", "ReluGrad", {loss});
  const TensorId named = net.op("gradients/dense_grad/MatMul", "MatMul", {down, input});
  net.op("update", "ApplyGradientDescent", {weights, named});
  const auto graph = net.build();
  const Layers layers(*graph);
  for (const char* name : {"input", "weights", "dense", "relu"}) {
    CHECK_MESSAGE(layers.forward(op_of(*graph, name)), name);
  }
  for (const char* name : {"backward", "gradients/dense_grad/MatMul", "update"}) {
    CHECK_MESSAGE(!layers.forward(op_of(*graph, name)), name);
  }
  CHECK(layers.of(op_of(*graph, "gradients/dense_grad/MatMul")) ==
        layers.of(op_of(*graph, "dense")));
  CHECK(layers.of(op_of(*graph, "update")) == kNoLayer);
}

TEST_CASE("layers: the benchmark graphs have the published networks' layers") {
  Engine engine({test::plugin_folder()});
  const std::string folder = (test::source_folder() / "examples/models/tf/").string();
  const auto recurrent = [&](const std::string& file) {
    const auto graph = engine.load(folder + file, {}).graph;
    const Layers layers(*graph);
    std::map<TensorId, int> steps;
    for (const Layer& layer : layers.all()) {
      if (layer.kind == LayerKind::recurrent) ++steps[layer.weights];
    }
    CHECK_FALSE(steps.contains(kNoTensor));
    std::multiset<int> result;
    for (const auto& [weights, count] : steps) result.insert(count);
    return result;
  };
  CHECK(recurrent("nmt_tiny.pb") == std::multiset<int>{3, 3, 3, 3});
  CHECK(recurrent("rnnlm_b64.pb.gz") == std::multiset<int>{40, 40});
  CHECK(recurrent("nmt_b64.pb.gz") == std::multiset<int>{40, 40, 40, 40});
  const auto inception = engine.load(folder + "inception_v3_b32.pb.gz", {}).graph;
  const auto kinds = counts(Layers(*inception));
  CHECK(kinds.at(LayerKind::convolution) == 96);
  CHECK(kinds.at(LayerKind::join) == 15);
  CHECK(kinds.at(LayerKind::dense) == 2);
}
