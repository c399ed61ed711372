// Mixtures of experts that exporters spell out.
#include <algorithm>

#include "berth/costs.h"
#include "model_text.h"

namespace berth::test {
namespace {

/// `tokens` tokens of 16 numbers, each of which chooses 2 of 8 experts, of which one is spelled out:
/// its mask by one-hot numbers, its tokens gathered, multiplied, and scattered back.
onnx::ModelProto by_one_hot(int tokens) {
  onnx::ModelProto model = parse_graph(
      "g (float[" + std::to_string(tokens) + ",16] x, float[" + std::to_string(tokens) +
          ",8] scores) => (y) "
          "<int64[1] k = {2}, int64 depth = {8}, int64[2] off_on = {0, 1}, int64 expert = {3}, "
          "int64[1] zero = {0}> {"
          " values, indices = TopK(scores, k)"
          " hot = OneHot(indices, depth, off_on)"
          " masks = Transpose<perm = [2, 1, 0]>(hot)"
          " mask = Gather<axis = 0>(masks, expert)"
          " where = NonZero(mask)"
          " at, token = Split<axis = 0>(where)"
          " token_ids = Squeeze(token, zero)"
          " mine = Gather<axis = 0>(x, token_ids)"
          " made = MatMul(mine, w)"
          " index = Unsqueeze(token_ids, one)"
          " y = ScatterND<reduction = \"add\">(x, index, made)"
          "}",
      18);
  auto* const one = model.mutable_graph()->add_initializer();
  one->set_name("one");
  one->set_data_type(onnx::TensorProto::INT64);
  one->add_dims(1);
  one->add_int64_data(1);
  add_weight(model, "w", {16, 16});
  return model;
}

/// The same by comparing the chosen numbers with the expert's, without a known count of experts.
onnx::ModelProto by_equal(int tokens) {
  onnx::ModelProto model = parse_graph(
      "g (float[" + std::to_string(tokens) + ",16] x, float[" + std::to_string(tokens) +
          ",8] scores) => (y) <int64[1] k = {2}, int64 expert = {3}, int64[1] last = {-1}> {"
          " values, indices = TopK(scores, k)"
          " mine = Equal(indices, expert)"
          " counts = Cast<to = 6>(mine)"
          " any = ReduceMax<axes = [-1], keepdims = 0>(counts)"
          " mask = Cast<to = 9>(any)"
          " y = Compress<axis = 0>(x, mask)"
          "}",
      17);
  return model;
}

TEST_CASE("the tokens of an expert are those that choose it in the mean") {
  ModelFolder models;
  const LoadedModel model = models.load(by_one_hot(64));
  CHECK(type_text(*model.graph, "mine") == "f32[16,16]");  // 64 * 2 / 8
  CHECK(type_text(*model.graph, "y") == "f32[64,16]");
  CHECK(op_work(*model.graph, op(*model.graph, "made")).flops ==
        doctest::Approx(2. * 16 * 16 * 16));
  CHECK(has_note(model, "2 of 8 experts"));
  CHECK_FALSE(has_note(model, "largest step"));
  CHECK(type_text(*models.load(by_equal(64)).graph, "y") == "f32[16,16]");
}

TEST_CASE("of one token an expert has work in as many steps as it is chosen in") {
  ModelFolder models;
  const LoadedModel model = models.load(by_one_hot(1));
  CHECK(type_text(*model.graph, "mine") == "f32[1,16]");
  const Work work = op_work(*model.graph, op(*model.graph, "made"));
  CHECK(work.flops == doctest::Approx(2. * 16 * 16 / 4));
  CHECK(work.bytes == doctest::Approx(4. * (16 + 16 * 16 + 16) / 4));
  // What puts the tokens back runs in every step.
  const OpId scatter = op(*model.graph, "y");
  CHECK(op_work(*model.graph, scatter).bytes > 4 * 16);
}

TEST_CASE("the user says how many experts a token chooses") {
  ModelFolder models;
  LoadOptions options;
  options.experts = LoadOptions::Experts{1, 8};
  CHECK(type_text(*models.load(by_one_hot(64), options).graph, "mine") == "f32[8,16]");
  // Nothing is known of where this mask comes from.
  const auto proto =
      parse_graph("g (float[64,16] x, bool[64] mask) => (y) { y = Compress<axis = 0>(x, mask) }");
  CHECK(has_note(models.load(proto), "largest step"));
  options.experts = LoadOptions::Experts{2, 8};
  CHECK(type_text(*models.load(proto, options).graph, "y") == "f32[16,16]");
}

TEST_CASE("a choice by scores is none of experts") {
  ModelFolder models;
  const LoadedModel model = models.load(parse_graph(
      "g (float[1,1000] scores) => (y) <int64[1] k = {100}, float limit = {0.5}> {"
      " values, indices = TopK(scores, k) good = Greater(values, limit) y = NonZero(good) }"));
  CHECK(has_note(model, "largest step"));
  CHECK(type_text(*model.graph, "y") == "i64[2,100]");
}

TEST_CASE("one op for all experts takes the user's count") {
  ModelFolder models;
  onnx::ModelProto proto = parse_graph(
      "g (float[10,64] x, float[10,8] router) => (y) "
      "{ y = com.microsoft.MoE<k = 2>(x, router, w1, , w2) }");
  add_weight(proto, "w1", {8, 64, 256});
  add_weight(proto, "w2", {8, 256, 64});
  const auto flops = [&](const LoadOptions& options) {
    const LoadedModel model = models.load(proto, options);
    return op_work(*model.graph, op(*model.graph, "y")).flops;
  };
  LoadOptions one;
  one.experts = LoadOptions::Experts{1, 8};
  CHECK(flops({}) == 2 * flops(one));
}

TEST_CASE("experts are said of a model that chooses none: nothing changes, which a note says") {
  ModelFolder models;
  LoadOptions options;
  options.experts = LoadOptions::Experts{2, 8};
  const char* const kDense = "g (float[2,3] x, float[3,4] w) => (y) { y = MatMul(x, w) }";
  CHECK(has_note(models.load(parse_graph(kDense), options), "--experts 2/8 changes nothing"));
  CHECK_FALSE(has_note(models.load(parse_graph(kDense)), "--experts"));
}

}  // namespace
}  // namespace berth::test
