// Results that are the next step's inputs.
#include "berth/sdk/ops/states.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "berth/error.h"
#include "berth/groups.h"
#include "support/expect_error.h"

using namespace berth;

namespace {

TensorInfo cache(std::int64_t length) {
  return {DType::f16, true, {1, 8, length, 64}, kUnknownBytes};
}

struct Named {
  std::string input;
  std::string result;
};

/// Each result is made of its input.
std::shared_ptr<const Graph> model(const std::vector<Named>& pairs, std::int64_t grown = 11,
                                   const char* type = "Concat") {
  GraphBuilder builder("decoder", "onnx");
  for (const Named& pair : pairs) {
    const OpId in = builder.add_op(pair.input, "Input");
    const TensorId past = builder.add_output(in, cache(10), pair.input);
    const OpId op = builder.add_op(pair.result + " op", type);
    builder.add_input(op, past);
    builder.add_result(builder.add_output(op, cache(grown), pair.result));
  }
  return builder.build();
}

}  // namespace

TEST_CASE("caches are found by the names that exporters give them") {
  const std::vector<Named> pairs = {
      {"past_key_values.0.key", "present.0.key"},
      {"past_key_values.11.decoder.value", "present.11.decoder.value"},
      {"past_0", "present_0"},
      {"past_key_self_3", "present_key_self_3"}};
  const auto graph = model(pairs);
  const auto states = ops::find_states(*graph);
  REQUIRE(states.size() == pairs.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    CHECK(graph->tensor_name(states[i].result) == pairs[i].result);
    CHECK(graph->op_name(states[i].input) == pairs[i].input);
  }
}

TEST_CASE("hidden states are found where they are shaped alike") {
  for (const Named& pair : std::vector<Named>{
           {"h0", "hn"}, {"c_0", "c_n"}, {"h", "hn"}, {"state", "stateN"}, {"mem_in", "mem_out"}}) {
    CAPTURE(pair.input);
    CHECK(ops::find_states(*model({pair}, 10)).size() == 1);
    CHECK(ops::find_states(*model({pair}, 11)).empty());
  }
  CHECK(ops::find_states(*model({{"input", "output"}}, 10)).empty());
}

TEST_CASE("models that stream name what comes next, or what they remember") {
  for (const Named& pair : std::vector<Named>{{"cached_key_0", "new_cached_key_0"},
                                              {"cached_len_0", "new_cached_len_0"},
                                              {"h", "next_h"},
                                              {"cache_last_channel", "cache_last_channel_next"},
                                              {"att_cache", "r_att_cache"},
                                              {"conv_cache", "conv_cache_out"},
                                              {"hidden", "out_hidden"},
                                              {"state_input", "state_output"}}) {
    CAPTURE(pair.result);
    CHECK(ops::find_states(*model({pair}, 10)).size() == 1);
    CHECK(ops::find_states(*model({pair}, 11)).empty());
  }
  // A result made of a picture is no state.
  for (const Named& pair : std::vector<Named>{
           {"image", "image_out"}, {"audio", "out_audio"}, {"x", "r_x"}, {"x", "output_x"}}) {
    CAPTURE(pair.result);
    CHECK(ops::find_states(*model({pair}, 10)).empty());
  }
}

TEST_CASE("training steps name the next values of weights and of what optimizers keep") {
  for (const Named& pair : std::vector<Named>{{"0.weight", "0.weight.new"},
                                              {"0.bias", "0.bias_out"},
                                              {"fc.weight.exp_avg_sq", "fc.weight.exp_avg_sq.out"},
                                              {"w1", "w1_updated"},
                                              {"w1", "updated.w1"},
                                              {"velocity/w1", "velocity/w1.next"},
                                              {"moment_1", "out_moment_1"}}) {
    CAPTURE(pair.result);
    CHECK(ops::find_states(*model({pair}, 10)).size() == 1);
    CHECK(ops::find_states(*model({pair}, 11)).empty());
  }
  for (const Named& pair : std::vector<Named>{{"x", "x.out"}, {"w", "w_grad"}, {"w", "newer"}}) {
    CAPTURE(pair.result);
    CHECK(ops::find_states(*model({pair}, 10)).empty());
  }
  const auto names = ops::earlier_names("0.weight.new");
  CHECK(std::find(names.begin(), names.end(), "0.weight") != names.end());
  CHECK(ops::earlier_names("present.0.key").empty());  // it grows
}

