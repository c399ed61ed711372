// Blocks of networks, as exporters name them.
#include "berth/blocks.h"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

/// A graph built op by op.
class Net {
 public:
  static constexpr std::int64_t kActivation = 1 << 20;

  /// An op that reads `inputs` and, where given, a parameter of this name.
  TensorId op(const std::string& name, std::vector<TensorId> inputs,
              const std::string& parameter = {}, std::int64_t param_bytes = 10 << 20,
              std::int64_t out_bytes = kActivation, std::vector<std::int64_t> shape = {}) {
    const OpId id = builder_.add_op(name, name == "TopK" ? name : "Op");
    for (const TensorId input : inputs) builder_.add_input(id, input);
    TensorInfo info;
    info.bytes = param_bytes;
    info.has_shape = !shape.empty();
    info.shape = std::move(shape);
    if (!parameter.empty()) {
      const auto [entry, is_new] = parameters_.try_emplace(parameter, kNoTensor);
      if (is_new) entry->second = builder_.add_parameter(info, parameter);
      builder_.add_input(id, entry->second);
    }
    info = {};
    info.bytes = out_bytes;
    return builder_.add_output(id, info);
  }
  std::shared_ptr<const Graph> build() { return builder_.build(); }

 private:
  GraphBuilder builder_{"net"};
  std::map<std::string, TensorId> parameters_;
};

std::string block_of(const Graph& graph, const Blocks& blocks, const std::string& op) {
  return blocks[blocks.of(*graph.find_op(op))].name;
}

TEST_CASE("without scopes, ops go where the fewest bytes cross") {
  Net net;
  TensorId x = net.op("embed", {}, "model.embed_tokens.weight");
  const TensorId mask = net.op("mask", {}, {}, 0, 64);
  for (int layer = 0; layer < 2; ++layer) {
    const std::string n = std::to_string(layer);
    const std::string module = "model.layers." + n;
    const TensorId squares = net.op("square" + n, {x});
    const TensorId mean = net.op("mean" + n, {squares}, {}, 0, 4096);
    const TensorId scaled = net.op("scale" + n, {x, mean});
    const TensorId normed = net.op("norm" + n, {scaled}, module + ".input_layernorm.weight", 8192);
    const TensorId q = net.op("q" + n, {normed, mask}, module + ".self_attn.q_proj.weight");
    x = net.op("add" + n, {x, q});
  }
  net.op("head", {x}, "lm_head.weight");
  const auto graph = net.build();
  const Blocks blocks(*graph);
  REQUIRE(blocks.count() == 4);
  CHECK(blocks.layer_list() == "model.layers");
  CHECK(blocks.layers() == std::vector<BlockId>{1, 2});
  // The sum ends its layer; what prepares the next one's norm begins that.
  CHECK(block_of(*graph, blocks, "add0") == "model.layers.0");
  CHECK(block_of(*graph, blocks, "square1") == "model.layers.1");
  CHECK(block_of(*graph, blocks, "scale1") == "model.layers.1");
  CHECK(block_of(*graph, blocks, "add1") == "model.layers.1");
  CHECK(block_of(*graph, blocks, "mask") == "model.layers.0");  // whoever reads it first
}

TEST_CASE("scopes decide where parameters have lost their names") {
  Net net;
  TensorId x = net.op("/model/embed_tokens/Gather", {}, "model.embed_tokens.weight");
  for (int layer = 0; layer < 2; ++layer) {
    const std::string scope = "/model/layers." + std::to_string(layer);
    x = net.op(scope + "/mlp/up_proj/MatMul", {x}, "onnx::MatMul_1" + std::to_string(layer));
    x = net.op(scope + "/Add", {x});
  }
  const auto graph = net.build();
  const Blocks blocks(*graph);
  REQUIRE(blocks.count() == 3);
  CHECK(blocks[1].name == "model.layers.0");
  CHECK(block_of(*graph, blocks, "/model/layers.0/Add") == "model.layers.0");
  CHECK(blocks.module_of(*graph->find_op("/model/layers.1/mlp/up_proj/MatMul")) ==
        "model.layers.1.mlp.up_proj");
}

