// Results that are the next step's inputs.
#include "berth/sdk/ops/states.h"

#include <doctest/doctest.h>

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
std::shared_ptr<const Graph> model(const std::vector<Named>& pairs, std::int64_t grown = 11) {
  GraphBuilder builder("decoder", "onnx");
  for (const Named& pair : pairs) {
    const OpId in = builder.add_op(pair.input, "Input");
    const TensorId past = builder.add_output(in, cache(10), pair.input);
    const OpId op = builder.add_op(pair.result + " op", "Concat");
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

TEST_CASE("a state shares its device, and the result takes the input's place") {
  const auto graph = ops::add_states(model({{"past.0", "present.0"}}), {}, true);
  REQUIRE(graph->states().size() == 1);
  const OpId in = *graph->find_op("past.0"), op = *graph->find_op("present.0 op");
  CHECK(graph->colocation(in) == graph->colocation(op));
  CHECK(colocation_groups(*graph)->count() == 1);
  CHECK(graph->lasting_bytes(in) == 10 * 8 * 64 * 2);
  CHECK(graph->lasting_bytes(op) == 1 * 8 * 64 * 2);
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
  test::expect_error(ErrorCode::invalid_argument, {"two results"}, [&] {
    (void)ops::add_states(said, {{"a", "present_1"}}, false);
  });
}
