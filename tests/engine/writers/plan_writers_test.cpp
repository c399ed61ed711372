// Each form of a plan, on a decoder of four layers whose parameters have PyTorch's names.
#include "berth/plan_writers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "berth/blocks.h"
#include "berth/error.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

using nlohmann::json;

/// embed_tokens, layers 0 to 3 (q_proj and up_proj each), norm, lm_head; every parameter is read by
/// one op of its module's name, but for up_proj, which is read by two.
std::shared_ptr<const Graph> decoder() {
  GraphBuilder builder("decoder");
  TensorInfo info;
  info.bytes = 100;
  TensorId last = kNoTensor;
  const auto add = [&](const std::string& module, const std::string& name) {
    const OpId op = builder.add_op(name, "MatMul");
    if (last != kNoTensor) builder.add_input(op, last);
    builder.add_input(op, builder.add_parameter(info, module + ".weight"));
    last = builder.add_output(op, info);
  };
  add("model.embed_tokens", "embed");
  for (int layer = 0; layer < 4; ++layer) {
    const std::string name = "model.layers." + std::to_string(layer);
    add(name + ".self_attn.q_proj", "q" + std::to_string(layer));
    add(name + ".mlp.up_proj", "up" + std::to_string(layer));
    add(name + ".mlp.up_proj", "up_again" + std::to_string(layer));
  }
  add("model.norm", "norm");
  add("lm_head", "head");
  return builder.build();
}

/// A host between two GPUs, so that numbers of devices and of GPUs differ.
std::shared_ptr<const Cluster> machine() {
  std::vector<Device> devices = {{"gpu:0", "gpu"}, {"cpu:0", "cpu"}, {"gpu:1", "gpu"}};
  devices[1].host = true;
  return std::make_shared<const Cluster>("machine", devices,
                                         std::vector<LinkSpec>{{"*", "*", 1e9, 1}});
}

constexpr DeviceId kFirst = 0;
constexpr DeviceId kHost = 1;
constexpr DeviceId kSecond = 2;

/// What stands before the layers and behind them on the first and the last layer's device.
Placement by_layer(const std::vector<DeviceId>& layers) {
  Placement placement = {layers.front()};
  for (const DeviceId device : layers) placement.insert(placement.end(), 3, device);
  placement.insert(placement.end(), 2, layers.back());
  return placement;
}

std::string written(const char* format, const Placement& placement) {
  return plan_writer(format).text(*decoder(), *machine(), placement);
}

TEST_CASE("device_map has the fewest entries, GPUs by number and the host as cpu") {
  CHECK(json::parse(written("device_map", by_layer({kHost, kFirst, kFirst, kSecond}))) ==
        json({{"lm_head", 1},
              {"model.embed_tokens", "cpu"},
              {"model.layers.0", "cpu"},
              {"model.layers.1", 0},
              {"model.layers.2", 0},
              {"model.layers.3", 1},
              {"model.norm", 1}}));
  CHECK(json::parse(written("device_map", by_layer({kFirst, kFirst, kFirst, kFirst}))) ==
        json({{"lm_head", 0}, {"model", 0}}));
}

TEST_CASE("device_map names parameters of the network itself, and nothing that an exporter made") {
  GraphBuilder builder("root");
  TensorId last = kNoTensor;
  const auto add = [&](const std::string& name, const std::string& parameter,
                       std::vector<std::int64_t> shape, DType dtype = DType::f32) {
    const OpId op = builder.add_op(name, "Op");
    if (name == "mask")
      builder.set_attribute(op, std::string(kModuleAttribute), std::string("layers.0"));
    if (last != kNoTensor) builder.add_input(op, last);
    const TensorInfo info{dtype, true, std::move(shape), kUnknownBytes};
    builder.add_input(op, builder.add_parameter(info, parameter));
    last = builder.add_output(op, info);
  };
  add("embed", "emb.weight", {64, 8});
  add("add", "pos", {8, 8});
  add("scale", "eps", {1});
  add("reshape", "shape", {3}, DType::i64);
  add("multiply", "val_15", {8, 8});
  add("mask", "where", {8, 8});
  add("layer", "layers.0.weight", {8, 8});
  const auto graph = builder.build();
  const auto map = [&](const Placement& placement) {
    return json::parse(plan_writer("device_map").text(*graph, *machine(), placement));
  };
  CHECK(map({kSecond, kSecond, kSecond, kSecond, kSecond, kFirst, kFirst}) ==
        json({{"emb", 1}, {"layers", 0}, {"pos", 1}}));
  // A GPU computes what the host holds, and nothing sends it there but for modules.
  CHECK(map({kHost, kHost, kHost, kHost, kHost, kFirst, kFirst}) ==
        json({{"emb", "cpu"}, {"layers", 0}, {"pos", 0}}));
  CHECK(map(Placement(7, kHost)) == json({{"emb", "cpu"}, {"layers", "cpu"}, {"pos", "cpu"}}));
}

