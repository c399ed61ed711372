// Dynamic dimensions.
#include "berth/error.h"
#include "model_text.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

constexpr const char* kGraph =
    "g (float[batch,seq] x, float[batch,past] p) => (y) { y = Concat<axis = 1>(p, x) }";

TEST_CASE("named dimensions get the values given") {
  ModelFolder models;
  const LoadedModel model =
      models.load(parse_graph(kGraph), {{{"batch", 8}, {"seq", 5}, {"past", 0}}, {}});
  CHECK(type_text(*model.graph, "y") == "f32[8,5]");
  CHECK(model.notes.empty());
}

TEST_CASE("those not given are 1, with a note") {
  ModelFolder models;
  const LoadedModel model = models.load(parse_graph(kGraph), {{{"batch", 8}}, {}});
  CHECK(type_text(*model.graph, "y") == "f32[8,2]");
  CHECK(has_note(model, "'past', 'seq'; give them with --dim NAME=SIZE"));
}

TEST_CASE("a shape binds the names in it") {
  ModelFolder models;
  const LoadedModel model = models.load(parse_graph(kGraph), {{}, {{"x", {8, 5}}, {"p", {8, 3}}}});
  CHECK(type_text(*model.graph, "y") == "f32[8,8]");
}

TEST_CASE("dimensions without a name") {
  ModelFolder models;
  const onnx::ModelProto proto = parse_graph("g (float[?,3] x) => (y) { y = Relu(x) }");
  CHECK(type_text(*models.load(proto).graph, "y") == "f32[1,3]");
  CHECK(has_note(models.load(proto), "--shape"));
  CHECK(type_text(*models.load(proto, {{}, {{"x", {4, 3}}}}).graph, "y") == "f32[4,3]");
}

TEST_CASE("the first dimension of every input is bound at once, whatever it is called") {
  ModelFolder models;
  const onnx::ModelProto proto = parse_graph(
      "g (float[unk__1,seq] x, float[?,seq] p, float[3,seq] fixed) => (y) "
      "{ y = Concat<axis = 0>(p, x, fixed) }");
  const LoadedModel model = models.load(proto, {{{"*", 8}, {"seq", 5}}, {}});
  CHECK(type_text(*model.graph, "y") == "f32[19,5]");
  CHECK(model.notes.empty());
}

TEST_CASE("names that are sums and products follow") {
  ModelFolder models;
  onnx::ModelProto proto =
      parse_graph("g (float[batch,seq] x, float[a,b] m) => (y) { y = Relu(m) }");
  auto* const shape = proto.mutable_graph()
                          ->mutable_input(1)
                          ->mutable_type()
                          ->mutable_tensor_type()
                          ->mutable_shape();
  shape->mutable_dim(0)->set_dim_param("2*batch + 1");
  shape->mutable_dim(1)->set_dim_param("seq + seq");
  const LoadedModel model = models.load(proto, {{{"batch", 8}, {"seq", 5}}, {}});
  CHECK(type_text(*model.graph, "y") == "f32[17,10]");
  CHECK(model.notes.empty());
}

TEST_CASE("mistakes are told with what the model has") {
  struct Mistake {
    LoadOptions options;
    std::initializer_list<std::string_view> parts;
  };
  const Mistake kMistakes[] = {
      {{{{"Batch", 8}}, {}}, {"m.onnx", "'Batch'", "'batch', 'past', 'seq'"}},
      {{{{"batch", -1}}, {}}, {"'batch'", "-1"}},
      {{{{"batch", std::int64_t{1} << 60}}, {}}, {"'batch'", "from 0 to"}},
      {{{}, {{"z", {1}}}}, {"'z'", "'p', 'x'"}},
      {{{}, {{"x", {1}}}}, {"'x' has 2 dimensions", "has 1"}},
      {{{}, {{"x", {1, -3}}}}, {"'x'", "-3"}},
      {{{{"batch", 8}}, {{"x", {4, 5}}}}, {"'batch'", "8", "4"}},
      {{{{"*", 8}, {"batch", 4}}, {}}, {"'batch'", "8", "4", "give it once"}},
      {{{{"N", 8}}, {}}, {"'N'", "--batch 8", "--dim batch=8"}},
      {{{{"*", -1}}, {}}, {"batch", "-1"}},
  };
  ModelFolder models;
  for (const Mistake& mistake : kMistakes) {
    expect_error(ErrorCode::invalid_argument, mistake.parts,
                 [&] { (void)models.load(parse_graph(kGraph), mistake.options); });
  }
  expect_error(ErrorCode::invalid_argument, {"no input leaves its first dimension open"}, [&] {
    (void)models.load(parse_graph("g (float[1,seq] x) => (y) { y = Relu(x) }"), {{{"*", 8}}, {}});
  });
  expect_error(ErrorCode::invalid_argument, {"dimension 1", "3 in the model", "4"}, [&] {
    (void)models.load(parse_graph("g (float[N,3] x) => (y) { y = Relu(x) }"),
                      {{}, {{"x", {2, 4}}}});
  });
}

}  // namespace
}  // namespace berth::test
