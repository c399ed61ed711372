// Memory that tools keep beside weights and caches, by their own arithmetic; and how many stacks of
// layers a decoder has.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/costs.h"
#include "berth/error.h"
#include "berth/machines.h"
#include "berth/tools.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

constexpr std::int64_t kHidden = 64, kWide = 256, kWords = 1000;

TensorInfo f32(std::vector<std::int64_t> shape) {
  return {DType::f32, true, std::move(shape)};
}

/// embed_tokens, two layers of attention over `cached` positions and of feed-forward, norm, lm_head; for one
/// new token.
std::shared_ptr<const Graph> decoder(std::int64_t cached) {
  GraphBuilder builder("decoder");
  const auto add = [&](const std::string& module, std::vector<TensorId> inputs, std::int64_t width,
                       std::vector<std::int64_t> weight) {
    std::string scope = "/" + module;
    std::replace(scope.begin() + 7, scope.end(), '.', '/');
    const OpId op = builder.add_op(scope + "/MatMul", "MatMul");
    inputs.push_back(builder.add_parameter(f32(std::move(weight)), module + ".weight"));
    for (const TensorId input : inputs) builder.add_input(op, input);
    return builder.add_output(op, f32({1, 1, width}));
  };
  const OpId ids = builder.add_op("ids", "Input");
  TensorId last =
      add("model.embed_tokens", {builder.add_output(ids, f32({1, 1}))}, kHidden, {kWords, kHidden});
  for (const std::string layer : {"model.layers.0", "model.layers.1"}) {
    const OpId past = builder.add_op(layer + ".past", "Input");
    const TensorId cache = builder.add_output(past, f32({1, 4, cached, 16}));
    last = add(layer + ".self_attn.q_proj", {last, cache}, kHidden, {kHidden, kHidden});
    last = add(layer + ".mlp.up_proj", {last}, kWide, {kHidden, kWide});
    last = add(layer + ".mlp.down_proj", {last}, kHidden, {kWide, kHidden});
  }
  last = add("model.norm", {last}, kHidden, {kHidden});
  add("lm_head", {last}, kWords, {kHidden, kWords});
  return builder.build();
}

/// The most that ops whose name has `part` need while they run, by the tool's rules.
std::int64_t kept_bytes(const char* name, std::int64_t cached, const std::string& part) {
  const auto graph = decoder(cached);
  const auto cluster = machine_of_words("2xl4");
  const auto costs = Costs::roofline(*graph, *cluster);
  const ToolRules rules = tool(name).rules({*graph, *cluster, *costs, false});
  REQUIRE(rules.costs != nullptr);
  std::int64_t most = 0;
  for (OpId op = 0; op < graph->op_count(); ++op) {
    if (graph->op_name(op).find(part) == std::string::npos) continue;
    most = std::max(most, rules.costs->workspace_bytes(op));
  }
  return most;
}

TEST_CASE("llama.cpp keeps a prompt's tensors, and a mask of the whole context in 16 bits") {
  // A context is padded to multiples of 256 (GGML_PAD(n_ctx, 256)), of which a prompt has up to 512 (-ub).
  constexpr struct {
    std::int64_t cached, context, tokens;
  } kCases[] = {{99, 256, 256},   {255, 256, 256},   {256, 512, 512},
                {999, 1024, 512}, {1023, 1024, 512}, {1024, 1280, 512}};
  for (const auto& each : kCases) {
    CAPTURE(each.cached);
    const std::int64_t mask = each.tokens * each.context * 2;
    CHECK(kept_bytes("llama.cpp", each.cached, "layers") ==
          each.tokens * (3 * kWide + 3 * kHidden) * 4 + mask);
    CHECK(kept_bytes("llama.cpp", each.cached, "lm_head") == each.tokens * (kWords + kHidden) * 4);
  }
}

TEST_CASE("vLLM keeps what a batch of 2,048 tokens and 256 sequences makes") {
  // Gate, up, their product and what comes of it, and the residual, in 16 bits.
  CHECK(kept_bytes("vllm", 999, "layers") == 2048 * (3 * kWide + kHidden + kHidden) * 2);
  // Logits in 16 bits and in 32, and probabilities in 32.
  CHECK(kept_bytes("vllm", 999, "lm_head") == 256 * kWords * (2 + 4 + 4));
}

TEST_CASE(
    "a list with a fifth of the layers' parameters is a second stack, and one with a fiftieth is "
    "none") {
  const auto beside = [](std::int64_t bytes) {
    GraphBuilder builder("towers");
    TensorId last = kNoTensor;
    const auto add = [&](const std::string& module, std::int64_t weight_bytes) {
      TensorInfo info;
      info.bytes = weight_bytes;
      const OpId op = builder.add_op(module, "MatMul");
      if (last != kNoTensor) builder.add_input(op, last);
      builder.add_input(op, builder.add_parameter(info, module + ".q.weight"));
      info.bytes = 8;
      last = builder.add_output(op, info);
    };
    for (const char* const module : {"vision.blocks.0", "vision.blocks.1"}) add(module, bytes);
    for (const char* const module : {"model.layers.0", "model.layers.1"}) add(module, 1'000'000);
    return builder.build();
  };
  const auto cluster = machine_of_words("2xl4");
  for (const char* const name : {"vllm", "llama.cpp"}) {
    CAPTURE(std::string(name));
    const auto rules = [&](std::int64_t bytes) {
      const auto graph = beside(bytes);
      const auto costs = Costs::roofline(*graph, *cluster);
      static_cast<void>(tool(name).rules({*graph, *cluster, *costs, false}));
    };
    rules(20'000);
    expect_error(ErrorCode::unsupported, {"one stack of layers", "vision.blocks"},
                 [&] { rules(200'000); });
  }
}

}  // namespace
}  // namespace berth::test