TEST_CASE("device_map has no entry of a module whose modules are on several devices") {
  GraphBuilder builder("nested");
  TensorId last = kNoTensor;
  const auto add = [&](const std::string& name, const std::string& parameter) {
    const OpId op = builder.add_op(name, "Op");
    if (last != kNoTensor) builder.add_input(op, last);
    builder.add_input(op,
                      builder.add_parameter({DType::f32, true, {8, 8}, kUnknownBytes}, parameter));
    last = builder.add_output(op, {DType::f32, true, {8, 8}, kUnknownBytes});
  };
  add("/model/Where", "onnx::Where_7");  // a mask, which belongs to the module by its scope alone
  add("/model/Add", "model.positions");
  for (const char* const layer : {"model.layers.0", "model.layers.1"}) {
    add(layer, std::string(layer) + ".weight");
  }
  const auto graph = builder.build();
  const auto map = [&](const Placement& placement) {
    return json::parse(plan_writer("device_map").text(*graph, *machine(), placement));
  };
  CHECK(map({kFirst, kFirst, kFirst, kSecond}) ==
        json({{"model.layers.0", 0}, {"model.layers.1", 1}, {"model.positions", 0}}));
  CHECK(map({kHost, kHost, kHost, kFirst}) ==
        json({{"model.layers.0", "cpu"}, {"model.layers.1", 0}, {"model.positions", 0}}));
  CHECK(map(Placement(4, kFirst)) == json({{"model", 0}}));
}

TEST_CASE("device_map refuses a plan that cuts a block") {
  Placement placement = by_layer({kFirst, kFirst, kFirst, kFirst});
  placement[6] = kSecond;  // up_again1
  expect_error(ErrorCode::unsupported,
               {"cuts 1", "model.layers.1", "'q1' is on gpu:0", "'up_again1' on gpu:1"},
               [&] { static_cast<void>(written("device_map", placement)); });
}

TEST_CASE("what accelerate computes for the host, it computes on the GPU that is named first") {
  const std::string map = written("device_map", by_layer({kHost, kSecond, kFirst, kFirst}));
  // Both GPUs are alike, so that the first one is it.
  CHECK(map.find("model.layers.2") < map.find("model.embed_tokens"));
}

TEST_CASE("llama.cpp gets the layers of each GPU, the output among them") {
  Placement placement = by_layer({kHost, kFirst, kFirst, kSecond});
  CHECK(written("llama.cpp", placement) == "-ngl 4\n--tensor-split 2,2\n");
  // All on GPUs: five are five, whatever the words are looked up on.
  placement = by_layer({kFirst, kFirst, kFirst, kSecond});
  placement.front() = kHost;
  CHECK(written("llama.cpp", placement) == "-ngl 5\n--tensor-split 3,2\n");
  CHECK(written("llama.cpp", by_layer({kHost, kHost, kHost, kHost})) == "-ngl 0\n");
  placement = by_layer({kSecond, kSecond, kSecond, kSecond});
  placement.front() = kHost;
  CHECK(written("llama.cpp", placement) == "-ngl 5\n--tensor-split 0,5\n");
}

TEST_CASE("llama.cpp refuses what it would round") {
  const auto refused = [](Placement placement, std::initializer_list<std::string_view> parts) {
    expect_error(ErrorCode::unsupported, parts,
                 [&] { static_cast<void>(written("llama.cpp", placement)); });
  };
  refused(by_layer({kFirst, kFirst, kFirst, kFirst}),
          {"looks words up on the host", "embed_tokens"});
  Placement placement = by_layer({kHost, kFirst, kFirst, kFirst});
  placement[5] = kHost;  // up1
  refused(placement, {"cuts model.layers.1", "'up1'"});
  refused(by_layer({kHost, kSecond, kFirst, kFirst}),
          {"one GPU after the other", "model.layers.2"});
  placement = by_layer({kHost, kFirst, kFirst, kFirst});
  placement.back() = kHost;  // the head, but not the norm
  refused(placement, {"one place for norm and head"});
}

