// What the user says of a graph: shapes of tensors, weights among the inputs, rules of ops.
#include "berth/costs.h"
#include "berth/error.h"
#include "support/expect_error.h"
#include "text_graph.h"

namespace berth::tf_frontend {
namespace {

using Shape = std::vector<std::int64_t>;
using test::expect_error;

bool has_note(const LoadedModel& model, std::string_view part) {
  for (const std::string& note : model.notes) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

const std::string kCustom = placeholder("x", {2, 3}) + node("q", "MyQuantizer", "x", kFloats) +
                            node("y", "Relu", "q", kFloats);

TEST_CASE("the shape of any tensor can be given, and must fit what follows") {
  LoadOptions options;
  options.shapes["q"] = {4, 5};
  CHECK(shape_of(*load_bytes(kCustom, options).graph, "y") == Shape{4, 5});
  options.shapes["y:0"] = {4, 6};
  expect_error(ErrorCode::invalid_argument, {"'y:0'", "contradicts"},
               [&] { static_cast<void>(load_bytes(kCustom, options)); });
  LoadOptions unknown;
  unknown.shapes["z"] = {1};
  expect_error(ErrorCode::invalid_argument, {"no input and no tensor is named 'z'", "'x'"},
               [&] { static_cast<void>(load_bytes(kCustom, unknown)); });
}

TEST_CASE("a rule of the user's says what an op gives and does") {
  const test::TemporaryFolder folder;
  write_file(folder / "ops.json", R"({"format": "berth.ops/1",
                                      "ops": [{"type": "MyQuantizer", "like": 0, "flops": 4}]})");
  LoadOptions options;
  options.op_rules = (folder / "ops.json").string();
  const LoadedModel model = load_bytes(kCustom, options);
  CHECK(shape_of(*model.graph, "y") == Shape{2, 3});
  const Work work = op_work(*model.graph, op_named(*model.graph, "q"));
  CHECK(work.flops == 4 * 6);
  CHECK(work.bytes == 2 * 24);
}

TEST_CASE("placeholders with the names of weights are parameters, and the note says so") {
  const std::string text = placeholder("x", {-1, 4}) + placeholder("dense/kernel", {4, 8}) +
                           node("y", "MatMul", "x dense/kernel", kFloats);
  const LoadedModel guessed = load_bytes(text);
  CHECK(guessed.graph->total_param_bytes() == 4 * 4 * 8);
  CHECK(guessed.graph->op_count() == 2);
  CHECK(has_note(guessed, "1 input is taken for a parameter"));
  LoadOptions options;
  options.arguments = LoadOptions::Arguments::inputs;
  CHECK(load_bytes(text, options).graph->total_param_bytes() == 0);
  options.arguments = LoadOptions::Arguments::parameters;
  CHECK(load_bytes(text, options).graph->total_param_bytes() == 4 * 4 * 8);
  const std::string data = placeholder("x", {2, 4}) + placeholder("kernel", {4, 8}) +
                           node("y", "MatMul", "x kernel", kFloats);
  CHECK(load_bytes(data).graph->total_param_bytes() == 0);
}

TEST_CASE("the tokens of an expert are those that choose it in the mean") {
  const std::string text =
      placeholder("x", {64, 16}) + placeholder("scores", {64, 8}) + integers("k", {2}, true) +
      integers("expert", {3}, true) + integers("axis", {0}, true) +
      node("top", "TopKV2", "scores k", kFloats) +
      node("mine", "Equal", "top:1 expert", attr("T", "type: DT_INT32")) +
      node("last", "Const", "",
           attr("dtype", "type: DT_INT32") +
               attr("value",
                    "tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 1 }")) +
      node("mask", "Any", "mine last", "") +
      node("where", "Where", "mask", attr("T", "type: DT_BOOL")) +
      node("rows", "Squeeze", "where",
           attr("T", "type: DT_INT64") + attr("squeeze_dims", "list { i: [1] }")) +
      node("y", "GatherV2", "x rows axis",
           attr("Tparams", "type: DT_FLOAT") + attr("Tindices", "type: DT_INT64") +
               attr("Taxis", "type: DT_INT32"));
  const LoadedModel model = load_bytes(text);
  CHECK(shape_of(*model.graph, "y") == Shape{16, 16});  // 64 * 2 / 8
  CHECK(has_note(model, "2 of 8 experts"));
  CHECK_FALSE(has_note(model, "largest step"));
  LoadOptions options;
  options.experts = LoadOptions::Experts{1, 8};
  CHECK(shape_of(*load_bytes(text, options).graph, "y") == Shape{8, 16});
}

TEST_CASE("a batch has no meaning where fixed inputs differ, which is told with the ways on") {
  LoadOptions options;
  options.dims["*"] = 8;
  expect_error(ErrorCode::invalid_argument,
               {"no input leaves its first dimension open", "leave --batch out"}, [&] {
                 static_cast<void>(load_bytes(placeholder("a", {4, 2}) + placeholder("b", {2, 3}) +
                                                  node("y", "MatMul", "a b", kFloats),
                                              options));
               });
}

}  // namespace
}  // namespace berth::tf_frontend
