// Caches as tools allot them, in place of those of the file.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/costs.h"
#include "berth/machines.h"
#include "berth/plan_writers.h"
#include "berth/tools.h"

namespace berth::test {
namespace {

constexpr std::int64_t kHidden = 64, kHeads = 4, kSize = 16;
constexpr std::int64_t kRow = kHeads * kSize;  // numbers of a position in a cache

/// Makes one of the layers, from the first on.
struct Layer {
  std::int64_t window = -1;
  std::int64_t cached = 8192;
};

/// Layers of grouped attention with a cache of keys and one of values, which are states, for one new token.
std::shared_ptr<const Graph> decoder(const std::vector<Layer>& layers, DType cached = DType::f16,
                                     std::int64_t sequences = 1, std::int64_t cache_bits = 0) {
  GraphBuilder builder("decoder", "onnx");
  const auto sized = [](DType dtype, std::vector<std::int64_t> shape) {
    return TensorInfo{dtype, true, std::move(shape), kUnknownBytes};
  };
  std::vector<Graph::State> states;
  TensorId last =
      builder.add_output(builder.add_op("x", "Input"), sized(DType::f16, {sequences, 1, kHidden}));
  const auto multiply = [&](const std::string& module) {
    const OpId op = builder.add_op(module, "MatMul");
    builder.add_input(op, last);
    builder.add_input(
        op, builder.add_parameter(sized(DType::f16, {kHidden, kHidden}), module + ".weight"));
    last = builder.add_output(op, sized(DType::f16, {sequences, 1, kHidden}));
  };
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string layer = "model.layers." + std::to_string(i);
    multiply(layer + ".self_attn.q_proj");
    const OpId attend = builder.add_op("/" + layer + "/attn", "com.microsoft.GroupQueryAttention");
    builder.set_attribute(attend, "num_heads", kHeads);
    builder.set_attribute(attend, "local_window_size", layers[i].window);
    if (cache_bits > 0) builder.set_attribute(attend, "kv_cache_bit_width", cache_bits);
    for (int input = 0; input < 3; ++input) builder.add_input(attend, last);
    const TensorId out = builder.add_output(attend, sized(DType::f16, {sequences, 1, kHidden}));
    for (const char* const name : {".key", ".value"}) {
      const OpId past = builder.add_op(layer + name, "Input");
      const auto shape = [&](std::int64_t positions) {
        return std::vector<std::int64_t>{sequences, kHeads, positions, kSize};
      };
      builder.add_input(attend, builder.add_output(past, sized(cached, shape(layers[i].cached))));
      states.push_back(
          {builder.add_output(attend, sized(cached, shape(layers[i].cached + 1))), past});
    }
    last = out;
    multiply(layer + ".mlp.up_proj");
  }
  return builder.build()->with_states(states);
}

/// The bytes of the caches of a layer that `name` holds.
std::int64_t held_bytes(const char* name, std::shared_ptr<const Graph> graph, int layer) {
  const auto held = tool(name).held(std::move(graph));
  std::int64_t bytes = 0;
  for (const char* const part : {".key", ".value"}) {
    const auto input = held->find_op("model.layers." + std::to_string(layer) + part);
    REQUIRE(input);
    bytes += held->output_bytes(*input);
  }
  return bytes;
}

std::string plan(const Graph& graph) {
  const auto cluster = machine_of_words("l4+host");
  const DeviceId gpu = cluster->device(0).host ? 1 : 0;
  return plan_writer("llama.cpp")
      .text(graph, *cluster, Placement(static_cast<std::size_t>(graph.op_count()), gpu));
}

TEST_CASE(
    "llama.cpp keeps the window and a prompt's tokens, in steps of 256, where others see all") {
  constexpr struct {
    std::int64_t window, cells;
  } kCases[] = {{128, 768},   {1024, 1536}, {1025, 1792},
                {7000, 7680}, {8000, 8192}, {1 << 20, 8192}};
  for (const auto& each : kCases) {
    CAPTURE(each.window);
    const auto graph = decoder({{each.window}, {}});
    CHECK(held_bytes("llama.cpp", graph, 0) == 2 * each.cells * kRow * 2);
    CHECK(held_bytes("llama.cpp", graph, 1) == 2 * 8192 * kRow * 2);
    // A file may have the window alone.
    const auto shorter = decoder({{each.window, 128}, {}});
    CHECK(held_bytes("llama.cpp", shorter, 0) == 2 * each.cells * kRow * 2);
  }
  // Each sequence has its own.
  CHECK(held_bytes("llama.cpp", decoder({{1024}, {}}, DType::f16, 3), 0) ==
        2 * 3 * 1536 * kRow * 2);
  // llama.cpp has no windows where all layers have one.
  CHECK(held_bytes("llama.cpp", decoder({{1024}, {1024}}), 0) == 2 * 8192 * kRow * 2);
  CHECK(held_bytes("vllm", decoder({{1024}, {}}), 0) == 2 * 8192 * kRow * 2);
}

TEST_CASE(
    "a plan with windows is for one sequence, and for the context of the layers that see all") {
  CHECK(plan(*decoder({{1024, 128}, {}})).ends_with("-c 8448\n-np 1\n"));
  CHECK(plan(*tool("llama.cpp").held(decoder({{8000}, {}}))).ends_with("-c 8448\n-np 1\n"));
  CHECK(plan(*decoder({{1024}, {1024}})).ends_with("-c 8448\n"));
  CHECK(plan(*decoder({{}, {}})).ends_with("-c 8448\n"));
}

TEST_CASE("caches are held in 16 bits, unless the tool has an option for theirs") {
  const auto bytes = [](const char* name, DType cached, std::int64_t cache_bits = 0) {
    return held_bytes(name, decoder({{}, {}}, cached, 1, cache_bits), 0);
  };
  constexpr std::int64_t kNumbers = 2 * 8192 * kRow;
  for (const char* const name : {"llama.cpp", "vllm"}) {
    CAPTURE(std::string(name));
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      CHECK(bytes(name, dtype) == 2 * kNumbers);
    }
  }
  // Blocks of 32 numbers have a scale in 16 bits.
  CHECK(bytes("llama.cpp", DType::i8) == kNumbers * 34 / 32);
  CHECK(bytes("llama.cpp", DType::u8, 4) == 2 * kNumbers * 18 / 32);
  CHECK(bytes("vllm", DType::i8) == kNumbers);
  CHECK(bytes("vllm", DType::u8, 4) == 2 * kNumbers * 2);
}

TEST_CASE("attention reads caches as the tool holds them, and leaves none beside them") {
  const auto graph = decoder({{}, {1024}}, DType::f32);
  const auto held = tool("llama.cpp").held(graph);
  const auto cluster = machine_of_words("l4+host");
  const auto us = [&](const Graph& some, const char* name) {
    const DeviceId gpu = cluster->device(0).host ? 1 : 0;
    return Costs::roofline(some, *cluster)
        ->op_us(some.find_op(name).value(), cluster->kind_of(gpu));
  };
  const double before = us(*held->with_states(held->states()), "/model.layers.0/attn");
  CHECK(before < us(*decoder({{}, {}}, DType::f32), "/model.layers.0/attn"));
  for (const Graph::State& state : held->states()) {
    CHECK(held->dtype(state.result) == DType::f16);
    CHECK(held->lasting_bytes(state.input) <= 2 * 8192 * kRow);
  }
  REQUIRE(held->states().size() == graph->states().size());
  CHECK(held->op_count() == graph->op_count());
}

}  // namespace
}  // namespace berth::test