TEST_CASE("vLLM gets the layers of each stage, in order") {
  CHECK(written("vllm", by_layer({kFirst, kFirst, kFirst, kSecond})) ==
        "VLLM_PP_LAYER_PARTITION=3,1\n--pipeline-parallel-size 2\n");
  CHECK(written("vllm", by_layer({kSecond, kSecond, kSecond, kSecond})) ==
        "CUDA_VISIBLE_DEVICES=1\nVLLM_PP_LAYER_PARTITION=4\n--pipeline-parallel-size 1\n");
  expect_error(ErrorCode::unsupported, {"vLLM", "cpu:0", "a host"}, [] {
    static_cast<void>(written("vllm", by_layer({kHost, kFirst, kFirst, kFirst})));
  });
  expect_error(ErrorCode::unsupported, {"gpu:0", "again after others"}, [] {
    static_cast<void>(written("vllm", by_layer({kFirst, kSecond, kFirst, kFirst})));
  });
  Placement placement = by_layer({kFirst, kFirst, kSecond, kSecond});
  placement.front() = kSecond;
  expect_error(ErrorCode::unsupported, {"embeddings on the first stage", "model.embed_tokens"},
               [&] { static_cast<void>(written("vllm", placement)); });
}

TEST_CASE("vLLM's plan for several hosts has all of their GPUs, which each host numbers") {
  std::vector<Device> devices = {
      {"a/gpu", "gpu"}, {"a/cpu", "cpu"}, {"b/gpu", "gpu"}, {"b/cpu", "cpu"}};
  devices[1].host = devices[3].host = true;
  const Cluster hosts("two", devices, {{"*", "*", 1e9, 1}});
  const auto text = [&](const std::vector<DeviceId>& layers) {
    return plan_writer("vllm").text(*decoder(), hosts, by_layer(layers));
  };
  CHECK(text({kFirst, kFirst, kFirst, kSecond}) ==
        "VLLM_PP_LAYER_PARTITION=3,1\n--pipeline-parallel-size 2\n");
  expect_error(ErrorCode::unsupported,
               {"vLLM", "machine 'two'", "a/cpu, b/cpu", "a/gpu idle", "name a machine without"},
               [&] {
                 static_cast<void>(text({kSecond, kSecond, kSecond, kSecond}));
               });
}

TEST_CASE("a last norm that onnxruntime-genai counts as a layer is none") {
  GraphBuilder builder("genai");
  TensorId last = kNoTensor;
  const auto add = [&](const std::string& module, std::vector<std::int64_t> shape) {
    std::string name = module;
    std::replace(name.begin() + 6, name.end(), '.', '/');  // "model.layers/0/q_proj"
    const OpId op = builder.add_op("/" + name + "/Op", "Op");
    if (last != kNoTensor) builder.add_input(op, last);
    builder.add_input(op, builder.add_parameter({DType::f32, true, std::move(shape), kUnknownBytes},
                                                module + ".weight"));
    last = builder.add_output(op, {DType::f32, true, {1, 256}, kUnknownBytes});
  };
  add("model.embed_tokens", {256, 256});
  for (const char* layer : {"model.layers.0", "model.layers.1"}) {
    add(layer + std::string(".q_proj"), {256, 256});
    add(layer + std::string(".up_proj"), {256, 256});
  }
  add("model.layers.2.final_norm_layernorm", {20000});
  add("lm_head", {256, 256});
  const auto graph = builder.build();
  const auto text = [&](const char* format, DeviceId words) {
    const Placement placement = {words, kFirst, kFirst, kSecond, kSecond, kSecond, kSecond};
    return plan_writer(format).text(*graph, *machine(), placement);
  };
  CHECK(text("llama.cpp", kHost) == "-ngl 3\n--tensor-split 1,2\n");
  CHECK(text("vllm", kFirst) == "VLLM_PP_LAYER_PARTITION=1,1\n--pipeline-parallel-size 2\n");
  CHECK(json::parse(text("device_map", kHost)) == json({{"lm_head", 1},
                                                        {"model.embed_tokens", "cpu"},
                                                        {"model.layers.0", 0},
                                                        {"model.layers.1", 1},
                                                        {"model.norm", 1}}));
  CHECK(json::parse(text("deepspeed", kFirst))["layers"] ==
        json({"model.embed_tokens", "model.layers.0", "model.layers.1", "model.norm", "lm_head"}));
}

