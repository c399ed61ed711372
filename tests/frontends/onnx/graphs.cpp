// What becomes of a model's nodes, weights, functions and bodies.
#include <algorithm>

#include "berth/blocks.h"
#include "berth/costs.h"
#include "berth/sdk/ops/constants.h"
#include "model_text.h"

namespace berth::test {
namespace {

TEST_CASE("a NUL character in a name is made visible, so that it cuts no message") {
  ModelFolder models;
  auto model = parse_graph("g (float[2] x) => (y) { y = Relu(x) }");
  model.mutable_graph()->mutable_node(0)->set_name(std::string("a\0b", 3));
  CHECK(models.load(model).graph->find_op("a\\x00b").has_value());
}

TEST_CASE("inputs are ops, weights and Constants are parameters of their readers") {
  ModelFolder models;
  onnx::ModelProto proto = parse_graph(
      "g (float[2,3] x) => (float[2,4] y) { k = Constant<value = float[4] {1,2,3,4}>() h = "
      "MatMul(x, w) y = Add(h, k) }");
  add_weight(proto, "w", {3, 4});
  const LoadedModel model = models.load(proto);
  const Graph& graph = *model.graph;
  CHECK(graph.dialect() == "onnx");
  CHECK(graph.name() == "g");
  REQUIRE(graph.op_count() == 3);
  CHECK(graph.op_type(op(graph, "x")) == "Input");
  CHECK(graph.output_bytes(op(graph, "x")) == 24);
  CHECK(op_work(graph, op(graph, "x")).launches == 0);
  CHECK(graph.param_bytes(op(graph, "h")) == 48);
  CHECK(graph.param_bytes(op(graph, "y")) == 16);
  CHECK(graph.total_param_bytes() == 64);
  CHECK(has_note(model, "no data in the file"));
}

TEST_CASE("a Constant that the graph returns stays an op") {
  ModelFolder models;
  const LoadedModel model =
      models.load(parse_graph("g () => (float[2] y) { y = Constant<value = float[2] {1,2}>() }"));
  REQUIRE(model.graph->op_count() == 1);
  CHECK(model.graph->op_type(0) == "Constant");
  CHECK(model.graph->output_bytes(0) == 8);
}

TEST_CASE("an initializer that the graph returns is an op, and is returned") {
  ModelFolder models;
  onnx::ModelProto proto =
      parse_graph("g (float[2,3] x) => (float[2,4] y, float[3,4] w) { y = MatMul(x, w) }");
  add_weight(proto, "w", {3, 4});
  const LoadedModel model = models.load(proto);
  const Graph& graph = *model.graph;
  CHECK(graph.op_type(op(graph, "w")) == "Constant");
  CHECK(graph.is_result(find_tensor(graph, "w").value()));
  CHECK(graph.total_param_bytes() == 0);
}

TEST_CASE("a Dropout says whether it drops, where a constant or an attribute of old does") {
  const auto mode = [](const std::string& graph, int opset) {
    ModelFolder models;
    const LoadedModel model = models.load(parse_graph(
        "g (float[4] x, bool t) => (y) <float r = {0.5}, bool no = {0}, bool yes = {1}> { y = " +
            graph + " }",
        opset));
    const auto* const found = model.graph->attribute(op(*model.graph, "y"), "training_mode");
    return found == nullptr ? -1 : std::get<std::int64_t>(*found);
  };
  CHECK(mode("Dropout(x, r, no)", 17) == 0);
  CHECK(mode("Dropout(x, r, yes)", 17) == 1);
  CHECK(mode("Dropout(x, r, t)", 17) == -1);
  CHECK(mode("Dropout(x, r)", 17) == -1);
  CHECK(mode("Dropout(x)", 10) == -1);
  CHECK(mode("Dropout(x)", 6) == 1);
  CHECK(mode("Dropout<is_test = 1>(x)", 6) == 0);
}

TEST_CASE("weights listed as inputs too, as before IR 4, are weights") {
  ModelFolder models;
  onnx::ModelProto proto =
      parse_graph("g (float[2,3] x, float[3,4] w) => (float[2,4] y) { y = MatMul(x, w) }");
  add_weight(proto, "w", {3, 4});
  const LoadedModel model = models.load(proto);
  CHECK(model.graph->op_count() == 2);
  CHECK(model.graph->param_bytes(op(*model.graph, "y")) == 48);
}

TEST_CASE("what reads a weight that the caller may give another one for stays in the step") {
  ModelFolder models;
  const auto folded = [&](int ir_version, const char* inputs) {
    onnx::ModelProto proto =
        parse_graph(std::string("g (float[2,3] x") + inputs +
                    ") => (float[2,4] y) { t = Transpose(w) y = MatMul(x, t) }");
    add_weight(proto, "w", {4, 3});
    proto.set_ir_version(ir_version);
    return ops::fold_constants(models.load(proto).graph)->constant_count();
  };
  CHECK(folded(8, "") == 1);
  CHECK(folded(8, ", float[4,3] w") == 0);
  CHECK(folded(3, ", float[4,3] w") == 1);
}

TEST_CASE(
    "sizes are constants where the file fixes those of its inputs and the caller gives none") {
  ModelFolder models;
  const auto folded = [&](const char* input, const LoadOptions& options = {}) {
    const onnx::ModelProto proto =
        parse_graph(std::string("g (") + input +
                    ") => (y) { h = Relu(x) s = Shape(h) i = Constant<value = int64[1] {0}>() "
                    "n = Gather(s, i) z = ConstantOfShape(n) y = Add(h, z) }");
    return ops::fold_constants(models.load(proto, options).graph)->constant_count();
  };
  CHECK(folded("float[3,4] x") == 3);
  CHECK(folded("float[N,4] x") == 0);
  LoadOptions options;
  for (const char* const dim : {"N", "*"}) {
    options.dims = {{dim, 3}};
    CHECK(folded("float[N,4] x", options) == 0);
  }
  options = {};
  options.shapes["x"] = {3, 4};
  CHECK(folded("float[?,4] x", options) == 0);
  CHECK(folded("float[3,4] x", options) == 0);
}

TEST_CASE("attributes are kept, large ones as bytes") {
  ModelFolder models;
  onnx::ModelProto proto = parse_graph(
      "g (float[1,1,9,9] x) => (y) { y = some.Op<n = 3, f = 0.5, s = \"text\", l = [1,2], "
      "names = [\"a\", \"b\"]>(x) }");
  auto* const big = proto.mutable_graph()->mutable_node(0)->add_attribute();
  big->set_name("blob");
  big->set_type(onnx::AttributeProto::STRING);
  big->set_s(std::string(100'000, 'x'));
  const LoadedModel model = models.load(proto);
  const Graph& graph = *model.graph;
  const OpId y = op(graph, "y");
  CHECK(std::get<std::int64_t>(*graph.attribute(y, "n")) == 3);
  CHECK(std::get<double>(*graph.attribute(y, "f")) == 0.5);
  CHECK(std::get<std::string>(*graph.attribute(y, "s")) == "text");
  CHECK(std::get<std::vector<std::int64_t>>(*graph.attribute(y, "l")) ==
        std::vector<std::int64_t>{1, 2});
  CHECK(std::get<std::vector<std::string>>(*graph.attribute(y, "names")).size() == 2);
  CHECK(graph.attribute(y, "blob") == nullptr);
  CHECK(graph.param_bytes(y) == 100'000);
}

TEST_CASE("names are unique and the same each time") {
  ModelFolder models;
  onnx::ModelProto proto = parse_graph(
      "g (float[2] x) => (float[2] y) { a = Relu(x) b = Relu(a) c = Relu(b) y = Relu(c) }");
  proto.mutable_graph()->mutable_node(0)->set_name("n");
  proto.mutable_graph()->mutable_node(1)->set_name("n");
  proto.mutable_graph()->mutable_node(2)->set_name("x");  // also the input's name
  const LoadedModel model = models.load(proto);
  const Graph& graph = *model.graph;
  REQUIRE(graph.op_count() == 5);
  CHECK(graph.op_name(0) == "x_2");
  CHECK(graph.op_name(1) == "n");
  CHECK(graph.op_name(2) == "n_2");
  CHECK(graph.op_name(3) == "x");
  CHECK(graph.op_name(4) == "y");
  CHECK(has_note(model, "share a name"));
}

TEST_CASE("names that are no UTF-8 are escaped") {
  ModelFolder models;
  onnx::ModelProto proto = parse_graph("g (float[2] x) => (float[2] y) { y = Relu(x) }");
  proto.mutable_graph()->mutable_node(0)->set_name("caf\xe9\xc3\xa9");
  const LoadedModel model = models.load(proto);
  CHECK(op(*model.graph, "caf\\xe9\xc3\xa9") == 1);
}

TEST_CASE("nodes come in any order") {
  ModelFolder models;
  const LoadedModel model =
      models.load(parse_graph("g (float[2] x) => (float[2] y) { y = Relu(a) a = Relu(x) }"));
  CHECK(type_text(*model.graph, "y") == "f32[2]");
  CHECK(model.graph->topological_order().back() == op(*model.graph, "y"));
}

TEST_CASE("omitted inputs and outputs keep their place") {
  ModelFolder models;
  const LoadedModel model = models.load(parse_graph(
      "g (float[1,3,8,8] x) => (y) <int64[4] s = {1, 3, 5, 6}> { y = Resize(x, , , s) }"));
  const auto inputs = model.graph->inputs(op(*model.graph, "y"));
  REQUIRE(inputs.size() == 4);
  CHECK(inputs[1] == kNoTensor);
  CHECK(inputs[2] == kNoTensor);
  CHECK(inputs[3] != kNoTensor);
}

TEST_CASE("Constants of one name are read once") {
  ModelFolder models;
  SUBCASE("equal") {
    const LoadedModel model = models.load(
        parse_graph("g (float[2] x) => (float[2] y) { k = Constant<value = float[2] {1,2}>() k = "
                    "Constant<value = float[2] {1,2}>() y = Add(x, k) }"));
    CHECK(has_note(model, "repeat another one"));
    CHECK(model.graph->total_param_bytes() == 8);
  }
  SUBCASE("different") {
    const LoadedModel model = models.load(
        parse_graph("g (float[2] x) => (float[2] y) { k = Constant<value = float[2] {1,2}>() k = "
                    "Constant<value = float {1}>() y = Add(x, k) }"));
    CHECK(has_note(model, "not the content"));
    CHECK(model.graph->total_param_bytes() == 4);  // the last counts
  }
}

TEST_CASE("local functions are inlined") {
  static constexpr const char* kModel = R"(<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
g (float[2,3] x) => (float[2,3] y) { a = my.Twice<alpha = 0.25>(x) y = my.Twice(a) }
<opset_import: ["" : 17, "my" : 1], domain: "my">
Twice <alpha> (p) => (q) { t = my.Once <alpha: float = @alpha> (p) q = my.Once(t) }
<opset_import: ["" : 17], domain: "my">
Once <alpha> (p) => (q) { q = LeakyRelu <alpha: float = @alpha> (p) }
)";
  ModelFolder models;
  const LoadedModel model = models.load(parse_model(kModel));
  const Graph& graph = *model.graph;
  REQUIRE(graph.op_count() == 5);  // x and four LeakyRelu
  CHECK(type_text(graph, "y") == "f32[2,3]");
  CHECK(graph.op_name(1) == "a/t/q");
  CHECK(std::get<double>(*graph.attribute(1, "alpha")) == doctest::Approx(0.25));
  CHECK(graph.attribute(2, "alpha") == nullptr);  // not given to the second call
  CHECK(has_note(model, "functions are inlined"));
}

TEST_CASE("an If is one op with the work and the weights of its larger branch") {
  ModelFolder models;
  onnx::ModelProto proto = parse_graph(
      "g (float[2,3] x, bool c) => (y) { y = If(c) <then_branch = t () => (float[2,4] a) { a = "
      "MatMul(x, w) }, else_branch = e () => (float[2,4] b) { b = Expand(z, s) }> }");
  add_weight(proto, "w", {3, 4});
  auto* const branch = proto.mutable_graph()->mutable_node(0)->mutable_attribute(1)->mutable_g();
  onnx::ModelProto weights;
  add_weight(weights, "z", {1, 4});
  *branch->add_initializer() = weights.graph().initializer(0);
  auto* const shape = branch->add_initializer();
  shape->set_name("s");
  shape->set_data_type(onnx::TensorProto::INT64);
  shape->add_dims(2);
  shape->add_int64_data(2);
  shape->add_int64_data(4);
  const LoadedModel model = models.load(proto);
  const Graph& graph = *model.graph;
  CHECK(graph.op_count() == 3);
  const OpId y = op(graph, "y");
  CHECK(type_text(graph, "y") == "f32[2,4]");
  CHECK(graph.inputs(y).size() == 3);  // the condition, then x and w from outside
  CHECK(graph.param_bytes(y) == 48 + 16 + 16);
  REQUIRE(graph.stated_work(y).has_value());
  CHECK(graph.stated_work(y)->flops == 2 * 2 * 3 * 4);
  CHECK(graph.stated_work(y)->op_class == OpClass::matmul);
  const AttributeValue* const types = graph.attribute(y, "body_types");
  REQUIRE(types != nullptr);
  CHECK(std::get<std::string>(*types) == "Expand,MatMul");
}

TEST_CASE("an If whose condition is a constant has the branch that runs alone") {
  ModelFolder models;
  // 16 elements of the branch that runs, 48 of the other; types, bytes and work are of the one.
  const auto load = [&](const char* condition) {
    return models.load(
        parse_graph(std::string("g (float[2] x) => (y) <bool c = {") + condition + R"(}> {
        y = If (c) <
          then_branch = t () => (float[?] a) {
            w = Constant<value = float[2] {1, 1}>()
            a = Add(x, w)
          },
          else_branch = e () => (float[?] b) {
            v = Constant<value = float[3, 2] {1, 2, 3, 4, 5, 6}>()
            p = MatMul(v, x)
            b = Neg(p)
          }
        >
      })"));
  };
  for (const bool chosen : {true, false}) {
    CAPTURE(chosen);
    const LoadedModel model = load(chosen ? "1" : "0");
    const OpId y = op(*model.graph, "y");
    CHECK(type_text(*model.graph, "y") == (chosen ? "f32[2]" : "f32[3]"));
    CHECK(model.graph->param_bytes(y) - 1 == (chosen ? 8 : 24));  // and the condition
    CHECK(model.graph->stated_work(y)->op_class ==
          (chosen ? OpClass::elementwise : OpClass::matmul));
  }
}

TEST_CASE("an op with bodies holds the weights of the bodies in them") {
  ModelFolder models;
  const LoadedModel model =
      models.load(parse_graph(R"(g (float[2] x, bool k) => (y) <int64 m = {5}> {
      y = Loop(m, , x) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t) {
        d = Identity(c)
        t = If (k) <
          then_branch = yes () => (float[2] a) {
            w = Constant<value = float[2] {1, 1}>()
            a = Add(s, w)
          },
          else_branch = no () => (float[2] b) {
            v = Constant<value = float[2, 2] {1, 2, 3, 4}>()
            b = MatMul(v, s)
          }
        >
      }>
    })"));
  // Either branch may run; 8 bytes count the trips.
  CHECK(model.graph->param_bytes(op(*model.graph, "y")) == 8 + 16 + 8);
  const AttributeValue* const types = model.graph->attribute(op(*model.graph, "y"), "body_types");
  REQUIRE(types != nullptr);
  CHECK(std::get<std::string>(*types) == "Add,Identity,MatMul");
}

TEST_CASE("a Loop has the work of its body times its trips") {
  static constexpr const char* kGraph =
      "g (float[2,3] x, float[3,3] w) => (y, all) <int64 m = {5}> { y, all = Loop(m, , x) <body = "
      "b "
      "(int64 i, bool c, float[2,3] s) => (bool d, float[2,3] t, float[2,3] u) { d = Identity(c) t "
      "= "
      "MatMul(s, w) u = Relu(t) }> }";
  ModelFolder models;
  SUBCASE("known") {
    const LoadedModel model = models.load(parse_graph(kGraph));
    const OpId loop = op(*model.graph, "y");
    CHECK(type_text(*model.graph, "all") == "f32[5,2,3]");
    CHECK(model.graph->stated_work(loop)->flops >= 5 * 2 * 2 * 3 * 3);
    CHECK(model.graph->stated_work(loop)->launches >= 10);
  }
  SUBCASE("and room for what its body makes beside its results") {
    // t is a matrix of 2 x 3000 that no result is; u begins when it is there.
    const LoadedModel model = models.load(parse_graph(
        "g (float[2,3] x, float[3,3000] w, float[3000,3] v) => (y) <int64 m = {5}> { y = Loop(m, , "
        "x) "
        "<body = b (int64 i, bool c, float[2,3] s) => (bool d, float[2,3] u) { d = Identity(c) t = "
        "MatMul(s, w) r = Relu(t) u = MatMul(r, v) }> }"));
    const Work& work = *model.graph->stated_work(op(*model.graph, "y"));
    CHECK(work.workspace_bytes >= 2 * 4 * 2 * 3000);
    CHECK(work.workspace_bytes < 2 * 4 * 2 * 3000 + 64);
  }
  SUBCASE("none, by a condition that is false at first") {
    onnx::ModelProto proto = parse_graph(
        "g (float[2,3] x, float[3,3] w) => (y, all) <int64 m = {5}, bool no = {0}> { y, all = "
        "Loop(m, no, x) <body = b "
        "(int64 i, bool c, float[2,3] s) => (bool d, float[2,3] t, float[2,3] u) { d = Identity(c) "
        "t = MatMul(s, w) "
        "u = Relu(t) }> }");
    const LoadedModel model = models.load(proto);
    CHECK(type_text(*model.graph, "y") == "f32[2,3]");
    CHECK(type_text(*model.graph, "all") == "f32[0,2,3]");
    CHECK(model.graph->stated_work(op(*model.graph, "y"))->flops == 0);
  }
  SUBCASE("unknown: counted once, with a note") {
    onnx::ModelProto proto = parse_graph(kGraph);
    proto.mutable_graph()->mutable_node(0)->set_input(0, "");
    const LoadedModel model = models.load(proto);
    CHECK(type_text(*model.graph, "all") == "f32[?,2,3]");
    CHECK(has_note(model, "the number of iterations of a loop is not known"));
  }
}

TEST_CASE("a body does not compute in every trip what depends on weights alone") {
  ModelFolder models;
  const char* const kLoop =
      "g (float[2,3] x) => (y) <int64 m = {5}, float[3,3] w = {1,2,3,4,5,6,7,8,9}> { y = "
      "Loop(m, , x) <body = b (int64 i, "
      "bool c, float[2,3] s) => (bool d, float[2,3] t) { d = Identity(c) wt = Transpose <perm = "
      "[1,0]> "
      "(w) t = MatMul(s, wt) }> }";
  constexpr double kTransposed = 2 * 9 * 4;  // bytes that the Transpose moves
  LoadOptions unfolded;
  unfolded.fold = false;
  const LoadedModel folded = models.load(parse_graph(kLoop));
  const LoadedModel plain = models.load(parse_graph(kLoop), unfolded);
  const Work of_folded = *folded.graph->stated_work(op(*folded.graph, "y"));
  const Work of_plain = *plain.graph->stated_work(op(*plain.graph, "y"));
  CHECK(of_folded.flops == of_plain.flops);
  CHECK(of_plain.bytes - of_folded.bytes == 5 * kTransposed);
  CHECK(of_plain.launches - of_folded.launches == 5);
}

TEST_CASE("a dimension that grows in a loop has its last size after it") {
  static constexpr const char* kGraph =
      "g (float[2,3] x) => (y) <int64 m = {5}> { y = Loop(m, , x) <body = b (int64 i, bool c, "
      "float[K,3] "
      "s) => (bool d, float[L,3] t) { d = Identity(c) t = Concat<axis = 0>(s, x) }> }";
  ModelFolder models;
  SUBCASE("as many trips as are stated") {
    CHECK(type_text(*models.load(parse_graph(kGraph)).graph, "y") == "f32[12,3]");
  }
  SUBCASE("or until the condition fails") {
    const LoadedModel model = models.load(parse_graph(
        "g (float[2,3] x) => (y, all) <int64 m = {5}, int64 n = {2}> { y, all = Loop(m, , x) <body "
        "= b (int64 i, bool c, float[K,3] s) => (bool d, float[L,3] t, float[2,3] u) { d = Less(i, "
        "n) t = Concat<axis = 0>(s, x) u = Relu(x) }> }"));
    CHECK(type_text(*model.graph, "y") == "f32[8,3]");
    CHECK(type_text(*model.graph, "all") == "f32[3,2,3]");
    // Three trips of three ops, not the five that are stated.
    CHECK(model.graph->stated_work(op(*model.graph, "y"))->launches == 9);
  }
  SUBCASE("which is not known where their number is not") {
    onnx::ModelProto proto = parse_graph(kGraph);
    proto.mutable_graph()->mutable_node(0)->set_input(0, "");
    CHECK(type_text(*models.load(proto).graph, "y") == "f32[?,3]");
  }
  SUBCASE("nor where there are too many of them") {
    onnx::ModelProto proto = parse_graph(kGraph);
    proto.mutable_graph()->mutable_initializer(0)->set_int64_data(0, 1 << 30);
    CHECK(type_text(*models.load(proto).graph, "y") == "f32[?,3]");
  }
}

TEST_CASE("a list that a loop fills holds pieces of known sizes") {
  // torch.tensor_split at [1, 3], as PyTorch's exporter writes it.
  onnx::ModelProto proto = parse_graph(
      "g (float[2,7] x) => (a, b, c, n, j) <int64 m = {2}, int64[3] at = {0, 1, 3}, int64[1] one = "
      "{1}, int64[1] axis = {1}, int64[1] last = {3}, int64[1] end = {7}, int64 p0 = {0}, int64 p1 "
      "= {1}, int64 p2 = {-1}> { e = SequenceEmpty() s = Loop(m, , e) <body = b (int64 i, bool c, "
      "float q) => (bool d, float r) { d = Identity(c) iv = Reshape(i, one) "
      "from = Gather(at, iv) iw = Add(iv, one) to = Gather(at, iw) piece = Slice(x, from, to, "
      "axis) r = SequenceInsert(q, piece) }> rest = Slice(x, last, "
      "end, axis) t = SequenceInsert(s, rest) a = SequenceAt(t, p0) b = SequenceAt(t, p1) c = "
      "SequenceAt(t, p2) n = SequenceLength(t) j = ConcatFromSequence<axis = 1>(t) }");
  // The parser has no types of sequences.
  auto* const body = proto.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g();
  body->mutable_input(2)->clear_type();
  body->mutable_output(1)->clear_type();
  ModelFolder models;
  const LoadedModel model = models.load(proto);
  CHECK(type_text(*model.graph, "a") == "f32[2,1]");
  CHECK(type_text(*model.graph, "b") == "f32[2,2]");
  CHECK(type_text(*model.graph, "c") == "f32[2,4]");
  CHECK(type_text(*model.graph, "j") == "f32[2,7]");
  CHECK(model.graph->bytes(*find_tensor(*model.graph, "t")) == 2 * 7 * 4);
}

TEST_CASE("a Scan cuts its sequences and puts its results together") {
  ModelFolder models;
  const LoadedModel model = models.load(parse_graph(
      "g (float[3] s, float[7,3] x) => (y, z) { y, z = Scan<num_scan_inputs = 1, body = b "
      "(float[3] "
      "a, float[3] e) => (float[3] o, float[3] p) { o = Add(a, e) p = Identity(o) }>(s, x) }"));
  CHECK(type_text(*model.graph, "y") == "f32[3]");
  CHECK(type_text(*model.graph, "z") == "f32[7,3]");
  CHECK(model.graph->stated_work(op(*model.graph, "y"))->launches >= 7);
}

TEST_CASE("a product whose sides do not fit is the one that is refused") {
  // As an exporter writes it that forgot to transpose; the file says what it meant.
  ModelFolder models;
  onnx::ModelProto proto = parse_graph(
      "g (float[32,10] a, float[32,6] b, float[10,6] c) => (float[10,6] y) { p = Gemm(a, b) y = "
      "Sub(c, p) }");
  auto* const meant = proto.mutable_graph()->add_value_info();
  meant->CopyFrom(proto.graph().output(0));
  meant->set_name("p");
  const LoadedModel model = models.load(proto);
  CHECK(has_note(model, "refuses 1 node"));
  CHECK(has_note(model, "(Gemm): the shapes of its inputs do not fit together"));
  CHECK(type_text(*model.graph, "p") == "f32[10,6]");
}

TEST_CASE("a refusal where dimensions were taken as 1 names those to give") {
  // Halves an image and doubles it again: 1 becomes 2.
  ModelFolder models;
  const onnx::ModelProto proto = parse_graph(
      "g (float[1,2,h,8] x) => (y) <float[4] twice = {1.0, 1.0, 2.0, 2.0}> { half = "
      "MaxPool<kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1>(x) up = Resize(half, , "
      "twice) "
      "y = Concat<axis = 1>(up, x) }");
  const LoadedModel model = models.load(proto);
  CHECK(has_note(model,
                 "(Concat): the shapes of its inputs do not fit together; 1 may be too small "
                 "for dimensions that were not given: 'h'; give them with --dim, such as "
                 "--dim h=64"));
  LoadOptions options;
  options.dims = {{"h", 64}};
  CHECK_FALSE(has_note(models.load(proto, options), "refuses"));
}

TEST_CASE("sizes that are computed while the step runs are not known, and fit") {
  ModelFolder models;
  const LoadedModel model = models.load(parse_graph(
      "g (float[1,5,5] x, int64[2] image, int64[2] block, float[1,1,6,6] r, int64[4] sizes) => "
      "(float y, float z) { y = Col2Im(x, image, block) z = Resize(r, , , sizes) }",
      18));
  CHECK_FALSE(has_note(model, "fit together"));
  const LoadedModel known = models.load(parse_graph(
      "g (float[1,5,5] x) => (float y) { image = Constant<value = int64[2] {5, 5}>() block = "
      "Constant<value = int64[2] {1, 5}>() y = Col2Im(x, image, block) }",
      18));
  CHECK(type_text(*known.graph, "y") == "f32[1,1,5,5]");
}

TEST_CASE("volumes are sampled at the points of a grid, as images are") {
  ModelFolder models;
  const LoadedModel model = models.load(parse_graph(
      "g (float[2,3,4,5,6] x, float[2,7,8,9,3] p) => (float y) { y = GridSample(x, p) }", 20));
  CHECK(type_text(*model.graph, "y") == "f32[2,3,7,8,9]");
  CHECK_FALSE(has_note(model, "refuses"));
}

TEST_CASE("an operator set newer than libonnx loads, without a note where it changed nothing") {
  ModelFolder models;
  const LoadedModel model =
      models.load(parse_graph("g (float[2] x) => (float[2] y) { y = Selu(x) }", 99));
  CHECK_FALSE(has_note(model, "libonnx"));
  CHECK(type_text(*model.graph, "y") == "f32[2]");
}

TEST_CASE("sequences and optionals are of the type of what they hold, and as large") {
  ModelFolder models;
  const LoadedModel model = models.load(
      parse_graph("g (float[2] x) => (y) { s = SequenceConstruct(x, x) y = SequenceLength(s) }"));
  CHECK(type_text(*model.graph, "s") == "f32");
  CHECK(model.graph->bytes(*find_tensor(*model.graph, "s")) == 16);
  CHECK(type_text(*model.graph, "y") == "i64[]");
}

TEST_CASE("an optional input is as large as its tensor, and takes a shape") {
  onnx::ModelProto proto =
      parse_graph("g (float[n,4] o) => (y) { h = OptionalGetElement(o) y = Relu(h) }", 18);
  auto* const type = proto.mutable_graph()->mutable_input(0)->mutable_type();
  const onnx::TypeProto tensor = *type;
  type->mutable_optional_type()->mutable_elem_type()->CopyFrom(tensor);
  ModelFolder models;
  CHECK(type_text(*models.load(proto).graph, "o") == "f32[1,4]");
  const LoadedModel model = models.load(proto, {{}, {{"o", {3, 4}}}});
  CHECK(type_text(*model.graph, "o") == "f32[3,4]");
  CHECK(model.graph->bytes(*find_tensor(*model.graph, "o")) == 48);
  CHECK(type_text(*model.graph, "y") == "f32[3,4]");
}

TEST_CASE("operators on sequences know their elements") {
  struct SequenceCase {
    const char* body;    ///< of a graph with x, float[2,7], that gives y
    const char* result;  ///< type of y
  };
  static constexpr SequenceCase kCases[] = {
      {"<int64 n = {3}, int64 p = {2}> { s = SplitToSequence<axis = 1>(x, n) y = SequenceAt(s, p) "
       "}",
       "f32[2,1]"},
      {"<int64[2] n = {5, 2}, int64 p = {-1}> { s = SplitToSequence<axis = 1>(x, n) y = "
       "SequenceAt(s, p) }",
       "f32[2,2]"},
      {"<int64 p = {0}> { s = SplitToSequence<axis = 1, keepdims = 0>(x) y = SequenceAt(s, p) }",
       "f32[2]"},
      {"{ s = SplitToSequence<axis = 1, keepdims = 0>(x) y = ConcatFromSequence<axis = 0, new_axis "
       "= 1>(s) }",
       "f32[7,2]"},
      {"<int64 p = {0}> { z = Transpose(x) s = SequenceConstruct(x, z) t = SequenceErase(s, p) y = "
       "SequenceAt(t, p) }",
       "f32[7,2]"},
      // Which element it is depends on the step: what all of them have in common.
      {"<int64[2] n = {5, 2}> { s = SplitToSequence<axis = 1>(x, n) c = Cast<to = 7>(x) m = "
       "ReduceMax<keepdims = 0>(c) y = SequenceAt(s, m) }",
       "f32[2,?]"},
      {"{ o = Optional(x) y = OptionalGetElement(o) }", "f32[2,7]"},
      {"<int64[2] n = {5, 2}, int64 p = {1}> { s = SplitToSequence<axis = 1>(x, n) t = "
       "SequenceMap<body = b (float[2,K] e) => (float[A,B] f) { f = Transpose(e) }>(s) y = "
       "SequenceAt(t, p) }",
       "f32[2,2]"},
  };
  for (const SequenceCase& c : kCases) {
    CAPTURE(c.body);
    ModelFolder models;
    const LoadedModel model =
        models.load(parse_graph("g (float[2,7] x) => (y) " + std::string(c.body)));
    CHECK(type_text(*model.graph, "y") == c.result);
  }
}

TEST_CASE("texts have a size") {
  ModelFolder models;
  const LoadedModel model =
      models.load(parse_graph("g (string[3] x) => (y) { y = StringNormalizer<case_change_action = "
                              "\"LOWER\">(x) }"));
  CHECK(model.graph->bytes_known(*find_tensor(*model.graph, "x")));
  CHECK(type_text(*model.graph, "y") == "string[3]");
}

TEST_CASE("element types without a name in Berth have their size") {
  ModelFolder models;
  onnx::ModelProto proto = parse_graph("g (float[5] x) => (y) { y = Cast<to = 23>(x) }");
  const LoadedModel model = models.load(proto);
  const auto y = find_tensor(*model.graph, "y");
  CHECK(model.graph->bytes(*y) == 3);              // five values of 4 bits
  CHECK(model.graph->dtype(*y) != DType::opaque);  // which would have to stay on the host
}

TEST_CASE("a version of the format that is known has no note") {
  ModelFolder models;
  for (const std::int64_t version : {14, 99}) {
    onnx::ModelProto proto = parse_graph("g (float[5] x) => (y) { y = Relu(x) }");
    proto.set_ir_version(version);
    const LoadedModel model = models.load(proto);
    const bool said = std::any_of(model.notes.begin(), model.notes.end(), [](const auto& note) {
      return note.find("IR version") != std::string::npos;
    });
    CHECK(said == (version == 99));
  }
}

TEST_CASE("a sparse weight takes what the dense one takes that runtimes make of it") {
  ModelFolder models;
  onnx::ModelProto proto = parse_graph("g (float[2,1000] x) => (y) { y = MatMul(x, w) }");
  auto* const sparse = proto.mutable_graph()->add_sparse_initializer();
  sparse->mutable_values()->set_name("w");
  sparse->mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  sparse->mutable_values()->add_dims(10);
  sparse->mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  sparse->mutable_indices()->add_dims(10);
  sparse->add_dims(1000);
  sparse->add_dims(1000);
  const LoadedModel model = models.load(proto);
  CHECK(type_text(*model.graph, "y") == "f32[2,1000]");
  CHECK(model.graph->param_bytes(op(*model.graph, "y")) == 1000 * 1000 * 4);
}

/// NodeProto.metadata_props (9), which an older libonnx does not know.
void add_metadata(onnx::NodeProto& node, const std::string& key, const std::string& value) {
  onnx::StringStringEntryProto entry;
  entry.set_key(key);
  entry.set_value(value);
  node.GetReflection()->MutableUnknownFields(&node)->AddLengthDelimited(9,
                                                                        entry.SerializeAsString());
}

TEST_CASE(
    "modules that PyTorch's exporter notes at nodes are blocks, where weights have no names") {
  onnx::ModelProto model = parse_graph(R"(
      g (float[1, 64] x) => (float[1, 96] y) {
        a = MatMul(x, shared)
        b = Relu(a)
        c = MatMul(b, val_2)
        n = Mul(c, val_3)
        y = MatMul(n, val_4)
      })");
  // Two modules have one weight, and the file has one's name.
  *model.mutable_graph()->mutable_node(0)->mutable_input(1) = "lm_head.weight";
  add_weight(model, "lm_head.weight", {64, 64});
  add_weight(model, "val_2", {64, 64});
  add_weight(model, "val_3", {64});
  add_weight(model, "val_4", {64, 96});
  const char* const scopes[] = {
      "['', 'model', 'model.layers.0', 'model.layers.0.up', 'linear']",
      "['', 'model', 'model.layers.0', 'relu']",
      "['', 'model', 'model.layers.1', 'model.layers.1.up', 'linear_1']",
      "['', 'model', 'model.norm', 'mul']",
      "['', 'lm_head', 'linear_2']",
  };
  for (int i = 0; i < 5; ++i) {
    auto& node = *model.mutable_graph()->mutable_node(i);
    node.set_name("node_" + std::to_string(i));
    add_metadata(node, "namespace", "what nobody reads");
    if (i == 1) add_metadata(node, "berth.device", "gpu:1");
    add_metadata(node, "pkg.torch.onnx.name_scopes", scopes[i]);
    add_metadata(node, "pkg.torch.onnx.stack_trace", "File");
  }
  ModelFolder folder;
  const auto graph = folder.load(model).graph;
  const Blocks blocks(*graph);
  std::vector<std::string> modules;
  for (const Block& block : blocks.all()) {
    modules.insert(modules.end(), block.modules.begin(), block.modules.end());
  }
  std::sort(modules.begin(), modules.end());
  CHECK(modules ==
        std::vector<std::string>{"lm_head", "model.layers.0", "model.layers.1", "model.norm"});
  CHECK(blocks[blocks.of(op(*graph, "node_1"))].name == "model.layers.0");
  CHECK(blocks.layer_list() == "model.layers");
  CHECK(graph->requested_device(op(*graph, "node_1")) == "gpu:1");
}

}  // namespace
}  // namespace berth::test
