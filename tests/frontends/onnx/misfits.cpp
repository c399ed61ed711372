// Inputs that do not fit together are said to; what ONNX Runtime takes is not.
#include "model_text.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

/// Inputs and body of a graph that gives y.
struct Fit {
  const char* graph;
  const char* result;  ///< type of y
};

TEST_CASE("what does not fit together is refused, and has no size") {
  static constexpr Fit kCases[] = {
      {"(float[2,3] x, float[1,3] z) => (y) { y = Concat<axis = 1>(x, z) }", "f32"},
      {"(float[2,3] x, float[2] z) => (y) { y = Concat<axis = 0>(x, z) }", "f32"},
      {"(float[5] x) => (z, y) <int64[2] s = {2, 2}> { z, y = Split(x, s) }", "f32"},
      {"(float[5,1] x) => (y) <int64[1] a = {0}> { y = Squeeze(x, a) }", "f32"},
      {"(float[5,3] x) => (y) <int64[2] s = {5, 4}> { y = Expand(x, s) }", "f32"},
      {"(float[15] x) => (y) <int64[2] s = {-1, 4}> { y = Reshape(x, s) }", "f32"},
      {"(float[15] x) => (y) <int64[2] s = {2, 4}> { y = Reshape(x, s) }", "f32"},
      {"(float[1,3,4,4] x, float[5] s) => (y) { y = BatchNormalization(x, s, s, s, s) }", "f32"},
      {"(float[1,3,8,8] x, float[4,5,3,3] w) => (y) { y = Conv(x, w) }", "f32"},
      {"(float[1,4,8,8] x, float[3,2,3,3] w) => (y) { y = Conv<group = 2>(x, w) }", "f32"},
      {"(float[1,3,8,8] x, float[5,4,3,3] w) => (y) { y = ConvTranspose(x, w) }", "f32"},
      {"(float[1,3,2,2] x, float[4,3,3,3] w) => (y) { y = Conv<strides = [8,8]>(x, w) }",
       "f32[1,4,?,?]"},
      {"(float[1,1,4,4] x) => (y) { y = MaxPool<kernel_shape = [9,9], strides = [2,2]>(x) }",
       "f32[1,1,?,?]"},
      {"(float[3,2] x, float[4,5] z) => (y) { y = MatMul(x, z) }", "f32"},
      {"(float[3,2] x, float[4,5] z) => (y) { y = Einsum<equation = \"ij,jk->ik\">(x, z) }", "f32"},
      {"(float[3,2] x, float[3,0] z) => (y) { y = Add(x, z) }", "f32"},
  };
  for (const Fit& c : kCases) {
    CAPTURE(c.graph);
    ModelFolder models;
    const LoadedModel model = models.load(parse_graph("g " + std::string(c.graph)));
    CHECK(type_text(*model.graph, "y") == c.result);
    CHECK(has_note(model, "shape inference refuses 1 node"));
    CHECK_FALSE(has_note(model, "give shapes with --shape"));  // which could not mend it
  }
}