TEST_CASE(
    "a state shares its device, and the result takes the input's place where a kernel writes so") {
  constexpr std::int64_t kOfOne = 8 * 64 * 2;  // bytes
  struct Case {
    const char* type;
    std::int64_t length;  // the input's is 10
    std::int64_t beside;  // what the result takes besides
  };
  for (const Case& each : std::vector<Case>{{"Concat", 11, 11},
                                            {"Concat", 10, 0},
                                            {"com.microsoft.GroupQueryAttention", 11, 1},
                                            {"Attention", 11, 11},
                                            {"TensorScatter", 10, 0},
                                            {"Slice", 9, 0}}) {
    CAPTURE(each.type);
    CAPTURE(each.length);
    const auto graph =
        ops::add_states(model({{"past.0", "present.0"}}, each.length, each.type), {}, true);
    REQUIRE(graph->states().size() == 1);
    const OpId in = *graph->find_op("past.0"), op = *graph->find_op("present.0 op");
    CHECK(graph->colocation(in) == graph->colocation(op));
    CHECK(colocation_groups(*graph)->count() == 1);
    CHECK(graph->lasting_bytes(in) == 10 * kOfOne);
    CHECK(graph->lasting_bytes(op) == each.beside * kOfOne);
    // Said again, it is kept in place, once.
    auto kept = graph->with_states(graph->states());
    kept = kept->with_states(kept->states());
    CHECK(kept->states().size() == 1);
    CHECK(kept->lasting_bytes(op) == std::max<std::int64_t>(0, each.length - 10) * kOfOne);
  }
}

TEST_CASE("a result is in the place of one input, whatever it becomes, and an input's in its own") {
  constexpr std::int64_t kOfOne = 8 * 64 * 2;  // bytes
  GraphBuilder builder("model", "onnx");
  const OpId a = builder.add_op("a", "Input"), b = builder.add_op("b", "Input");
  const TensorId old = builder.add_output(a, cache(10), "a");
  builder.add_output(b, cache(20), "b");
  const OpId op = builder.add_op("op", "Concat");
  builder.add_input(op, old);
  const TensorId next = builder.add_output(op, cache(15), "next");
  const auto plain = builder.build();
  // It is larger than a, and no larger than b.
  const std::vector<Graph::State> both = {{next, a}, {next, b}};
  CHECK(plain->with_states(both)->reused_bytes(op) == 15 * kOfOne);
  CHECK(plain->with_states(both)->with_states(both)->reused_bytes(op) == 15 * kOfOne);
  const std::vector<Graph::State> first = {{next, a}};
  CHECK(plain->with_states(first)->with_states(first)->reused_bytes(op) == 10 * kOfOne);
  // A line of delay.
  const auto delayed = plain->with_states(std::vector<Graph::State>{{old, b}});
  CHECK(delayed->states().size() == 1);
  CHECK(delayed->reused_bytes(a) == 0);
  CHECK(delayed->lasting_bytes(a) == 10 * kOfOne);
}

TEST_CASE("an attention that says so shares the buffer of its cache") {
  for (const std::int64_t shares : {0, 1}) {
    GraphBuilder builder("decoder", "onnx");
    const OpId in = builder.add_op("past", "Input");
    const OpId op = builder.add_op("attention", "com.microsoft.Attention");
    builder.set_attribute(op, "past_present_share_buffer", shares);
    builder.add_input(op, builder.add_output(in, cache(10), "past"));
    builder.add_result(builder.add_output(op, cache(11), "present"));
    const auto graph = ops::add_states(builder.build(), {}, true);
    REQUIRE(graph->states().size() == 1);
    CHECK(graph->lasting_bytes(op) == (shares == 1 ? 1 : 11) * 8 * 64 * 2);
  }
}

namespace {

/// `type` reads `inputs` at these places, and gives `result` at that one; where `fresh` is not negative it reads
/// what is not an input there. Then come `behind`, one after the other.
std::size_t states_of(const std::string& type, std::size_t at_input, std::size_t at_output,
                      std::int64_t length, const std::vector<std::string>& before = {},
                      const std::vector<std::string>& behind = {}, bool fresh = true) {
  GraphBuilder builder("model", "onnx");
  const OpId in = builder.add_op("cache_7", "Input");
  TensorId past = builder.add_output(in, cache(10), "cache_7");
  const auto through = [&](TensorId tensor, const std::string& each, std::int64_t its) {
    const OpId op = builder.add_op(each + std::to_string(tensor), each);
    builder.add_input(op, tensor);
    return builder.add_output(op, cache(its), each + std::to_string(tensor) + "_0");
  };
  for (const std::string& each : before) past = through(past, each, 10);
  const OpId other = builder.add_op("x", "Input");
  TensorId now = builder.add_output(other, cache(1), "x");
  if (fresh) now = through(now, "MatMul", 1);
  const OpId op = builder.add_op("op", type);
  for (std::size_t i = 0; i <= std::max<std::size_t>(at_input, 1); ++i) {
    builder.add_input(op, i == at_input ? past : now);
  }
  TensorId result = kNoTensor;
  for (std::size_t i = 0; i <= at_output; ++i) {
    result = builder.add_output(op, cache(length), "cat_" + std::to_string(i));
  }
  for (const std::string& each : behind) result = through(result, each, length);
  builder.add_result(result);
  return ops::find_states(*builder.build()).size();
}

}  // namespace

