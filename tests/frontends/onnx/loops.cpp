// How often loops run, and what is known of the tensors in their bodies.
#include <algorithm>

#include "berth/sdk/ops/constants.h"
#include "model_text.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

/// A loop without a trip count, over a matrix; `body` computes the condition `go`, and `j` behind `i`.
onnx::ModelProto loop_while(const std::string& body, const std::string& inputs = {}) {
  onnx::ModelProto model = parse_graph(
      "g (float[2,3] x, float[3,3] w" + inputs +
      ") => (y) <int64 zero = {0}, bool yes = {1}> { n, y = Loop(zero, yes, zero, x) <body = b "
      "(int64 trip, bool c, int64 i, float[2,3] s) => (bool go, int64 j, float[2,3] t) { one = "
      "Constant<value_int = 1>() two = Constant<value_int = 2>() end = Constant<value_int = "
      "64>() " +
      body + " t = MatMul(s, w) }> }");
  model.mutable_graph()->mutable_node(0)->set_input(0, "");
  return model;
}

constexpr double kTrip = 2 * 2 * 3 * 3;

double trips(const LoadedModel& model) {
  return model.graph->stated_work(op(*model.graph, "n"))->flops / kTrip;
}

TEST_CASE("a Loop is counted by its condition, where what that reads is known") {
  struct Counted {
    const char* body;
    double trips;
  };
  static constexpr Counted kCases[] = {
      {"j = Add(i, one) go = Less(j, end)", 64},
      {"j = Add(i, one) go = Less(i, end)", 65},
      {"j = Add(i, two) go = Less(j, end)", 32},
      {"j = Add(i, one) more = Greater(two, trip) less = Less(j, end) go = And(more, less)", 3},
      {"j = Identity(i) next = Add(trip, one) stop = Equal(next, end) go = Not(stop)", 64},
  };
  ModelFolder models;
  for (const Counted& c : kCases) {
    CAPTURE(c.body);
    const LoadedModel model = models.load(loop_while(c.body));
    CHECK(trips(model) == doctest::Approx(c.trips).epsilon(0.2));
    CHECK_FALSE(has_note(model, "number of iterations"));
  }
}

TEST_CASE("a Loop whose count is below 0 does not run") {
  onnx::ModelProto model = loop_while("j = Add(i, one) go = Less(j, end)");
  model.mutable_graph()->mutable_node(0)->set_input(0, "count");
  onnx::TensorProto& count = *model.mutable_graph()->add_initializer();
  count.set_name("count");
  count.set_data_type(onnx::TensorProto::INT64);
  count.add_int64_data(-5);
  ModelFolder models;
  const LoadedModel loaded = models.load(model);
  CHECK(trips(loaded) == 0);
  CHECK_FALSE(has_note(loaded, "number of iterations"));
}

TEST_CASE("a Loop of which nobody knows how often it runs is counted as the user says") {
  ModelFolder models;
  const onnx::ModelProto by_data =
      loop_while("j = Add(i, one) go = Less(j, limit)", ", int64 limit");
  const LoadedModel once = models.load(by_data);
  CHECK(trips(once) == doctest::Approx(1).epsilon(0.2));
  CHECK(has_note(once, "say it with --dim LOOP=N, such as --dim n=10"));
  LoadOptions options;
  options.dims = {{"n", 20}};
  const LoadedModel said = models.load(by_data, options);
  CHECK(trips(said) == doctest::Approx(20).epsilon(0.2));
  CHECK_FALSE(has_note(said, "number of iterations"));
  expect_error(ErrorCode::invalid_argument, {"loop 'n'", "20", "64", "leave it out"}, [&] {
    static_cast<void>(models.load(loop_while("j = Add(i, one) go = Less(j, end)"), options));
  });
}

TEST_CASE(
    "sizes that a loop's trips decide are those of the largest, or are said not to be known") {
  ModelFolder models;
  // An embedding of those of 40 ids that the offsets name.
  const LoadedModel bags = models.load(parse_graph(
      "g (int64[40] ids, int64[9] offsets, float[5000,8] table) => (all) <int64 m = {8}> { all = "
      "Loop(m, ) <body = b (int64 i, bool c) => (bool d, float[8] sum) { d = Identity(c) one = "
      "Constant<value_ints = [1]>() axis = Constant<value_ints = [0]>() at = Reshape(i, one) "
      "next = Add(at, one) from = Gather(offsets, at) to = Gather(offsets, next) bag = Slice(ids, "
      "from, to) rows = Gather(table, bag) sum = ReduceSum<keepdims = 0>(rows, axis) }> }"));
  CHECK(has_note(bags, "counted for the largest step"));
  CHECK(bags.graph->stated_work(op(*bags.graph, "all"))->flops == 8 * (5 * 8 + 1));  // 5 of 40 rows
}