TEST_CASE("a scope has the name of a sequence again before that of its element") {
  for (const bool twice : {false, true}) {
    CAPTURE(twice);
    Net net;
    TensorId x = net.op("/stem/Conv", {}, "onnx::Conv_1");
    x = net.op("/layer1/layer1.0/conv1/Conv", {x}, "onnx::Conv_2");
    x = net.op("/layer1/layer1.1/down/down.0/Conv", {x}, "onnx::Conv_3");
    if (twice) x = net.op("/layer1/layer1.1/fc/Gemm", {x}, "layer1.layer1.1.fc.weight");
    net.op("/layer1/layer1.1/Add", {x});
    const auto graph = net.build();
    const Blocks blocks(*graph);
    const std::string list = twice ? "layer1.layer1" : "layer1";
    CHECK(blocks.layer_list() == list);
    CHECK(block_of(*graph, blocks, "/layer1/layer1.1/Add") == list + ".1");
    CHECK(blocks.module_of(*graph->find_op("/layer1/layer1.1/down/down.0/Conv")) ==
          list + ".1.down.0");
  }
}

TEST_CASE("scalars are no modules, and small tables go with their first reader") {
  Net net;
  const TensorId table = net.op("rotary", {}, "model.rotary_emb.inv_freq", 256);
  TensorId x = net.op("embed", {}, "model.embed_tokens.weight");
  x = net.op("scale", {x}, "model.scale.value", 2);
  for (int layer = 0; layer < 2; ++layer) {
    x = net.op("q" + std::to_string(layer), {x, table},
               "model.layers." + std::to_string(layer) + ".q.weight");
  }
  x = net.op("norm", {x}, "model.norm.weight", 8192);
  net.op("head", {x}, "lm_head.weight");
  const auto graph = net.build();
  const Blocks blocks(*graph);
  std::vector<std::string> names;
  for (const Block& block : blocks.all()) names.push_back(block.name);
  CHECK(names == std::vector<std::string>{"model.embed_tokens", "model.layers.0", "model.layers.1",
                                          "lm_head"});
  CHECK(blocks[1].modules == std::vector<std::string>{"model.layers.0", "model.rotary_emb"});
  CHECK(blocks[3].modules == std::vector<std::string>{"lm_head", "model.norm"});
}

TEST_CASE("small modules that read each other's results are one block") {
  Net net;
  TensorId x = net.op("first", {}, "table.weight", 1000);
  x = net.op("second", {x}, "scale.weight", 1000);
  x = net.op("third", {x}, "table.bias", 1000);
  net.op("layer", {x}, "layers.0.proj.weight");
  const auto graph = net.build();
  const Blocks blocks(*graph);
  int ops = 0;
  for (const Block& block : blocks.all()) ops += static_cast<int>(block.ops.size());
  CHECK(ops == 4);
  CHECK(blocks.layers().size() == 1);
}

TEST_CASE("tied embeddings: the head is a block of its own, by its scope or without one") {
  for (const char* head : {"/lm_head/MatMul", "head"}) {
    CAPTURE(head);
    Net net;
    TensorId x = net.op("/model/embed_tokens/Gather", {}, "model.embed_tokens.weight");
    x = net.op("q", {x}, "model.layers.0.q.weight");
    net.op(head, {x}, "model.embed_tokens.weight");
    const auto graph = net.build();
    const Blocks blocks(*graph);
    REQUIRE(blocks.count() == 3);
    CHECK(blocks[0].name == "model.embed_tokens");
    CHECK(blocks[2].name == "lm_head");
    REQUIRE(blocks.ties().size() == 1);
    CHECK(blocks.ties()[0].blocks == std::vector<BlockId>{0, 2});
  }
}

TEST_CASE("tied embeddings that a head reads turned around are tied all the same") {
  for (const char* head : {"/lm_head/MatMul", "head"}) {
    CAPTURE(head);
    Net net;
    TensorId x = net.op("/model/embed_tokens/Gather", {}, "model.embed_tokens.weight");
    x = net.op("q", {x}, "model.layers.0.q.weight");
    const TensorId turned = net.op("turn", {}, "model.embed_tokens.weight");
    net.op(head, {x, turned});
    const auto written = net.build();
    std::vector<Graph::Constant> roles(4, Graph::Constant::no);
    roles[static_cast<std::size_t>(*written->find_op("turn"))] = Graph::Constant::made;
    const auto graph = written->with_constants(roles);
    const Blocks blocks(*graph);
    REQUIRE(blocks.count() == 3);
    CHECK(block_of(*graph, blocks, head) == "lm_head");
    REQUIRE(blocks.ties().size() == 1);
    CHECK(blocks.ties()[0].blocks == std::vector<BlockId>{0, 2});
    CHECK(blocks.ties()[0].readers ==
          std::vector<OpId>{*graph->find_op("/model/embed_tokens/Gather"), *graph->find_op(head)});
  }
}