TEST_CASE("elements of the list of layers that are none are before or behind, or refused") {
  const auto sequence = [](const std::vector<std::vector<std::int64_t>>& elements,
                           const std::string& last_name = "proj0") {
    GraphBuilder builder("sequence");
    TensorId last = kNoTensor;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      for (std::size_t k = 0; k < elements[i].size(); ++k) {
        const std::string module =
            std::to_string(i) + "." +
            (i + 1 == elements.size() && k == 0 ? last_name : "proj" + std::to_string(k));
        const OpId op = builder.add_op(std::to_string(i) + "_" + std::to_string(k), "Op");
        if (last != kNoTensor) builder.add_input(op, last);
        const std::vector<std::int64_t> shape = {elements[i][k], 64};
        builder.add_input(op, builder.add_parameter({DType::f32, true, shape, kUnknownBytes},
                                                    module + ".weight"));
        last = builder.add_output(op, {DType::f32, true, {1, 64}, kUnknownBytes});
      }
    }
    return builder.build();
  };
  // An embedding and its norm, two layers, a norm, a head.
  const auto graph = sequence({{64}, {1}, {64, 64, 1}, {64, 64, 1}, {1}, {64}});
  const Placement placement = {kFirst,  kFirst,  kFirst,  kFirst,  kFirst,
                               kSecond, kSecond, kSecond, kSecond, kSecond};
  CHECK(plan_writer("vllm").text(*graph, *machine(), placement) ==
        "VLLM_PP_LAYER_PARTITION=1,1\n--pipeline-parallel-size 2\n");
  expect_error(ErrorCode::unsupported, {"vLLM", "1 has 0 of the 2", "torch-pipelining"}, [&] {
    plan_writer("vllm").check(*sequence({{64, 64}, {1}, {64, 64}, {64, 64}}), *machine());
  });
  expect_error(ErrorCode::unsupported, {"llama.cpp", "1", "a further word", "1.eh_proj"}, [&] {
    plan_writer("llama.cpp").check(*sequence({{64, 64}, {64, 64}}, "eh_proj"), *machine());
  });
}

TEST_CASE("DeepSpeed counts elements without parameters, where all are of one list") {
  const auto sequential = [](const std::vector<std::string>& modules) {
    GraphBuilder builder("sequential");
    TensorInfo info;
    info.bytes = 100;
    TensorId last = kNoTensor;
    for (const std::string& module : modules) {
      const bool plain = module.ends_with("relu");
      const std::string name = plain ? module.substr(0, module.find(' ')) : module;
      const OpId op = builder.add_op("/" + name + "/Op", "Op");
      if (last != kNoTensor) builder.add_input(op, last);
      if (!plain) builder.add_input(op, builder.add_parameter(info, name + ".weight"));
      last = builder.add_output(op, info);
    }
    return builder.build();
  };
  const auto graph = sequential({"0", "1 relu", "2", "3 relu", "4", "5 relu"});
  const json stages = json::parse(
      plan_writer("deepspeed")
          .text(*graph, *machine(), {kFirst, kFirst, kSecond, kSecond, kSecond, kSecond}));
  CHECK(stages["parts"] == json({0, 2, 6}));
  CHECK(stages["layers"] == json({"0", "1", "2", "3", "4", "5"}));
  const auto gaps = sequential({"features.0", "features.1 relu", "features.2", "head"});
  expect_error(ErrorCode::unsupported, {"features.1 has no parameters", "torch-pipelining"},
               [&] { plan_writer("deepspeed").check(*gaps, *machine()); });
}