/// Bags of rows as torch exports them: the slice is in a branch, and a list takes the sums.
onnx::ModelProto bags(int count) {
  const std::string text =
      "g (float[" + std::to_string(5 * count) + ",8] rows, int64[" + std::to_string(count + 1) +
      "] offsets) => (y) <"
      "int64[1] one = {1}, int64[1] two = {2}, int64[1] zero = {0}, int64 first = {0}, int64 "
      "step = {1}, int64 end = {" +
      std::to_string(count) +
      "}, bool go = {1}> { none = SequenceEmpty() last, list = Loop(end, go, first, none) <body = "
      "b "
      "(int64 i, bool c, int64 at, float[1,8] s) => (bool more, int64 next, "
      "float[1,8] t) { here = Reshape(at, one) "
      "behind = Add(here, one) after = Add(here, two) from = Slice(offsets, here, behind) "
      "to = Slice(offsets, behind, after) same = Equal(from, to) alike = Squeeze(same) sum = "
      "If(alike) <then_branch = e () => (float[1,8] empty) { few = Constant<value_ints = [1, "
      "8]>() "
      "empty = ConstantOfShape(few) }, else_branch = f () => (float[1,8] full) { bag = "
      "Slice(rows, from, to) full = ReduceSum(bag, zero) }> t = SequenceInsert(s, sum) next = "
      "Add(at, step) more = Less(next, end) }> all = ConcatFromSequence<axis = 0>(list) y = "
      "Relu(all) }";
  onnx::ModelProto model = parse_graph(text);
  // The parser has no word for a list.
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type() != "Loop") continue;
    auto& body = *node.mutable_attribute(0)->mutable_g();
    for (auto* const value : {body.mutable_input(3), body.mutable_output(2)}) {
      const onnx::TypeProto element = value->type();
      *value->mutable_type()->mutable_sequence_type()->mutable_elem_type() = element;
    }
  }
  return model;
}

TEST_CASE("a slice in a branch of a Loop takes its share, however many trips there are") {
  ModelFolder models;
  constexpr int kRow = 5 * 8;
  for (const int count : {16, 3000}) {
    CAPTURE(count);
    const LoadedModel model = models.load(bags(count));
    const double flops = model.graph->stated_work(op(*model.graph, "last"))->flops;
    CHECK(flops == doctest::Approx(count * kRow).epsilon(0.2));
    CHECK(has_note(model, "counted for the largest step"));
    CHECK_FALSE(has_note(model, "no known size"));
    const TensorId y = model.graph->outputs(op(*model.graph, "y"))[0];
    CHECK(model.graph->bytes(y) == count * 8 * 4);
  }
}

TEST_CASE("a slice whose end is a number behind its start takes as many, wherever it begins") {
  ModelFolder models;
  const LoadedModel model = models.load(parse_graph(
      "g (float[64,8] x, int64[1] from) => (y) <int64[1] two = {2}, int64[1] three = {3}> { low = "
      "Add(from, two) up = Add(low, three) cut = Slice(x, low, up) y = Relu(cut) }"));
  CHECK(model.graph->bytes(model.graph->outputs(op(*model.graph, "y"))[0]) == 3 * 8 * 4);
}

TEST_CASE("tensors of a body that have no size are counted, and the op is named") {
  ModelFolder models;
  CHECK(
      has_note(models.load(parse_graph(
                   "g (float[2,3] x) => (y) <int64 m = {5}> { y = Loop(m, , x) <body = b (int64 i, "
                   "bool c, float[2,3] s) => (bool d, float[2,3] t) { d = Identity(c) u = "
                   "com.microsoft.Mystery(s) v = Relu(u) t = Add(s, x) }> }")),
               "2 tensors in the bodies of 'y' have no known size"));
}

}  // namespace
/// Words that `type` continues with the decoder d; `more` are inputs, `attributes` bodies beside it.
onnx::ModelProto search(const std::string& type, const std::string& constants,
                        const std::string& inputs, const std::string& attributes = {},
                        const std::string& words = "int32[2, 4]") {
  return parse_graph("g (" + words + " ids, float[9, 8] table, float[8, 9] head) => (sequences) <" +
                     constants + "> { sequences = com.microsoft." + type +
                     " <decoder = d (int32[2, 1] id) => (float[2, 1, 9] logits) { word = "
                     "Gather(table, id) logits = MatMul(word, head) }" +
                     attributes + ">(ids, " + inputs + ") }");
}

constexpr double kToken = 2 * 2 * 8 * 9;

double tokens(const LoadedModel& model) {
  return model.graph->stated_work(op(*model.graph, "sequences"))->flops / kToken;
}