TEST_CASE("what ONNX Runtime computes has its size, and no word is said of it") {
  static constexpr Fit kCases[] = {
      {"(float[2,3] x, float[0,4] z) => (y) { y = Concat<axis = 0>(x, z) }", "f32[2,3]"},
      {"(float[2,3] x, float[2,0] z) => (y) { y = Concat<axis = 1>(x, z) }", "f32[2,3]"},
      {"(float[5] x) => (z, y) <int64[2] s = {0, 5}> { z, y = Split(x, s) }", "f32[5]"},
      {"(float[5,1] x) => (y) <int64[1] a = {-1}> { y = Squeeze(x, a) }", "f32[5]"},
      {"(float[5,3] x) => (y) <int64[1] s = {1}> { y = Expand(x, s) }", "f32[5,3]"},
      {"(float[5,1] x) => (y) <int64[2] s = {5, 0}> { y = Expand(x, s) }", "f32[5,0]"},
      {"(float[0,3] x) => (y) <int64[2] s = {-1, 3}> { y = Reshape(x, s) }", "f32[0,3]"},
      {"(float[1] x) => (y) <int64[0] s = {}> { y = Reshape(x, s) }", "f32[]"},
      {"(float[3] x, float[1] s) => (y) { y = BatchNormalization(x, s, s, s, s) }", "f32[3]"},
      {"(float[1,4,8,8] x, float[4,2,3,3] w) => (y) { y = Conv<group = 2>(x, w) }", "f32[1,4,6,6]"},
      {"(float[0,3,8,8] x, float[4,3,3,3] w) => (y) { y = Conv(x, w) }", "f32[0,4,6,6]"},
      // A pooling's runtime divides a negative room towards zero.
      {"(float[1,1,4,4] x) => (y) { y = MaxPool<kernel_shape = [5,5], strides = [2,2]>(x) }",
       "f32[1,1,1,1]"},
      {"(float[1,1,4,4] x) => (y) { y = AveragePool<kernel_shape = [5,5]>(x) }", "f32[1,1,0,0]"},
      {"(float[3,1] x, float[4,5] z) => (y) { y = Einsum<equation = \"ij,jk->ik\">(x, z) }",
       "f32[3,5]"},
      {"(float[3,0] x, float[0,4] z) => (y) { y = MatMul(x, z) }", "f32[3,4]"},
      {"(float[3,1] x, float[3,0] z) => (y) { y = Add(x, z) }", "f32[3,0]"},
      {"(float[3,1] x, float z) => (y) { y = Add(x, z) }", "f32[3,1]"},
  };
  for (const Fit& c : kCases) {
    CAPTURE(c.graph);
    ModelFolder models;
    const LoadedModel model = models.load(parse_graph("g " + std::string(c.graph)));
    CHECK(type_text(*model.graph, "y") == c.result);
    CHECK_FALSE(has_note(model, "refuses"));
  }
}

TEST_CASE("an image that is too small for a window is said to be") {
  ModelFolder models;
  const char* const text = "g (float[1,3,H,W] x, float[4,3,3,3] w) => (y) { y = Conv(x, w) }";
  CHECK(has_note(models.load(parse_graph(text)), "its window is larger than the image"));
  LoadOptions options;
  options.dims = {{"H", 8}, {"W", 8}};
  CHECK_FALSE(has_note(models.load(parse_graph(text), options), "refuses"));
}

TEST_CASE("a size that the step computes is no misfit") {
  ModelFolder models;
  for (const char* const graph : {"(float[5,3] x, int64[2] s) => (y) { y = Expand(x, s) }",
                                  "(float[15] x, int64[2] s) => (y) { y = Reshape(x, s) }",
                                  "(float[5,1] x, int64[1] a) => (y) { y = Squeeze(x, a) }",
                                  "(float[1,1,4,4] x, float[4] s) => (y) { y = Resize(x, , s) }"}) {
    CAPTURE(std::string(graph));
    CHECK_FALSE(has_note(models.load(parse_graph("g " + std::string(graph))), "refuses"));
  }
}

TEST_CASE(
    "no shape is asked for a list or a map, which have none, but for the tensor behind them") {
  ModelFolder models;
  const onnx::ModelProto maps = parse_graph(
      "g (float[9,3] x) => (y) { y = ai.onnx.ml.ZipMap<classlabels_int64s = [0, 1, 2]>(x) }");
  CHECK_FALSE(has_note(models.load(maps), "no known size"));
  LoadOptions options;
  options.shapes["y"] = {9, 3};
  expect_error(ErrorCode::invalid_argument, {"'y'", "is for a list or a map", "leave it out"},
               [&] { static_cast<void>(models.load(maps, options)); });
  const onnx::ModelProto pieces = parse_graph(
      "g (float[9,3] x, int64 n) => (y) { s = SplitToSequence<axis = 0>(x, n) t = "
      "SequenceInsert(s, x) y = ConcatFromSequence<axis = 0>(t) }");
  CHECK(has_note(models.load(pieces),
                 "1 of 5 tensors have no known size and count as 0 bytes; it "
                 "begins with 'y': give shapes with --shape"));
}

}  // namespace
}  // namespace berth::test