TEST_CASE("sizes of what an op makes say nothing of the module that reads them") {
  Net net;
  TensorId x = net.op("embed", {}, "model.layers.0.embed.weight");
  x = net.op("q", {x}, "model.layers.0.q.weight");
  const TensorId sizes = net.op("sizes", {x}, {}, 0, 32);
  net.op("/model/layers.1/Reshape", {x, sizes});
  net.op("/model/layers.1/MatMul", {x}, "model.layers.1.q.weight");
  const auto written = net.build();
  std::vector<Graph::Constant> roles(5, Graph::Constant::no);
  roles[static_cast<std::size_t>(*written->find_op("sizes"))] = Graph::Constant::made;
  const auto graph = written->with_constants(roles);
  const Blocks blocks(*graph);
  CHECK(block_of(*graph, blocks, "/model/layers.1/Reshape") == "model.layers.1");
}

TEST_CASE("what an exporter merged, tables and vectors of equal values, ties no blocks") {
  Net net;
  TensorId x = net.op("/embed/Gather", {}, "embed.weight");
  for (int layer = 0; layer < 2; ++layer) {
    const std::string scope = "/layers." + std::to_string(layer);
    x = net.op(scope + "/rope/Mul", {x}, "freqs_cos");
    x = net.op(scope + "/mask/Where", {x}, "layers.0.attn.bias");
    x = net.op(scope + "/norm/Mul", {x}, "layers.0.norm.weight", 1 << 20, Net::kActivation,
               {1 << 18});
    x = net.op(scope + "/up/MatMul", {x}, "layers." + std::to_string(layer) + ".up.weight");
  }
  net.op("/head/MatMul", {x}, "embed.weight");
  const auto graph = net.build();
  const Blocks blocks(*graph);
  REQUIRE(blocks.ties().size() == 1);
  CHECK(graph->tensor_name(blocks.ties()[0].parameter) == "embed.weight");
  CHECK(block_of(*graph, blocks, "/layers.1/norm/Mul") == "layers.1");
}

TEST_CASE("a tied weight with the name of a module without ops goes with its first reader") {
  Net net;
  TensorId x = net.op("/encoder/embed_tokens/Gather", {}, "shared.weight");
  x = net.op("/encoder/block.0/MatMul", {x}, "encoder.block.0.q.weight");
  TensorId y = net.op("/decoder/embed_tokens/Gather", {}, "shared.weight");
  net.op("/decoder/block.0/Add", {x, y}, "decoder.block.0.q.weight");
  const auto graph = net.build();
  const Blocks blocks(*graph);
  const Block& first = blocks[blocks.of(*graph->find_op("/encoder/embed_tokens/Gather"))];
  CHECK(first.modules == std::vector<std::string>{"encoder.embed_tokens", "shared"});
}

TEST_CASE("lists within lists, and networks without one") {
  Net net;
  TensorId x = net.op("stem", {}, "stem.conv.weight");
  for (const char* module :
       {"down.0.resnets.0", "down.0.resnets.1", "down.1.resnets.0", "mid.a.0", "up.0.resnets.0"}) {
    x = net.op(module, {x}, std::string(module) + ".weight");
  }
  net.op("out", {x}, "head.a.weight");
  const Blocks blocks(*net.build());
  std::vector<std::string> names;
  for (const Block& block : blocks.all()) names.push_back(block.name);
  // The outermost element of a list; without lists, the outermost module.
  CHECK(names == std::vector<std::string>{"stem", "down.0", "down.1", "mid.a.0", "up.0", "head"});

  Net sequential;  // nn.Sequential(nn.Sequential(...)): one element is the network
  x = sequential.op("a", {}, "0.layers.0.weight");
  x = sequential.op("b", {x}, "0.layers.1.weight");
  sequential.op("c", {x}, "1.weight");
  const Blocks inner(*sequential.build());
  names.clear();
  for (const Block& block : inner.all()) names.push_back(block.name);
  CHECK(names == std::vector<std::string>{"0.layers.0", "0.layers.1", "1"});

  Net mixture;  // a decoder of one layer, which is most of it
  x = mixture.op("q", {}, "model.layers.0.q.weight");
  x = mixture.op("e0", {x}, "model.layers.0.mlp.experts.0.up.weight");
  mixture.op("e1", {x}, "model.layers.0.mlp.experts.1.up.weight");
  CHECK(Blocks(*mixture.build()).layer_list() == "model.layers");

  Net plain;
  plain.op("fc1", {plain.op("fc0", {}, "fc0.weight")}, "fc1.weight");
  const Blocks two(*plain.build());
  CHECK(two.count() == 2);
  CHECK(two.layer_list().empty());
  expect_error(ErrorCode::unsupported, {"no layers"}, [&] { static_cast<void>(two.layers()); });
}

