// Notes of plans: the context and the weights that they were made for, and what was not searched.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "berth/costs.h"
#include "berth/error.h"
#include "berth/machines.h"
#include "berth/plan_writers.h"
#include "berth/sdk/ops/constants.h"
#include "berth/tools.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

TensorInfo sized(DType dtype, std::vector<std::int64_t> shape) {
  return {dtype, true, std::move(shape), kUnknownBytes};
}

/// Two layers with caches of `cached` positions, which Concat makes longer by `more`; heads are wider than
/// that. `packed`: weights of 4 bits with a scale in 16 for each 32 of them, of a matrix and of two
/// experts.
std::shared_ptr<const Graph> decoder(std::int64_t cached, bool packed = false,
                                     std::int64_t more = 1) {
  GraphBuilder builder("decoder");
  TensorId last = builder.add_output(builder.add_op("x", "Input"), sized(DType::f16, {1, 64}));
  for (const std::string layer : {"model.layers.0", "model.layers.1"}) {
    const OpId past = builder.add_op(layer + ".past", "Input");
    const TensorId cache = builder.add_output(past, sized(DType::f16, {1, 4, cached, 512}));
    const OpId longer = builder.add_op(layer + ".concat", "Concat");
    builder.add_input(longer, cache);
    builder.add_output(longer, sized(DType::f16, {1, 4, cached + more, 512}));
    for (const char* part : {".self_attn.q_proj", ".mlp.up_proj"}) {
      const std::string module = layer + part;
      const OpId op = builder.add_op(module, "MatMul");
      builder.add_input(op, last);
      if (module.ends_with("q_proj")) builder.add_input(op, cache);
      if (packed && module.ends_with("up_proj")) {
        builder.set_attribute(op, "expert_weight_bits", std::int64_t{4});
        builder.add_input(
            op, builder.add_parameter(sized(DType::u8, {2, 64, 32}), module + ".qweight"));
        builder.add_input(op,
                          builder.add_parameter(sized(DType::f16, {2, 128}), module + ".scales"));
      } else if (packed) {
        builder.set_attribute(op, "K", std::int64_t{64});
        builder.set_attribute(op, "N", std::int64_t{64});
        builder.add_input(
            op, builder.add_parameter(sized(DType::u8, {64, 2, 16}), module + ".qweight"));
        builder.add_input(op, builder.add_parameter(sized(DType::f16, {128}), module + ".scales"));
      } else {
        builder.add_input(op,
                          builder.add_parameter(sized(DType::f16, {64, 64}), module + ".weight"));
      }
      last = builder.add_output(op, sized(DType::f16, {1, 64}));
    }
  }
  return builder.build();
}

/// One layer with a cache, and a weight that is dequantised with scales of blocks of 32.
std::shared_ptr<const Graph> layer(DType cached, std::vector<std::int64_t> cache,
                                   DType computed = DType::f16, std::int64_t trained = 0) {
  GraphBuilder builder("layer", "onnx");
  TensorId last = builder.add_output(builder.add_op("x", "Input"), sized(computed, {1, 64}));
  for (const std::string name : {"model.layers.0", "model.layers.1"}) {
    const OpId past = builder.add_op(name + ".past", "Input");
    const TensorId before = builder.add_output(past, sized(cached, cache));
    const OpId turned = builder.add_op("/" + name + "/rotary", "com.microsoft.RotaryEmbedding");
    builder.add_input(turned, last);
    builder.add_input(turned, before);
    if (trained > 0) {
      builder.add_input(turned, builder.add_parameter(sized(computed, {trained, 64}), "cos_cache"));
    }
    last = builder.add_output(turned, sized(computed, {1, 64}));
    for (const char* part : {".self_attn.q_proj", ".mlp.up_proj"}) {
      const std::string module = name + part;
      const OpId wide = builder.add_op(module + ".wide", "DequantizeLinear");
      builder.set_attribute(wide, "axis", std::int64_t{0});
      builder.add_input(wide,
                        builder.add_parameter(sized(DType::i4, {64, 64}), module + ".weight"));
      builder.add_input(wide, builder.add_parameter(sized(DType::f16, {2, 64}), module + ".scale"));
      const OpId op = builder.add_op(module, "MatMul");
      builder.add_input(op, last);
      builder.add_input(op, builder.add_output(wide, sized(computed, {64, 64})));
      last = builder.add_output(op, sized(computed, {1, 64}));
    }
  }
  return ops::with_parameters_as_stored(ops::fold_constants(builder.build()));
}

