// Shape rules, by small graphs with one known answer.
#include <algorithm>

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

TEST_CASE("shapes of what replicas exchange, of bins, samples, transforms and ragged tensors") {
  const std::string kBins = attr("T", "type: DT_FLOAT") + attr("Tidx", "type: DT_INT32");
  const std::string kDrawn = attr("dtype", "type: DT_FLOAT");
  const std::string a = placeholder("a", {4, 6});
  const std::string scalar = integers("s", {3}, true);
  const std::string words = placeholder("v", {9, 5}) + placeholder("i", {2, 3});
  const Case cases[] = {
      {a + scalar + node("y", "CollectiveReduceV2", "a s s s", kFloats), {4, 6}},
      {a + scalar + node("y", "CollectiveGatherV2", "a s s s", kFloats), {12, 6}},
      {a + integers("s", {2}, true) + node("y", "CollectiveReduceScatterV2", "a s s s", kFloats),
       {2, 6}},
      {a + scalar + placeholder("w", {0}) + node("y", "DenseBincount", "a s w", kBins), {4, 3}},
      {a + scalar + placeholder("w", {0}) + node("y", "Bincount", "a s w", kFloats), {3}},
      {a + scalar + integers("d", {8, 2}) +
           node("y", "StatelessRandomUniformFullIntV2", "d s s s",
                attr("dtype", "type: DT_UINT64")),
       {8, 2}},
      // A generator of random numbers, an algorithm, a shape.
      {placeholder("g", {}) + scalar + integers("d", {8, 2}) +
           node("y", "StatefulUniform", "g s d", kDrawn),
       {8, 2}},
      {placeholder("x", {4, 16}) + integers("n", {16}) +
           node("y", "RFFT", "x n", attr("Tcomplex", "type: DT_COMPLEX64")),
       {4, 9}},
      {placeholder("x", {4, 9}) + integers("n", {16}) +
           node("y", "IRFFT", "x n", attr("Treal", "type: DT_FLOAT")),
       {4, 16}},
      {a + node("d", "Svd", "a", kFloats) + node("y", "Relu", "d:2", kFloats), {6, 4}},
      {placeholder("x", {2, 8, 9, 3}) + placeholder("t", {2, 8}) + integers("n", {5, 6}) +
           node("y", "ImageProjectiveTransformV3", "x t n s", attr("dtype", "type: DT_FLOAT")) +
           scalar,
       {2, 5, 6, 3}},
      {placeholder("b", {2, 50, 1, 4}) + placeholder("c", {2, 50, 7}) + scalar +
           integers("n", {10}, true) + placeholder("f", {}) +
           node("y", "CombinedNonMaxSuppression", "b c s n f f"),
       {2, 10, 4}},
      {words + placeholder("p", {10}) +
           node("g", "RaggedGather", "p v i",
                attr("OUTPUT_RAGGED_RANK", "i: 1") + attr("Tvalues", "type: DT_FLOAT") +
                    attr("Tsplits", "type: DT_INT64") + attr("PARAMS_RAGGED_RANK", "i: 1")) +
           node("y", "Identity", "g", attr("T", "type: DT_INT64")),
       {7}},
      {words + integers("n", {4, 8, -1}) + placeholder("p", {5}) + placeholder("d", {}) +
           node("y", "RaggedTensorToTensor", "n v d p", kFloats),
       {4, 8, 5}},
      // As many rows as the splits say.
      {words + integers("n", {-1, 8, -1}) + placeholder("p", {5}) + placeholder("d", {}) +
           node("y", "RaggedTensorToTensor", "n v d p", kFloats),
       {4, 8, 5}},
      // A scalar as the shape says nothing: a dimension for each level of rows, then a value's.
      {words + integers("n", {-1}, true) + placeholder("p", {5}) + placeholder("d", {}) +
           node("y", "RaggedTensorToTensor", "n v d p", kFloats),
       {4, kUnknownDim, 5}},
      {words + integers("n", {-1}, true) + integers("r", {3}, true) + placeholder("p", {5}) +
           placeholder("q", {9}) + placeholder("d", {}) +
           node("y", "RaggedTensorToTensor", "n v d r p q", kFloats),
       {3, kUnknownDim, kUnknownDim, 5}},
      {a + node("y", "QuantizeAndDequantizeV4", "a s s", kFloats) + scalar, {4, 6}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    LoadOptions options;
    options.fetches = {"y"};
    CHECK(shape_of(*load_bytes(c.text, options).graph, "y") == c.shape);
  }
}

TEST_CASE("types that files leave out are the defaults of the op's definition") {
  struct Default {
    const char* op;
    std::size_t port;
    DType type;
  };
  const Default defaults[] = {
      {"LeakyRelu", 0, DType::f32},
      {"LeakyReluGrad", 0, DType::f32},
      {"ComplexAbs", 0, DType::f32},
      {"MaxPool", 0, DType::f32},
      {"MaxPoolWithArgmax", 1, DType::i64},
      {"RFFT", 0, DType::c64},
      {"IRFFT2D", 0, DType::f32},
      {"Lu", 1, DType::i32},
      {"LRN", 0, DType::f32},
      {"CTCLoss", 1, DType::f32},
      {"QuantizedRelu", 0, DType::u8},
      {"DecodePng", 0, DType::u8},
      {"AdjustContrastv2", 0, DType::f32},
      {"UnicodeDecode", 0, DType::i64},
      {"Multinomial", 0, DType::i64},
      {"StatelessRandomUniformFullInt", 0, DType::u64},
      {"HistogramFixedWidth", 0, DType::i32},
      {"NonMaxSuppressionV5", 1, DType::f32},
      {"ArgMax", 0, DType::i64},
      {"Shape", 0, DType::i32},
      {"BroadcastGradientArgs", 1, DType::i32},
      {"RaggedRange", 0, DType::i64},
  };
  for (const Default& expected : defaults) {
    CAPTURE(expected.op);
    LoadOptions options;
    options.fetches = {"y"};
    const LoadedModel model =
        load_bytes(placeholder("x", {2, 8, 8, 4}) + node("y", expected.op, "x x x"), options);
    const auto outputs = model.graph->outputs(op_named(*model.graph, "y"));
    REQUIRE(outputs.size() > expected.port);
    CHECK(model.graph->dtype(outputs[expected.port]) == expected.type);
  }

  // Numbers of tensors are 0 by default: what comes first here are the dense features.
  LoadOptions options;
  options.fetches = {"y"};
  const LoadedModel model =
      load_bytes(placeholder("x", {2}) + node("y", "ParseSequenceExampleV2", "x",
                                              attr("Tcontext_dense", "list { type: DT_FLOAT }")),
                 options);
  const auto outputs = model.graph->outputs(op_named(*model.graph, "y"));
  REQUIRE(outputs.size() == 1);
  CHECK(model.graph->dtype(outputs[0]) == DType::f32);
}

TEST_CASE("types that files leave out are the defaults of the definition that the file has") {
  const std::string definition =
      "op { name: 'Own' output_arg { name: 'y' type_attr: 'T' number_attr: 'N' } "
      "attr { name: 'T' type: 'type' default_value { type: DT_HALF } } "
      "attr { name: 'N' type: 'int' default_value { i: 2 } } }";
  LoadOptions options;
  options.fetches = {"y"};
  const LoadedModel model = load_bytes("meta_info_def { stripped_op_list { " + definition +
                                           " } } graph_def { " + node("y", "Own") + " }",
                                       options, "g.meta");
  const auto outputs = model.graph->outputs(op_named(*model.graph, "y"));
  REQUIRE(outputs.size() == 2);
  for (const TensorId output : outputs) CHECK(model.graph->dtype(output) == DType::f16);
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

TEST_CASE("real numbers that sizes are computed with are followed") {
  const std::string kInts = attr("T", "type: DT_INT32");
  const auto real = [](const std::string& name, const std::string& value) {
    return node(name, "Const", "",
                attr("dtype", "type: DT_FLOAT") +
                    attr("value", "tensor { dtype: DT_FLOAT tensor_shape { } " + value + " }"));
  };
  const auto cast = [](const std::string& name, const std::string& from, const std::string& to) {
    return node(name, "Cast", from, attr("DstT", "type: " + to));
  };
  const std::string size =
      placeholder("x", {7, 4}) +
      node("shape", "Shape", "x", kFloats + attr("out_type", "type: DT_INT32")) +
      integers("b", {0}) + integers("e", {1}) +
      node("n", "StridedSlice", "shape b e e", kInts + attr("shrink_axis_mask", "i: 1")) +
      cast("f", "n", "DT_FLOAT");
  const std::string zero_and_two = real("zero", "float_val: 0") + real("two", "float_val: 2.0");
  SUBCASE("a range of floats, as arange with a floating-point type is written") {
    const std::string text =
        size + zero_and_two + node("y", "Range", "zero f two", attr("Tidx", "type: DT_FLOAT"));
    CHECK(shape_of(*load_bytes(text).graph, "y") == Shape{4});
  }
  SUBCASE("a quotient that is rounded up") {
    const std::string text =
        size + zero_and_two + node("half", "RealDiv", "f two", kFloats) +
        node("up", "Ceil", "half", kFloats) + cast("rows", "up", "DT_INT32") +
        integers("zero_i", {0}, true) + integers("one_i", {1}, true) +
        node("y", "Range", "zero_i rows one_i", attr("Tidx", "type: DT_INT32"));
    CHECK(shape_of(*load_bytes(text).graph, "y") == Shape{4});
  }
  SUBCASE("raw content, and one number that stands for all") {
    const std::string text = size + real("zero", "tensor_content: '\\000\\000\\000\\000'") +
                             real("two", "tensor_content: '\\000\\000\\000\\100'") +
                             node("y", "Range", "zero f two", attr("Tidx", "type: DT_FLOAT"));
    CHECK(shape_of(*load_bytes(text).graph, "y") == Shape{4});
  }
}

TEST_CASE("integers that shapes are computed with are followed") {
  const std::string kInts = attr("T", "type: DT_INT32");
  const std::string kPair = kInts + attr("N", "i: 2");
  const std::string one = integers("o", {1}, true) + integers("z", {0}, true);
  // [[1, 2, 3], [4, 5, 6]]
  const std::string p = integers("l", {1, 2, 3, 4, 5, 6}) + integers("r", {2, 3}) +
                        node("p", "Reshape", "l r", kInts);
  const std::string flat = integers("n", {-1}) + node("v", "Reshape", "m n", kInts);
  const Case cases[] = {
      {p + integers("b", {1, 0}) + integers("s", {1, -1}) + node("m", "Slice", "p b s", kInts) +
           flat,
       {4, 5, 6}},
      {p + integers("b", {0, -1}) + integers("e", {0, -9}) + integers("s", {1, -2}) +
           node("m", "StridedSlice", "p b e s", kInts + attr("end_mask", "i: 1")) + flat,
       {3, 1, 6, 4}},
      {p + integers("b", {0, 1}) + integers("e", {0, 2}) + integers("s", {1, 1}) +
           node("v", "StridedSlice", "p b e s",
                kInts + attr("end_mask", "i: 1") + attr("shrink_axis_mask", "i: 2")),
       {2, 5}},
      {p + integers("a", {0, 1}) + node("m", "ReverseV2", "p a", kInts) + flat, {6, 5, 4, 3, 2, 1}},
      {p + integers("a", {1, 2}) + node("m", "Tile", "p a", kInts) + flat,
       {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}},
      {integers("a", {2, 3}) + node("m", "Pack", "a a", kPair + attr("axis", "i: 1")) + flat,
       {2, 2, 3, 3}},
      {p + node("m", "Unpack", "p", kInts + attr("num", "i: 3") + attr("axis", "i: 1")) +
           node("v", "Identity", "m:2", kInts),
       {3, 6}},
      {integers("a", {2, 3}) + integers("w0", {1, 1}) +
           node("w", "Pack", "w0", kInts + attr("N", "i: 1")) + node("v", "Pad", "a w", kInts),
       {0, 2, 3, 0}},
      {p + integers("i0", {1, 2}) + node("i", "Pack", "i0", kInts + attr("N", "i: 1")) +
           node("v", "GatherNd", "p i", attr("Tparams", "type: DT_INT32")),
       {6}},
      {integers("i0", {2}) + node("i", "Pack", "i0", kInts + attr("N", "i: 1")) +
           integers("u", {7}) + integers("s", {3}) + node("v", "ScatterNd", "i u s", kInts),
       {0, 0, 7}},
      {p + integers("a", {0}) + node("v", "Max", "p a", kInts), {4, 5, 6}},
      {p + integers("a", {1}) + node("v", "Sum", "p a", kInts), {6, 15}},
      {integers("a", {2, 3}) + one + node("v", "Cumsum", "a z", kInts), {2, 5}},
      {integers("a", {-7, 7}) + integers("b", {-2}) + integers("c", {9}) +
           node("q", "Div", "a b", kInts) + node("v", "AddV2", "q c", kInts),
       {12, 6}},
      {integers("a", {7, 9}) + integers("b", {4}) + node("v", "TruncateMod", "a b", kInts), {3, 1}},
      {integers("a", {7, 1}) + integers("b", {4}) + node("v", "AddN", "a a", kPair), {14, 2}},
      {integers("a", {7, 1}) + integers("b", {2}, true) + integers("c", {5}, true) +
           node("v", "ClipByValue", "a b c", kInts),
       {5, 2}},
      {integers("a", {3, 0, 7}) + node("m", "Where", "a", kInts) +
           node("c", "Cast", "m", attr("DstT", "type: DT_INT32")) + integers("n", {-1}) +
           node("v", "Reshape", "c n", kInts),
       {0, 2}},
      {integers("a", {5, 1, 5, 2}) + integers("b", {1, 7}) + integers("first", {0}, true) +
           node("ra", "ExpandDims", "a first", kInts) + node("rb", "ExpandDims", "b first", kInts) +
           node("d", "DenseToDenseSetOperation", "ra rb",
                kInts + attr("set_operation", "s: 'a-b'")) +
           node("v", "Shape", "d:1", kInts + attr("out_type", "type: DT_INT32")),
       {2}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    LoadOptions options;
    options.fetches = {"y"};
    const std::string text =
        c.text + placeholder("value", {}) + node("y", "Fill", "v value", kFloats);
    CHECK(shape_of(*load_bytes(text, options).graph, "y") == c.shape);
  }
}

TEST_CASE("sizes that a step decides are those of the largest step, and it is said") {
  const std::string x = placeholder("x", {4, 6});
  const std::string i = node("i", "Cast", "x", attr("DstT", "type: DT_INT32"));
  const std::string k =
      node("k", "Placeholder", "", attr("dtype", "type: DT_INT32") + attr("shape", "shape { }"));
  const std::string index = attr("out_idx", "type: DT_INT32");
  const Case cases[] = {
      {x + node("y", "Where", "x", kFloats), {24, 2}},
      {placeholder("f", {9}) + node("y", "Unique", "f", kFloats + index), {9}},
      {x + i + node("y", "DynamicPartition", "x i", kFloats + attr("num_partitions", "i: 2")),
       {24}},
      {x + k + node("y", "TopKV2", "x k", kFloats), {4, 6}},
      {x + i + node("y", "DenseToDenseSetOperation", "i i", attr("set_operation", "s: 'union'")),
       {48, 2}},
      {placeholder("b", {9, 4}) + placeholder("s", {9}) + integers("n", {5}, true) +
           placeholder("t", {}) + node("y", "NonMaxSuppressionV3", "b s n t t", kFloats),
       {5}},
      {x + node("w", "Where", "x", kFloats) +
           node("y", "GatherNd", "x w", attr("Tparams", "type: DT_FLOAT")),
       {24}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    LoadOptions options;
    options.fetches = {"y"};
    const LoadedModel model = load_bytes(c.text, options);
    CHECK(shape_of(*model.graph, "y") == c.shape);
    CHECK(std::any_of(model.notes.begin(), model.notes.end(), [](const std::string& note) {
      return note.find("counted for the largest step, in which all is chosen by: ") !=
             std::string::npos;
    }));
  }
}

TEST_CASE("a note names the tensor with which it begins that sizes are missing") {
  const std::string whole = attr("T", "type: DT_INT32");
  const std::string text =
      node("n", "Placeholder", "", attr("dtype", "type: DT_INT32") + shape("shape", {})) +
      integers("zero", {0}, true) + integers("one", {1}, true) +
      node("r", "Range", "zero n one", attr("Tidx", "type: DT_INT32")) +
      node("a", "Neg", "r", whole) + node("y", "Add", "a r", whole);
  LoadOptions options;
  options.fetches = {"y"};
  const auto notes_say = [](const LoadedModel& model, std::string_view part) {
    return std::any_of(model.notes.begin(), model.notes.end(), [&](const std::string& note) {
      return note.find(part) != std::string::npos;
    });
  };
  CHECK(
      notes_say(load_bytes(text, options), "it begins with 'r': give shapes with --shape TENSOR="));
  options.shapes = {{"r", {5}}};
  const LoadedModel given = load_bytes(text, options);
  CHECK(shape_of(*given.graph, "y") == Shape{5});
  CHECK_FALSE(notes_say(given, "no known size"));
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

TEST_CASE("matrices of diagonals and diagonals of matrices have the shapes that k and sizes say") {
  const std::string diagonal = placeholder("d", {3, 4}), band = placeholder("d", {5, 3, 4});
  const std::string matrix = placeholder("d", {2, 5, 7}), pad = placeholder("p", {});
  const std::string any = integers("r", {-1}, true) + integers("c", {-1}, true);
  const std::string wide = integers("r", {-1}, true) + integers("c", {9}, true);
  const auto at = [](int k) { return integers("k", {k}, true); };
  const auto from = [](int lower, int upper) { return integers("k", {lower, upper}); };
  const auto of = [](const std::string& version) {
    return node("y", "MatrixDiag" + version, "d k r c p", kFloats);
  };
  const auto part_of = [](const std::string& version) {
    return node("y", "MatrixDiagPart" + version, "d k p", kFloats);
  };
  const Case cases[] = {
      {diagonal + at(0) + any + pad + of("V2"), {3, 4, 4}},
      {diagonal + at(2) + any + pad + of("V3"), {3, 6, 6}},
      {diagonal + at(-1) + wide + pad + of("V3"), {3, 5, 9}},
      {band + from(-1, 1) + any + pad + of("V3"), {5, 4, 4}},
      {band + from(1, 3) + wide + pad + of("V2"), {5, 4, 9}},
      {matrix + at(0) + pad + part_of("V2"), {2, 5}},
      {matrix + at(4) + pad + part_of("V3"), {2, 3}},
      {matrix + from(-2, 1) + pad + part_of("V3"), {2, 4, 5}},
      {matrix + from(-3, -3) + pad + part_of("V3"), {2, 2}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    LoadOptions options;
    options.fetches = {"y"};
    CHECK(shape_of(*load_bytes(c.text, options).graph, "y") == c.shape);
  }
}

TEST_CASE("blocks of a variable have the shape that their indices leave") {
  const std::string table =
      node("w", "VarHandleOp", "", attr("dtype", "type: DT_FLOAT") + shape("shape", {7, 5, 3}));
  const std::string read = attr("dtype", "type: DT_FLOAT") + attr("Tindices", "type: DT_INT32");
  const Case cases[] = {
      {table + placeholder("i", {4, 2}) + node("y", "ResourceGatherNd", "w i", read), {4, 3}},
      {table + placeholder("i", {7, 2}) +
           node("y", "ResourceGather", "w i", read + attr("batch_dims", "i: 1")),
       {7, 2, 3}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    LoadOptions options;
    options.fetches = {"y"};
    CHECK(shape_of(*load_bytes(c.text, options).graph, "y") == c.shape);
  }
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
