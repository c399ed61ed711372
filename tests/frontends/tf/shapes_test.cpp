// Shape rules, by small graphs with one known answer.
#include "text_graph.h"

namespace berth::tf_frontend {
namespace {

using Shape = std::vector<std::int64_t>;

const std::string kConv = kFloats + attr("strides", "list { i: [1, 2, 2, 1] }");

struct Case {
  std::string text;  ///< defines a node "y"
  Shape shape;
};

TEST_CASE("shapes follow from inputs and attributes") {
  const std::string image = placeholder("x", {8, 299, 299, 3});
  const std::string filter = placeholder("f", {3, 3, 3, 32});
  const std::string a = placeholder("a", {4, 6});
  const std::string b = placeholder("b", {6, 5});
  const Case cases[] = {
      {image + filter + node("y", "Conv2D", "x f", kConv + attr("padding", "s: 'VALID'")),
       {8, 149, 149, 32}},
      {image + filter + node("y", "Conv2D", "x f", kConv + attr("padding", "s: 'SAME'")),
       {8, 150, 150, 32}},
      {image + filter +
           node("y", "DepthwiseConv2dNative", "x f", kConv + attr("padding", "s: 'SAME'")),
       {8, 150, 150, 96}},
      {placeholder("x", {8, 3, 20, 30}) +
           node("y", "MaxPool", "x",
                kFloats + attr("ksize", "list { i: [1, 1, 3, 3] }") +
                    attr("strides", "list { i: [1, 1, 2, 2] }") + attr("padding", "s: 'VALID'") +
                    attr("data_format", "s: 'NCHW'")),
       {8, 3, 9, 14}},
      {a + b + node("y", "MatMul", "a b", kFloats), {4, 5}},
      {a + b +
           node("y", "MatMul", "b a",
                kFloats + attr("transpose_a", "b: true") + attr("transpose_b", "b: true")),
       {5, 4}},
      {placeholder("a", {7, 1, 4, 6}) + placeholder("b", {2, 5, 6}) +
           node("y", "BatchMatMulV2", "a b", kFloats + attr("adj_y", "b: true")),
       {7, 2, 4, 5}},
      {a + placeholder("c", {6}) + node("y", "AddV2", "a c", kFloats), {4, 6}},
      {a + integers("i", {1}) + node("y", "Sum", "a i", kFloats), {4}},
      {a + integers("i", {-1}) + node("y", "Mean", "a i", kFloats + attr("keep_dims", "b: true")),
       {4, 1}},
      {a + integers("s", {3, -1}) + node("y", "Reshape", "a s", kFloats), {3, 8}},
      {a + integers("i", {1, 0}) + node("y", "Transpose", "a i", kFloats), {6, 4}},
      {a + integers("i", {1}, true) + node("y", "ConcatV2", "a a i", kFloats + attr("N", "i: 2")),
       {4, 12}},
      {a + integers("i", {1}, true) +
           node("s", "Split", "i a", kFloats + attr("num_split", "i: 3")) +
           node("y", "Relu", "s:2", kFloats),
       {4, 2}},
      {a + node("y", "Pack", "a a a", kFloats + attr("N", "i: 3") + attr("axis", "i: 1")),
       {4, 3, 6}},
      {a + node("u", "Unpack", "a", kFloats + attr("num", "i: 6") + attr("axis", "i: 1")) +
           node("y", "Relu", "u:5", kFloats),
       {4}},
      {a + integers("i", {0, 2, 2, 1, 3}) + integers("z", {1}, true) +
           node("y", "GatherV2", "a i z", attr("Tparams", "type: DT_FLOAT")),
       {4, 5}},
      {a + integers("p", {1, 2}, true) + integers("m", {2, 3}) + node("y", "Tile", "a m", kFloats),
       {8, 18}},
      {a + integers("d", {2}, true) +
           node("y", "TopKV2", "a d", kFloats + attr("index_type", "type: DT_INT32")),
       {4, 2}},
      {placeholder("x", {3, 7, 5}) + placeholder("h", {9, 4}) + placeholder("w", {9, 16}) +
           placeholder("c", {3, 4}) + placeholder("p", {4}) + placeholder("z", {16}) +
           node("y", "LSTMBlockCell", "c c c w p p p z", kFloats),
       {3, 4}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    LoadOptions options;
    options.fetches = {"y"};
    CHECK(shape_of(*load_bytes(c.text, options).graph, "y") == c.shape);
  }
}

TEST_CASE("shapes that are computed are folded") {
  // The size of one dimension, through Shape, StridedSlice, arithmetic and Pack, to Reshape.
  const std::string slice = attr("T", "type: DT_INT32") + attr("shrink_axis_mask", "i: 1");
  const std::string text =
      placeholder("x", {6, 4, 10}) +
      node("shape", "Shape", "x", kFloats + attr("out_type", "type: DT_INT32")) +
      integers("b0", {0}) + integers("b1", {1}) + integers("b2", {2}) +
      node("d0", "StridedSlice", "shape b0 b1 b1", slice) +
      node("d1", "StridedSlice", "shape b1 b2 b1", slice) +
      node("rows", "Mul", "d0 d1", attr("T", "type: DT_INT32")) + integers("rest", {-1}, true) +
      node("target", "Pack", "rows rest", attr("T", "type: DT_INT32") + attr("N", "i: 2")) +
      node("y", "Reshape", "x target", kFloats);
  CHECK(shape_of(*load_bytes(text).graph, "y") == Shape{24, 10});
}

TEST_CASE("the gradient of a broadcast sum has the operand's shape") {
  const std::string shapes = attr("out_type", "type: DT_INT32");
  const std::string text =
      placeholder("g", {4, 6}) + placeholder("bias", {6}) +
      node("s0", "Shape", "g", kFloats + shapes) + node("s1", "Shape", "bias", kFloats + shapes) +
      node("args", "BroadcastGradientArgs", "s0 s1", attr("T", "type: DT_INT32")) +
      node("sum", "Sum", "g args:1", kFloats) + node("y", "Reshape", "sum s1", kFloats);
  const LoadedModel model = load_bytes(text);
  const Graph& graph = *model.graph;
  CHECK(shape_of(graph, "sum") == Shape{6});
  CHECK(shape_of(graph, "y") == Shape{6});
}

TEST_CASE("tensor arrays remember what is written") {
  const std::string flow = attr("dtype", "type: DT_FLOAT");
  const std::string text = placeholder("x", {5, 3, 2}) + integers("n", {5}, true) +
                           integers("i", {0, 1, 2, 3, 4}) +
                           node("array", "TensorArrayV3", "n", flow) +
                           node("write", "TensorArrayScatterV3", "array i x array:1", kFloats) +
                           node("one", "TensorArrayReadV3", "array n write", flow) +
                           node("all", "TensorArrayGatherV3", "array i write", flow);
  const LoadedModel model = load_bytes(text);
  const Graph& graph = *model.graph;
  CHECK(shape_of(graph, "one") == Shape{3, 2});
  CHECK(shape_of(graph, "all") == Shape{5, 3, 2});
}

TEST_CASE("contradictions are not shapes, and nothing overflows") {
  const std::string huge = placeholder("h", {2147483647, 2147483647, 2147483647});
  for (const std::string& text :
       {placeholder("a", {4, 6}) + placeholder("b", {5, 7}) + node("y", "Add", "a b", kFloats),
        huge + integers("m", {2147483647, 2147483647, 2147483647}) +
            node("y", "Tile", "h m", kFloats),
        placeholder("a", {4}) + integers("s", {-7}) + node("y", "Reshape", "a s", kFloats),
        integers("s", {2147483647, 2147483647, 2147483647}) + placeholder("v", {}) +
            node("y", "Fill", "s v", kFloats),
        placeholder("a", {4}) + integers("s", {99}) + node("y", "Transpose", "a s", kFloats)}) {
    CAPTURE(text);
    const LoadedModel model = load_bytes(text);
    const TensorId tensor = model.graph->outputs(op_named(*model.graph, "y"))[0];
    CHECK(model.graph->bytes(tensor) <= std::int64_t{1} << 62);
  }
}

}  // namespace
}  // namespace berth::tf_frontend