std::string plan(const char* form, const Graph& graph, const char* words = "l4+host") {
  const auto cluster = machine_of_words(words);
  const DeviceId gpu = cluster->device(0).host ? 1 : 0;
  return plan_writer(form).text(graph, *cluster,
                                Placement(static_cast<std::size_t>(graph.op_count()), gpu));
}

std::string notes(const char* name, const Graph& graph, const char* words) {
  const auto cluster = machine_of_words(words);
  const auto costs = Costs::roofline(graph, *cluster);
  std::string text;
  for (const auto& note : tool(name).rules({graph, *cluster, *costs, false}).notes) {
    text += note + "\n";
  }
  return text;
}

TEST_CASE("plans say the context that they have room for, in the tool's own steps") {
  const auto cluster = machine_of_words("l4+host");
  const auto text = [&](const char* form, std::int64_t cached) {
    const auto graph = decoder(cached);
    const DeviceId gpu = cluster->device(0).host ? 1 : 0;
    return plan_writer(form).text(*graph, *cluster,
                                  Placement(static_cast<std::size_t>(graph->op_count()), gpu));
  };
  CHECK(text("llama.cpp", 255) == "-ngl 3\n-c 256\n");
  CHECK(text("llama.cpp", 256) == "-ngl 3\n-c 512\n");
  CHECK(text("vllm", 256) ==
        "VLLM_PP_LAYER_PARTITION=2\n--pipeline-parallel-size 1\n--max-model-len 257\n");
}

TEST_CASE("caches of a single position are told, as nobody gave their dimension") {
  for (const char* name : {"llama.cpp", "vllm"}) {
    CHECK(notes(name, *decoder(1), "l4+host").find("of 1 position") != std::string::npos);
    // The total is 1 too, where nobody gave that.
    CHECK(notes(name, *decoder(1, false, 0), "l4+host").find("of 1 pos") != std::string::npos);
    CHECK(notes(name, *decoder(2), "l4+host").find("position") == std::string::npos);
  }
}

TEST_CASE("plans for tools with files of their own say the bits of a weight") {
  CHECK(notes("llama.cpp", *decoder(9), "l4+host").find("counts 16.0 bits") != std::string::npos);
  CHECK(notes("llama.cpp", *decoder(9, true), "l4+host").find("counts 4.5 bits") !=
        std::string::npos);
  CHECK(notes("vllm", *decoder(9, true), "l4+host").find("4.5 bits") != std::string::npos);
  CHECK(notes("accelerate", *decoder(9), "l4+host").find("bits") == std::string::npos);
}

TEST_CASE("plans say the bits of caches where those are not 16") {
  const std::vector<std::int64_t> cache = {1, 4, 99, 8};
  CHECK(plan("llama.cpp", *layer(DType::i8, cache)).ends_with("-c 256\n-ctk q8_0\n-ctv q8_0\n"));
  CHECK(plan("vllm", *layer(DType::i8, cache))
            .ends_with("--max-model-len 100\n--kv-cache-dtype fp8\n"));
  for (const DType dtype : {DType::f16, DType::f32}) {
    CHECK(plan("llama.cpp", *layer(dtype, cache)).ends_with("-c 256\n"));
    CHECK(plan("vllm", *layer(dtype, cache)).ends_with("--max-model-len 100\n"));
  }
}

TEST_CASE("llama.cpp's context is that of all sequences together") {
  CHECK(plan("llama.cpp", *layer(DType::f16, {8, 4, 99, 8})).ends_with("-c 2048\n-np 8\n"));
}

TEST_CASE("a context is no longer than the model was trained for") {
  const auto last = [](std::int64_t trained) {
    return plan("vllm", *layer(DType::f16, {1, 4, 256, 8}, DType::f16, trained));
  };
  CHECK(last(256).ends_with("--max-model-len 256\n"));
  CHECK(last(300).ends_with("--max-model-len 257\n"));
}

TEST_CASE("caches with a dimension that nobody gave are told, beside longer ones too") {
  for (const char* name : {"llama.cpp", "vllm"}) {
    CHECK(notes(name, *layer(DType::f16, {1, 4, 99, 1}), "l4+host").find("no room for what") !=
          std::string::npos);
    CHECK(notes(name, *layer(DType::f16, {1, 4, 99, 8}), "l4+host").find("no room for what") ==
          std::string::npos);
  }
}