TEST_CASE("a mixture's experts are those modules and what lies between them") {
  Net net;
  TensorId x = net.op("q", {}, "model.layers.0.q.weight");
  const TensorId router = net.op("router", {x}, "model.layers.0.mlp.gate.weight");
  const TensorId up = net.op("up", {x, router}, "model.layers.0.mlp.experts.up.weight");
  const TensorId act = net.op("act", {up});
  const TensorId down = net.op("down", {act}, "model.layers.0.mlp.experts.down.weight");
  net.op("combine", {down, router}, "model.layers.0.mlp.out.weight");
  const auto graph = net.build();
  const Blocks blocks(*graph);
  std::vector<std::string> names;
  for (const OpId op : expert_ops(*graph, blocks, 0)) names.push_back(graph->op_name(op));
  CHECK(names == std::vector<std::string>{"up", "act", "down"});
}

TEST_CASE("experts spelled out one by one are with what chooses their tokens and adds up results") {
  Net net;
  const TensorId x = net.op("q", {}, "model.layers.0.q.weight");
  const TensorId logits = net.op("router", {x}, "model.layers.0.mlp.gate.weight");
  const TensorId choice = net.op("TopK", {logits});
  const TensorId shared = net.op("shared", {x}, "model.layers.0.mlp.shared_experts.up.weight");
  TensorId sum = net.op("zeros", {x});
  for (const char* const number : {"0", "1", "2"}) {
    const std::string n = number;
    const std::string module = "model.layers.0.mlp.experts." + n;
    const TensorId mask = net.op("mask" + n, {choice});
    const TensorId up = net.op("up" + n, {net.op("tokens" + n, {x, mask})}, module + ".up.weight");
    const TensorId weighted = net.op("weighted" + n, {up, net.op("weight" + n, {choice})});
    sum = net.op("scatter" + n, {sum, weighted, mask});
  }
  net.op("residual", {net.op("both", {sum, shared}), x});
  const auto graph = net.build();
  const Blocks blocks(*graph);
  std::string names;
  for (const OpId op : expert_ops(*graph, blocks, 0)) names += graph->op_name(op) + " ";
  CHECK(names ==
        "TopK mask0 tokens0 up0 weight0 weighted0 scatter0 mask1 tokens1 up1 weight1 weighted1 "
        "scatter1 mask2 tokens2 up2 weight2 weighted2 scatter2 ");
}

TEST_CASE("a graph file has the modules of the ops that hold parameters") {
  GraphBuilder builder("stated");
  TensorInfo info;
  info.bytes = 100;
  TensorId last = kNoTensor;
  for (const char* name : {"/embed/Gather", "/layers.0/norm/Norm", "/layers.0/add",
                           "/layers.1/MatMul", "/head/MatMul"}) {
    const OpId op = builder.add_op(name, "Op");
    if (last != kNoTensor) builder.add_input(op, last);
    if (std::string(name) != "/layers.0/add") builder.set_param_bytes(op, 1000);
    last = builder.add_output(op, info);
  }
  const auto graph = builder.build();
  const Blocks blocks(*graph);
  REQUIRE(blocks.count() == 4);
  CHECK(block_of(*graph, blocks, "/layers.0/add") == "layers.0");
  CHECK(blocks.layers() == std::vector<BlockId>{1, 2});
  CHECK(blocks[1].param_bytes == 1000);
}

TEST_CASE("a graph without modules, and one of whose layers one is missing, are refused") {
  Net bare;
  bare.op("a", {});
  const auto graph = bare.build();
  expect_error(ErrorCode::unsupported, {"'net'", "names of its parameters"},
               [&] { static_cast<void>(Blocks(*graph)); });
  Net part;
  part.op("a", {}, "layers.1.weight");
  const Blocks blocks(*part.build());
  expect_error(ErrorCode::unsupported, {"layers.0", "load the whole model"},
               [&] { static_cast<void>(blocks.layers()); });
  Net sequential;  // with an activation between
  sequential.op("b", {sequential.op("a", {}, "0.weight")}, "2.weight");
  const Blocks of_sequential(*sequential.build());
  expect_error(ErrorCode::unsupported, {"parameter of 1 is", "no stack of equal layers"},
               [&] { static_cast<void>(of_sequential.layers()); });
}

}  // namespace
}  // namespace berth::test