TEST_CASE("DeepSpeed and torch.distributed.pipelining get the first block of each stage") {
  const Placement placement = by_layer({kFirst, kFirst, kSecond, kSecond});
  const json stages = json::parse(written("deepspeed", placement));
  CHECK(stages["num_stages"] == 2);
  CHECK(stages["parts"] == json({0, 3, 7}));
  CHECK(stages["layers"][3] == "model.layers.2");
  CHECK(stages["gpus"] == json({0, 1}));
  CHECK(json::parse(written("torch-pipelining", placement)) ==
        json({{"split_spec", {{"model.layers.2", "BEGINNING"}}}, {"gpus", {0, 1}}}));
  // Its stages may be on GPUs in any order; DeepSpeed's ranks may not.
  const Placement backwards = by_layer({kSecond, kSecond, kFirst, kFirst});
  CHECK(json::parse(written("torch-pipelining", backwards))["gpus"] == json({1, 0}));
  expect_error(ErrorCode::unsupported, {"DeepSpeed", "gpu:0", "after a later one"},
               [&] { static_cast<void>(written("deepspeed", backwards)); });
}

TEST_CASE("OpenVINO gets an affinity for each op, and its devices with the host last") {
  const json plan = json::parse(written("openvino", by_layer({kHost, kFirst, kFirst, kSecond})));
  CHECK(plan["device"] == "HETERO:GPU.0,GPU.1,CPU");
  CHECK(plan["affinity"]["embed"] == "CPU");
  CHECK(plan["affinity"]["q3"] == "GPU.1");
}

TEST_CASE("OpenVINO knows an op that makes results by the last of them") {
  GraphBuilder builder("results", "onnx");
  const TensorId x = builder.add_output(builder.add_op("x", "Input"), {}, "x");
  const OpId split = builder.add_op("/Split", "Split");
  builder.add_input(split, x);
  const TensorId first = builder.add_output(split, {}, "first");
  builder.add_result(first);
  builder.add_result(builder.add_output(split, {}, "second"));
  const OpId relu = builder.add_op("/Relu", "Relu");
  builder.add_input(relu, first);
  builder.add_output(relu, {}, "unused");
  const json plan = json::parse(
      plan_writer("openvino").text(*builder.build(), *machine(), {kHost, kFirst, kFirst}));
  CHECK(plan["affinity"] == json({{"x", "CPU"}, {"second", "GPU.0"}, {"/Relu", "GPU.0"}}));
}

TEST_CASE("what a form cannot have is known before there is a plan") {
  const auto check = [](const char* format, const Graph& graph, const Cluster& cluster) {
    plan_writer(format).check(graph, cluster);
  };
  expect_error(ErrorCode::unsupported, {"holds one GPU", "'machine' has 2"},
               [&] { check("onnxruntime", *decoder(), *machine()); });
  expect_error(ErrorCode::unsupported, {"cpu and nnpa", "gpu:0"},
               [&] { check("onnx-mlir", *decoder(), *machine()); });
  check("llama.cpp", *decoder(), *machine());
  check("vllm", *decoder(), *machine());
  const Cluster without("bare", {{"gpu:0", "gpu"}}, {});
  expect_error(ErrorCode::unsupported, {"'bare' has none"},
               [&] { check("llama.cpp", *decoder(), without); });
}

TEST_CASE("ONNX Runtime gets one GPU and the host, by the annotations of the model") {
  Placement placement = by_layer({kHost, kSecond, kSecond, kHost});
  CHECK(json::parse(written("onnxruntime", placement)) ==
        json({{"session.layer_assignment_settings", "cpu(=cpu:0); gpu:1(=gpu:1)"}}));
  placement.front() = kFirst;
  expect_error(ErrorCode::unsupported, {"holds one GPU", "'decoder'", "gpu:0, gpu:1"},
               [&] { static_cast<void>(written("onnxruntime", placement)); });
  const Cluster odd("odd", {{"a(1)", "gpu"}}, {});
  GraphBuilder builder("bare");
  builder.add_op("a", "T");
  expect_error(ErrorCode::unsupported, {"'a(1)'"}, [&] {
    static_cast<void>(plan_writer("onnxruntime").text(*builder.build(), odd, {kFirst}));
  });
}