TEST_CASE("a search runs its decoder for each token up to a constant length") {
  constexpr const char* kLength = "int32[1] longest = {12}, int32[1] beams = {3}";
  ModelFolder models;
  for (const char* type : {"GreedySearch", "Sampling"}) {
    CAPTURE(type);
    const LoadedModel model = models.load(search(type, kLength, "longest"));
    CHECK(tokens(model) == doctest::Approx(8));
    CHECK_FALSE(has_note(model, "number of iterations"));
  }
  SUBCASE("with the arithmetic of all beams, which read the weights together") {
    const LoadedModel beams = models.load(search("BeamSearch", kLength, "longest, , beams, beams"));
    const LoadedModel one = models.load(search("GreedySearch", kLength, "longest"));
    CHECK(tokens(beams) == doctest::Approx(24));
    CHECK(beams.graph->stated_work(op(*beams.graph, "sequences"))->bytes ==
          one.graph->stated_work(op(*one.graph, "sequences"))->bytes);
    CHECK(type_text(*beams.graph, "sequences") == "i32[2,3,12]");
  }
  SUBCASE("and an encoder once") {
    const char* const kEncoder =
        ", encoder = e (float[2, 8, 5] heard) => (float[2, 8, 9] states) { t = Transpose<perm = "
        "[0, 2, 1]>(heard) states = MatMul(t, head) }";
    for (const char* type : {"BeamSearch", "WhisperBeamSearch"}) {
      CAPTURE(type);
      const LoadedModel model =
          models.load(search(type, kLength, "longest, , beams, beams", kEncoder, "float[2, 8, 5]"));
      CHECK(tokens(model) == doctest::Approx(11 * 3 + 5));
      CHECK(type_text(*model.graph, "sequences") == "i32[2,3,12]");
    }
  }
  SUBCASE("and a decoder of its own for the first") {
    const char* const kFirst =
        ", init_decoder = f (int32[2, 4] prompt) => (float[2, 4, 9] all) { words = Gather(table, "
        "prompt) all = MatMul(words, head) }";
    CHECK(tokens(models.load(search("GreedySearch", kLength, "longest", kFirst))) ==
          doctest::Approx(7 + 4));
  }
}

TEST_CASE("a search of unknown length is counted once, or as the user says") {
  onnx::ModelProto proto = search("BeamSearch", "int32[1] shortest = {1}", "longest");
  onnx::ValueInfoProto& longest = *proto.mutable_graph()->add_input();
  longest.set_name("longest");
  longest.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT32);
  longest.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(1);
  ModelFolder models;
  const LoadedModel once = models.load(proto);
  CHECK(tokens(once) == doctest::Approx(1));
  CHECK(has_note(once, "say it with --dim LOOP=N, such as --dim sequences=10"));
  onnx::AttributeProto& first = *proto.mutable_graph()->mutable_node(0)->add_attribute();
  first = proto.graph().node(0).attribute(0);
  first.set_name("init_decoder");
  CHECK(tokens(models.load(proto)) == doctest::Approx(2));
  proto.mutable_graph()->mutable_node(0)->mutable_attribute()->RemoveLast();
  LoadOptions options;
  options.dims["sequences"] = 20;
  CHECK(tokens(models.load(proto, options)) == doctest::Approx(20));
}

TEST_CASE("a run feeds a loop's count and first condition with what is planned for") {
  ModelFolder models;
  const onnx::ModelProto proto = parse_graph(
      "g (float[2,3] x, float[3,3] w, int32[1] count, bool begin) => (y) { c = Cast<to = 7>(count) "
      "y = Loop(c, begin, x) <body = b (int64 i, bool go, float[2,3] s) => (bool on, float[2,3] t) "
      "{ on = Identity(go) t = MatMul(s, w) }> }");
  LoadOptions options;
  const auto number = [&](const char* input) {
    const LoadedModel model = models.load(proto, options);
    const AttributeValue* const known =
        model.graph->attribute(op(*model.graph, input), ops::kKnownNumber);
    return known == nullptr ? -1 : std::get<double>(*known);
  };
  CHECK(number("count") == 1);  // the body is counted once
  const LoadedModel once = models.load(proto);
  options.dims = {{once.graph->op_name(op(*once.graph, "y")), 50}};
  CHECK(number("count") == 50);
  CHECK(number("begin") == 1);
  CHECK(number("x") == -1);
}

TEST_CASE("a program whose branch a drawn input chooses says so, and a graph does not") {
  ModelFolder models;
  const std::string bytes =
      parse_graph(
          "g (bool c, float[2] x) => (y) { y = If(c) <then_branch = a () => (float[2] t) { t = "
          "Relu(x) }, else_branch = b () => (float[2] e) { e = Neg(x) }> }")
          .SerializeAsString();
  const auto says = [](const std::vector<std::string>& notes) {
    return std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
      return note.find("choose a branch") != std::string::npos;
    });
  };
  CHECK(says(models.load_program(bytes).notes));
  CHECK_FALSE(says(models.load(bytes).notes));
}

}  // namespace berth::test