TEST_CASE("caches are found by what makes them, whatever they are called") {
  CHECK(states_of("Concat", 0, 0, 11) == 1);
  CHECK(states_of("Concat", 1, 0, 11) == 1);
  CHECK(states_of("Concat", 0, 0, 10, {"Slice"}) == 1);  // a window
  CHECK(states_of("Concat", 0, 0, 10, {}, {"Slice", "Identity"}) == 1);
  CHECK(states_of("Concat", 0, 0, 11, {"Gather"}) == 1);  // of beams
  CHECK(states_of("ScatterND", 0, 0, 10) == 1);
  CHECK(states_of("TensorScatter", 0, 0, 10) == 1);
  CHECK(states_of("Attention", 4, 1, 11) == 1);
  CHECK(states_of("com.microsoft.GroupQueryAttention", 3, 1, 10) == 1);
  CHECK(states_of("com.microsoft.MultiHeadAttention", 7, 2, 11) == 1);
  CHECK(states_of("LSTM", 5, 1, 10, {"Unsqueeze"}, {"Squeeze"}) == 1);
  // No states: another input of such ops, another result, two inputs joined, what is computed of it.
  CHECK(states_of("Attention", 2, 1, 11) == 0);
  CHECK(states_of("com.microsoft.GroupQueryAttention", 3, 0, 10) == 0);
  CHECK(states_of("ScatterND", 1, 0, 10) == 0);
  CHECK(states_of("Concat", 0, 0, 11, {}, {}, /*fresh=*/false) == 0);
  CHECK(states_of("Concat", 0, 0, 11, {"Relu"}) == 0);
  GraphBuilder twice("model", "onnx");
  const TensorId image = twice.add_output(twice.add_op("image", "Input"), cache(10), "image");
  const OpId joined = twice.add_op("joined", "Concat");
  twice.add_input(joined, image);
  twice.add_input(joined, image);
  twice.add_result(twice.add_output(joined, cache(20), "output"));
  CHECK(ops::find_states(*twice.build()).empty());
  // Nor are features beside what was computed of them; positions may be computed of a cache's length.
  for (const char* of : {"Relu", "Shape"}) {
    GraphBuilder features("model", "onnx");
    const TensorId x = features.add_output(features.add_op("x", "Input"), cache(10), "x");
    const OpId first = features.add_op("first", of), then = features.add_op("then", "Rotate");
    const OpId both = features.add_op("both", "Concat");
    features.add_input(first, x);
    features.add_input(then, features.add_output(first, cache(1), "f"));
    features.add_input(both, x);
    features.add_input(both, features.add_output(then, cache(10), "r"));
    features.add_result(features.add_output(both, cache(20), "y"));
    CHECK(ops::find_states(*features.build()).size() == (of == std::string("Shape") ? 1 : 0));
  }
  CHECK(states_of("Concat", 0, 0, 11, {}, {"Relu"}) == 0);
  CHECK(states_of("Add", 0, 0, 10) == 0);
}

TEST_CASE("states can be said, and none be found") {
  const auto plain = model({{"a", "b"}, {"past_1", "present_1"}});
  CHECK(ops::add_states(plain, {}, false) == plain);
  const auto said = ops::add_states(plain, {{"a", "b"}}, false);
  CHECK(said->states().size() == 1);
  CHECK(ops::add_states(plain, {{"a", "b"}}, true)->states().size() == 2);
  test::expect_error(ErrorCode::not_found, {"no input 'z'"}, [&] {
    (void)ops::add_states(plain, {{"z", "b"}}, true);
  });
  test::expect_error(ErrorCode::not_found, {"no tensor 'z'"}, [&] {
    (void)ops::add_states(plain, {{"a", "z"}}, true);
  });
  test::expect_error(
      ErrorCode::invalid_argument, {"'ids' (i64, 1 dimensions)", "'b' (f16, 4 dimensions)"}, [&] {
        GraphBuilder builder("decoder", "onnx");
        const OpId in = builder.add_op("ids", "Input");
        const TensorId ids = builder.add_output(in, {DType::i64, true, {1}, kUnknownBytes}, "ids");
        const OpId op = builder.add_op("b op", "Embed");
        builder.add_input(op, ids);
        builder.add_result(builder.add_output(op, cache(10), "b"));
        (void)ops::add_states(builder.build(), {{"ids", "b"}}, true);
      });
  test::expect_error(ErrorCode::invalid_argument, {"two results"}, [&] {
    (void)ops::add_states(said, {{"a", "present_1"}}, false);
  });
}