TEST_CASE("tools that load a checkpoint are told of weights of fewer bits, scales apart") {
  const auto graph = layer(DType::f16, {1, 4, 99, 8});
  for (const char* name : {"accelerate", "deepspeed", "torch-pipelining"}) {
    CAPTURE(name);
    const std::string told = notes(name, *graph, "l4+host");
    CHECK(told.find("counts 4.5 bits for a weight") != std::string::npos);
    CHECK(told.find("3.6 times the memory") != std::string::npos);
  }
  CHECK(notes("llama.cpp", *graph, "l4+host").find("counts 4.5 bits") != std::string::npos);
}

TEST_CASE("vLLM has no GPU before Volta, and none before Ampere has bf16") {
  const std::vector<std::int64_t> cache = {1, 4, 99, 8};
  const auto halves = layer(DType::f16, cache), brains = layer(DType::bf16, cache, DType::bf16);
  for (const char* words : {"k80+host", "p40+host", "p100+host", "gtx1080ti+host"}) {
    CAPTURE(words);
    expect_error(ErrorCode::unsupported, {"vLLM", "compute capability 7.0", "llama.cpp"},
                 [&] { static_cast<void>(notes("vllm", *halves, words)); });
  }
  for (const char* words : {"v100+host", "t4+host", "gtx1660+host", "rtx2060+host"}) {
    CAPTURE(words);
    CHECK(plan("vllm", *brains, words).ends_with("--dtype half\n"));
    CHECK(plan("vllm", *halves, words).find("--dtype") == std::string::npos);
    CHECK(notes("vllm", *brains, words).find("--dtype half") != std::string::npos);
  }
  CHECK(plan("vllm", *brains).find("--dtype") == std::string::npos);
}

TEST_CASE("tools that train are told what their plan has no room for, and of the objective") {
  const auto graph = decoder(9);  // four matrices of 64 x 64 in 16 bits
  for (const char* name : {"deepspeed", "torch-pipelining"}) {
    CAPTURE(name);
    const std::string told = notes(name, *graph, "2xl4+host");
    CHECK(told.find("takes 256 KiB (16 bytes for each weight") != std::string::npos);
    CHECK(told.find("p - s micro-batches") != std::string::npos);
    CHECK(told.find("--memory-margin 88%") != std::string::npos);
    CHECK(told.find("--objective throughput") != std::string::npos);
    CHECK(notes(name, *graph, "l4+host").find("--objective") == std::string::npos);
    // Weights of 128 KiB fit.
    const std::string small = notes(name, *graph, "2xl4:100KiB+host");
    CHECK_MESSAGE(small.find("and the GPUs hold 200 KiB; name a machine") != std::string::npos,
                  small);
  }
  CHECK(notes("accelerate", *graph, "2xl4+host").find("Adam") == std::string::npos);
}

TEST_CASE("vLLM's tensor parallelism is told where GPUs are alike") {
  CHECK(notes("vllm", *decoder(9), "4xl4+host").find("--tensor-parallel-size 4") !=
        std::string::npos);
  for (const char* words : {"l4+host", "l4+t4+host"}) {
    CHECK(notes("vllm", *decoder(9), words).find("tensor") == std::string::npos);
  }
}

TEST_CASE("tools of one process refuse machines of several hosts") {
  std::vector<Device> devices = {{"a/cpu", "cpu"}, {"a/gpu", "gpu"}, {"b/cpu", "cpu"}};
  devices[0].host = devices[2].host = true;
  for (Device& device : devices) device.flops = device.memory_bandwidth = 1e12;
  const Cluster cluster("two", devices, {{"*", "*", 1e9, 1}});
  const auto graph = decoder(9);
  const auto costs = Costs::roofline(*graph, cluster);
  for (const char* name : {"llama.cpp", "accelerate", "onnxruntime", "openvino"}) {
    CAPTURE(name);
    expect_error(ErrorCode::unsupported, {"one host", "'two'", "a/cpu, b/cpu", "one of them"}, [&] {
      static_cast<void>(tool(name).rules({*graph, cluster, *costs, false}));
    });
  }
  for (const char* form : {"llama.cpp", "device_map", "onnxruntime", "openvino"}) {
    CAPTURE(form);
    expect_error(ErrorCode::unsupported, {"one host", "a/cpu, b/cpu"},
                 [&] { plan_writer(form).check(*graph, cluster); });
  }
  static_cast<void>(tool("deepspeed").rules({*graph, cluster, *costs, false}));
}

}  // namespace
}  // namespace berth::test