TEST_CASE("onnx-mlir gets an expression for each op, which matches its name alone") {
  const Cluster cluster("z17", {{"cpu:0", "cpu"}, {"nnpa:0", "nnpa"}}, {{"*", "*", 1e9, 1}});
  GraphBuilder builder("two");
  builder.add_op("/a/MatMul[0]", "MatMul");
  builder.add_op("b", "Relu");
  const auto graph = builder.build();
  CHECK(json::parse(plan_writer("onnx-mlir").text(*graph, cluster, {1, 0})) ==
        json({{"device_placement",
               {{{"device", "nnpa"},
                 {"node_type", "onnx.MatMul"},
                 {"onnx_node_name", "/a/MatMul\\[0\\]"}},
                {{"device", "cpu"}, {"node_type", "onnx.Relu"}, {"onnx_node_name", "b"}}}}}));
  expect_error(ErrorCode::unsupported, {"'b'", "gpu:1", "'gpu'"}, [&] {
    static_cast<void>(plan_writer("onnx-mlir").text(*graph, *machine(), {kHost, kSecond}));
  });
}

TEST_CASE("csv and graphviz name every op, whatever its name has in it") {
  GraphBuilder builder("a \"graph\"");
  TensorInfo info;
  info.bytes = 1;
  const OpId a = builder.add_op("a,\"b\"\n", "T\\");
  const TensorId tensor = builder.add_output(a, info);
  builder.add_input(builder.add_op("plain", "U"), tensor);
  const auto graph = builder.build();
  CHECK(plan_writer("csv").text(*graph, *machine(), {kFirst, kSecond}) ==
        "op,type,device,device_number\r\n\"a,\"\"b\"\"\n\",T\\,gpu:0,0\r\nplain,U,gpu:1,2\r\n");
  const std::string dot = plan_writer("graphviz").text(*graph, *machine(), {kFirst, kSecond});
  CHECK(dot.starts_with("digraph \"a \\\"graph\\\"\" {\n"));
  CHECK(dot.find("n0 -> n1 [color=red, penwidth=2];") != std::string::npos);
  CHECK(dot.find("label=\"a,\\\"b\\\"\\n\\nT\\\\\"") != std::string::npos);
  CHECK(dot.find("label=\"plain\\nU\"") != std::string::npos);
}

TEST_CASE("csv holds nothing that a spreadsheet computes") {
  GraphBuilder builder("hostile");
  builder.add_op("=cmd|' /C calc'!A0", "+1");
  builder.add_op("a", "@sum");
  const auto graph = builder.build();
  CHECK(plan_writer("csv").text(*graph, *machine(), {kFirst, kFirst}) ==
        "op,type,device,device_number\r\n'=cmd|' /C "
        "calc'!A0,'+1,gpu:0,0\r\na,'@sum,gpu:0,0\r\n");
}

TEST_CASE("names come back from csv once a first apostrophe is taken away") {
  const std::vector<std::string> names = {"-x",  "'-x",  "''-x", "@main", "=y",   "\t",    "?",
                                          "a?b", "a\nb", "a\rb", "a\x1b", "a,\"", "'\n\"", "'"};
  GraphBuilder builder("named");
  for (const std::string& name : names) builder.add_op(name, "T");
  const auto graph = builder.build();
  const std::string text =
      plan_writer("csv").text(*graph, *machine(), Placement(names.size(), kFirst));
  std::vector<std::string> read;
  for (std::size_t at = text.find('\n') + 1; at < text.size(); at = text.find("\r\n", at) + 2) {
    std::string name;
    const bool quoted = text[at] == '"';
    for (at += quoted ? 1 : 0; quoted || text[at] != ','; ++at) {
      if (quoted && text[at] == '"' && text[++at] != '"') break;
      name += text[at];
    }
    read.push_back(name.starts_with('\'') ? name.substr(1) : name);
  }
  CHECK(read == names);
}

TEST_CASE("a graph without modules or layers is refused with what to do") {
  GraphBuilder builder("bare");
  builder.add_op("a", "T");
  const auto graph = builder.build();
  for (const char* format : {"device_map", "llama.cpp", "vllm"}) {
    expect_error(ErrorCode::unsupported, {"'bare'", "names of its parameters"}, [&] {
      static_cast<void>(plan_writer(format).text(*graph, *machine(), {kFirst}));
    });
  }
  expect_error(ErrorCode::not_found, {"'vlm'", "did you mean 'vllm'?", "device_map"},
               [] { static_cast<void>(plan_writer("vlm")); });
}

}  // namespace
}  // namespace berth::test
