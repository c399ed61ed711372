// Functions: calls inlined, branches and loops of the functional kind.
#include <algorithm>

#include "berth/costs.h"
#include "berth/error.h"
#include "support/expect_error.h"
#include "text_graph.h"

namespace berth::tf_frontend {
namespace {

using test::expect_error;

/// A function of one float argument "a" and one result "r".
std::string function(const std::string& name, const std::string& nodes, const std::string& result) {
  return "function { signature { name: '" + name +
         "' input_arg { name: 'a' type_attr: 'T' } output_arg { name: 'r' type_attr: 'T' } attr { "
         "name: 'T' type: 'type' } } " +
         nodes + " ret { key: 'r' value: '" + result + "' } } ";
}

std::string body_node(const std::string& name, const std::string& op, const std::string& inputs,
                      const std::string& attributes = attr("T", "placeholder: 'T'")) {
  std::string text = node(name, op, inputs, attributes);
  return "node_def" + text.substr(4);
}

std::string library(const std::string& functions) {
  return "library { " + functions + " }\n";
}

std::string call(const std::string& name, const std::string& callee, const std::string& inputs) {
  return node(
      name, "PartitionedCall", inputs,
      attr("f", "func { name: '" + callee + "' attr { key: 'T' value { type: DT_FLOAT } } }") +
          attr("Tin", "list { type: DT_FLOAT }") + attr("Tout", "list { type: DT_FLOAT }"));
}

TEST_CASE("calls are inlined") {
  const std::string twice = function("twice", body_node("d", "Add", "a a"), "d:z:0");
  const std::string x = placeholder("x", {2, 3});
  SUBCASE("by attribute") {
    const LoadedModel model =
        load_bytes(x + call("c", "twice", "x") + node("y", "Relu", "c", kFloats) + library(twice));
    CHECK(model.graph->op_count() == 3);
    CHECK(model.graph->op_type(op_named(*model.graph, "c/d")) == "Add");
    CHECK(shape_of(*model.graph, "y") == std::vector<std::int64_t>{2, 3});
    const OpId y = op_named(*model.graph, "y");
    CHECK(model.graph->in_edges(y)[0].src == op_named(*model.graph, "c/d"));
  }
  SUBCASE("by the op's own type") {
    const LoadedModel model = load_bytes(x + node("c", "twice", "x", kFloats) + library(twice));
    CHECK(model.graph->dtype(model.graph->outputs(op_named(*model.graph, "c/d"))[0]) == DType::f32);
  }
  SUBCASE("in each other") {
    const std::string inner =
        body_node("i", "PartitionedCall", "a",
                  attr("f", "func { name: 'twice' attr { key: 'T' value { placeholder: 'T' } } }") +
                      attr("Tout", "list { type: DT_FLOAT }"));
    const std::string outer =
        function("outer", inner + body_node("s", "Square", "i:output:0"), "s:y:0");
    const LoadedModel model =
        load_bytes(x + call("c", "outer", "x") + call("e", "outer", "c") + library(twice + outer));
    CHECK(model.graph->op_count() == 5);
    CHECK(shape_of(*model.graph, "e/i/d") == std::vector<std::int64_t>{2, 3});
  }
  SUBCASE("and what waits for a call waits for its body") {
    const LoadedModel model = load_bytes(x + node("first", "Relu", "x", kFloats) +
                                         node("c", "twice", "x ^first", kFloats) +
                                         node("last", "NoOp", "^c") + library(twice));
    const Graph& graph = *model.graph;
    const OpId d = op_named(graph, "c/d");
    CHECK(graph.in_edges(op_named(graph, "last"))[0].src == d);
    // The call's own name carries what the body waits for.
    bool waits = false;
    for (const Edge& edge : graph.in_edges(d)) {
      waits = waits || (edge.tensor == kNoTensor && graph.op_name(edge.src) == "c");
    }
    CHECK(waits);
  }
  SUBCASE("and devices of the call hold for the body") {
    const std::string on = "device: '/device:GPU:1'";
    const LoadedModel model =
        load_bytes(x + node("c", "twice", "x", kFloats + on) + library(twice));
    CHECK(model.graph->requested_device(op_named(*model.graph, "c/d")) == "/device:GPU:1");
  }
}

TEST_CASE("functions that cannot be inlined are refused by name") {
  const std::string x = placeholder("x", {2});
  SUBCASE("one that calls itself") {
    const std::string self = function("f", body_node("n", "f", "a"), "n:r:0");
    expect_error(ErrorCode::invalid_graph, {"'f'", "calls itself"}, [&] {
      static_cast<void>(load_bytes(x + node("c", "f", "x", kFloats) + library(self)));
    });
  }
  SUBCASE("two that call each other") {
    const std::string both = function("f", body_node("n", "g", "a"), "n:r:0") +
                             function("g", body_node("n", "f", "a"), "n:r:0");
    expect_error(ErrorCode::invalid_graph, {"calls itself"}, [&] {
      static_cast<void>(load_bytes(x + node("c", "f", "x", kFloats) + library(both)));
    });
  }
  SUBCASE("calls that double at every level") {
    std::string functions;
    for (int i = 0; i < 40; ++i) {
      const std::string next = "f" + std::to_string(i + 1);
      functions += function("f" + std::to_string(i),
                            body_node("m", next, "a") + body_node("n", next, "m:r:0"), "n:r:0");
    }
    functions += function("f40", body_node("n", "Relu", "a"), "n:activations:0");
    expect_error(ErrorCode::invalid_graph, {"million"}, [&] {
      static_cast<void>(load_bytes(x + node("c", "f0", "x", kFloats) + library(functions)));
    });
  }
  SUBCASE("one with too few inputs") {
    const std::string f = function("f", body_node("n", "Relu", "a"), "n:activations:0");
    expect_error(ErrorCode::invalid_graph, {"'c'", "'f'"},
                 [&] { static_cast<void>(load_bytes(node("c", "f", "", kFloats) + library(f))); });
  }
  SUBCASE("a loop that runs itself") {
    const std::string f =
        function("f",
                 body_node("n", "While", "a",
                           attr("body", "func { name: 'f' }") + attr("cond", "func { name: 'f' }") +
                               attr("T", "list { type: DT_FLOAT }")),
                 "n:output:0");
    const std::string text = x + node("c", "f", "x", kFloats) + library(f);
    expect_error(ErrorCode::invalid_graph, {"'f'", "nest deeper"},
                 [&] { static_cast<void>(load_bytes(text)); });
  }
  SUBCASE("a result that nothing gives") {
    const std::string f = function("f", body_node("n", "Relu", "a"), "m:y:0");
    expect_error(ErrorCode::invalid_graph, {"'f'", "'m:y:0'"}, [&] {
      static_cast<void>(load_bytes(x + node("c", "f", "x", kFloats) + library(f)));
    });
  }
  SUBCASE("one that the file lacks") {
    const std::string call =
        x + node("c", "PartitionedCall", "x",
                 attr("f", "func { name: 'g' }") + attr("Tin", "list { type: DT_FLOAT }") +
                     attr("Tout", "list { type: DT_FLOAT }"));
    const std::string other = function("f", body_node("n", "Relu", "a"), "n:activations:0");
    for (const std::string& functions : {std::string(), library(other)}) {
      expect_error(ErrorCode::invalid_graph, {"'c'", "'g'", "not in the library"},
                   [&] { static_cast<void>(load_bytes(call + functions)); });
    }
  }
  SUBCASE("two of one name") {
    const std::string f = function("f", body_node("n", "Relu", "a"), "n:activations:0");
    expect_error(ErrorCode::invalid_graph, {"'f'", "two functions"},
                 [&] { static_cast<void>(load_bytes(x + library(f + f))); });
  }
}

std::string named(const std::string& key, const std::string& callee) {
  return attr(key, "func { name: '" + callee + "' attr { key: 'T' value { type: DT_FLOAT } } }");
}

TEST_CASE("a branch costs what its larger branch does") {
  const std::string f =
      function("small", body_node("n", "Relu", "a"), "n:activations:0") +
      function("large",
               body_node("m", "MatMul", "a a",
                         attr("T", "placeholder: 'T'") + attr("transpose_b", "b: true")),
               "m:product:0");
  const LoadedModel model =
      load_bytes(placeholder("p", {}) + placeholder("x", {64, 128}) +
                 node("choice", "StatelessIf", "p x",
                      named("then_branch", "small") + named("else_branch", "large") +
                          attr("Tout", "list { type: DT_FLOAT }")) +
                 library(f));
  const OpId op = op_named(*model.graph, "choice");
  REQUIRE(model.graph->stated_work(op).has_value());
  CHECK(model.graph->stated_work(op)->flops >= 2.0 * 64 * 64 * 128);
  CHECK(shape_of(*model.graph, "choice") == std::vector<std::int64_t>{64, 64});
}

TEST_CASE("weights of branches reside, both, and what depends on them alone is computed once") {
  const auto branch = [](const std::string& name, int columns) {
    const std::string weight = body_node(
        "w", "Const", "",
        attr("dtype", "type: DT_FLOAT") +
            attr("value", "tensor { dtype: DT_FLOAT tensor_shape { dim { size: " +
                              std::to_string(columns) + " } dim { size: 128 } } float_val: 0.5 }"));
    const std::string order =
        body_node("p", "Const", "",
                  attr("dtype", "type: DT_INT32") +
                      attr("value",
                           "tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } "
                           "int_val: 1 int_val: 0 }"));
    return function(name,
                    weight + order +
                        body_node("t", "Transpose", "w:output:0 p:output:0",
                                  kFloats + attr("Tperm", "type: DT_INT32")) +
                        body_node("m", "MatMul", "a t:y:0", kFloats),
                    "m:product:0");
  };
  const std::string text = placeholder("p", {}) + placeholder("x", {8, 128}) +
                           node("choice", "StatelessIf", "p x",
                                named("then_branch", "narrow") + named("else_branch", "wide") +
                                    attr("Tout", "list { type: DT_FLOAT }")) +
                           library(branch("narrow", 64) + branch("wide", 96));
  LoadOptions unfolded;
  unfolded.fold = false;
  const LoadedModel folded = load_bytes(text), plain = load_bytes(text, unfolded);
  const OpId op = op_named(*folded.graph, "choice");
  constexpr double kMoved = 2 * 96 * 128 * 4 + 2 * 4;  // bytes, by the wider branch's Transpose
  CHECK(folded.graph->param_bytes(op) == (64 + 96) * 128 * 4);
  CHECK(plain.graph->stated_work(op)->bytes - folded.graph->stated_work(op)->bytes == kMoved);
  CHECK(plain.graph->stated_work(op)->flops == folded.graph->stated_work(op)->flops);
}

TEST_CASE("functions that XLA is to compile whole are noted") {
  std::string f = function("f", body_node("n", "Relu", "a"), "n:activations:0");
  f.insert(f.rfind('}'), attr("_XlaMustCompile", "b: true"));
  const LoadedModel model = load_bytes(placeholder("x", {2}) + call("c", "f", "x") + library(f));
  REQUIRE(model.notes.size() == 1);
  CHECK(model.notes[0].find("'f'") != std::string::npos);
  CHECK(model.notes[0].find("jit_compile") != std::string::npos);
}

TEST_CASE("the gradient of a function is shaped as its arguments and works three times as hard") {
  const std::string f = function("f", body_node("m", "MatMul", "a a"), "m:product:0");
  const auto load = [&](const std::string& op) {
    return load_bytes(placeholder("x", {32, 32}) + op + library(f));
  };
  const LoadedModel once = load(call("y", "f", "x"));
  const LoadedModel gradient = load(node(
      "y", "SymbolicGradient", "x x", named("f", "f") + attr("Tout", "list { type: DT_FLOAT }")));
  const OpId op = op_named(*gradient.graph, "y");
  CHECK(shape_of(*gradient.graph, "y") == std::vector<std::int64_t>{32, 32});
  CHECK(gradient.graph->stated_work(op)->flops ==
        3 * op_work(*once.graph, op_named(*once.graph, "y/m")).flops);
}

TEST_CASE("an error in a body names the file and the function") {
  const std::string square =
      function("square",
               body_node("m", "MatMul", "a a",
                         attr("T", "placeholder: 'T'") + attr("transpose_b", "b: true")),
               "m:product:0");
  const std::string text = placeholder("p", {}) + placeholder("x", {2147483647, 1}) +
                           node("choice", "StatelessIf", "p x",
                                named("then_branch", "square") + named("else_branch", "square") +
                                    attr("Tout", "list { type: DT_FLOAT }")) +
                           library(square);
  expect_error(ErrorCode::invalid_graph, {"graph.pbtxt", "'square'", "'m'"},
               [&] { static_cast<void>(load_bytes(text)); });
}

TEST_CASE("a functional loop is one op; its rounds can be said by its name") {
  const std::string f = function("body", body_node("n", "MatMul", "a a"), "n:product:0") +
                        function("cond", body_node("n", "Relu", "a"), "n:activations:0");
  const std::string text =
      placeholder("x", {32, 32}) +
      node("loop", "While", "x",
           named("body", "body") + named("cond", "cond") + attr("T", "list { type: DT_FLOAT }")) +
      library(f);
  const auto flops = [&](const LoadOptions& options) {
    const LoadedModel model = load_bytes(text, options);
    CHECK(model.graph->op_count() == 2);
    CHECK(shape_of(*model.graph, "loop") == std::vector<std::int64_t>{32, 32});
    return model.graph->stated_work(op_named(*model.graph, "loop"))->flops;
  };
  const double once = flops({});
  CHECK(once >= 2.0 * 32 * 32 * 32);
  LoadOptions options;
  options.dims = {{"loop", 10}};
  CHECK(flops(options) == doctest::Approx(10 * once));
}

TEST_CASE("rounds of a functional loop are counted where its condition and its body tell") {
  // i, n, x of the loop:  while (i < n) { i += 2; x = x @ x }
  const auto scalar = [](const std::string& name) {
    return "input_arg { name: '" + name + "' type: DT_INT32 } ";
  };
  const std::string arguments =
      scalar("i") + scalar("n") + "input_arg { name: 'x' type: DT_FLOAT } ";
  const std::string ints = attr("T", "type: DT_INT32");
  const auto body_of = [&](const std::string& n) {
    std::string two = integers("two", {2}, true);
    two.replace(0, two.find('{'), "node_def ");
    return "function { signature { name: 'body' " + arguments +
           "output_arg { name: 'ri' type: DT_INT32 } output_arg { name: 'rn' type: DT_INT32 } "
           "output_arg { name: 'rx' type: DT_FLOAT } } " +
           two + "node_def { name: 'add' op: 'AddV2' input: 'i' input: 'two:output:0' " + ints +
           "} node_def { name: 'mul' op: 'MatMul' input: 'x' input: 'x' " + kFloats +
           "} ret { key: 'ri' value: 'add:z:0' } ret { key: 'rn' value: '" + n +
           "' } ret { key: 'rx' value: 'mul:product:0' } } ";
  };
  const std::string condition =
      "function { signature { name: 'cond' " + arguments +
      "output_arg { name: 'r' type: DT_BOOL } } node_def { name: 'less' op: 'Less' input: 'i' "
      "input: 'n' " +
      ints + "} ret { key: 'r' value: 'less:z:0' } } ";
  const auto flops = [&](const std::string& n) {
    const LoadedModel model = load_bytes(
        integers("start", {1}, true) + integers("limit", {8}, true) + placeholder("x", {16, 16}) +
        node("loop", "StatelessWhile", "start limit x",
             attr("body", "func { name: 'body' }") + attr("cond", "func { name: 'cond' }") +
                 attr("T", "list { type: DT_INT32 type: DT_INT32 type: DT_FLOAT }")) +
        "library { " + body_of(n) + condition + " }");
    return model.graph->stated_work(op_named(*model.graph, "loop"))->flops;
  };
  constexpr double kRound = 2.0 * 16 * 16 * 16;
  CHECK(flops("n") == doctest::Approx(4 * kRound).epsilon(0.02));    // 1, 3, 5, 7
  CHECK(flops("add:z:0") == doctest::Approx(kRound).epsilon(0.02));  // a limit that moves
}

TEST_CASE("a functional loop's state grows, and its work with it, round by round") {
  // i, x, v of the loop:  while (i < limit) { i += 1; v = concat(v @ x, x) }
  const std::string arguments =
      "input_arg { name: 'i' type: DT_INT32 } input_arg { name: 'x' type: DT_FLOAT } input_arg { "
      "name: 'v' type: DT_FLOAT } ";
  const std::string ints = attr("T", "type: DT_INT32");
  const auto inside = [](const std::string& text) { return "node_def" + text.substr(4); };
  const std::string body =
      "function { signature { name: 'body' " + arguments +
      "output_arg { name: 'ri' type: DT_INT32 } output_arg { name: 'rx' type: DT_FLOAT } "
      "output_arg { name: 'rv' type: DT_FLOAT } } " +
      inside(integers("one", {1}, true)) + inside(integers("axis", {0}, true)) +
      inside(node("add", "AddV2", "i one:output:0", ints)) +
      inside(node("square", "MatMul", "v x", kFloats)) +
      inside(node("more", "ConcatV2", "square:product:0 x axis:output:0",
                  kFloats + attr("N", "i: 2") + attr("Tidx", "type: DT_INT32"))) +
      "ret { key: 'ri' value: 'add:z:0' } ret { key: 'rx' value: 'x' } ret { key: 'rv' value: "
      "'more:output:0' } } ";
  const auto load = [&](int limit) {
    const std::string condition = "function { signature { name: 'cond' " + arguments +
                                  "output_arg { name: 'r' type: DT_BOOL } } " +
                                  inside(integers("limit", {limit}, true)) +
                                  inside(node("less", "Less", "i limit:output:0", ints)) +
                                  "ret { key: 'r' value: 'less:z:0' } } ";
    return load_bytes(
        integers("start", {0}, true) + placeholder("x", {16, 16}) +
        node("loop", "StatelessWhile", "start x x",
             attr("body", "func { name: 'body' }") + attr("cond", "func { name: 'cond' }") +
                 attr("T", "list { type: DT_INT32 type: DT_FLOAT type: DT_FLOAT }")) +
        node("y", "Relu", "loop:2", kFloats) + "library { " + body + condition + " }");
  };
  constexpr double kRound = 2.0 * 16 * 16 * 16;
  for (const int rounds : {1, 2, 10}) {
    CAPTURE(rounds);
    const LoadedModel model = load(rounds);
    // The product that is concatenated with x is no result: it needs room beside them.
    CHECK(model.graph->stated_work(op_named(*model.graph, "loop"))->workspace_bytes >=
          16 * rounds * 16 * 4);
    CHECK(shape_of(*model.graph, "y") == std::vector<std::int64_t>{16 * (rounds + 1), 16});
    CHECK(model.graph->stated_work(op_named(*model.graph, "loop"))->flops ==
          doctest::Approx(rounds * (rounds + 1) / 2 * kRound).epsilon(0.03));
  }
}

TEST_CASE("rounds are counted by a step that is an argument, as AutoGraph writes tf.range") {
  // i, n, by, x of the loop:  while (i < n) { i += by; x = x @ x }
  const auto scalar = [](const std::string& name) {
    return "input_arg { name: '" + name + "' type: DT_INT32 } ";
  };
  const std::string arguments =
      scalar("i") + scalar("n") + scalar("by") + "input_arg { name: 'x' type: DT_FLOAT } ";
  const std::string ints = attr("T", "type: DT_INT32");
  const auto result = [](const std::string& name, const std::string& type) {
    return "output_arg { name: '" + name + "' type: " + type + " } ";
  };
  const auto body_of = [&](const std::string& by) {
    return "function { signature { name: 'body' " + arguments + result("ri", "DT_INT32") +
           result("rn", "DT_INT32") + result("rb", "DT_INT32") + result("rx", "DT_FLOAT") +
           "} node_def { name: 'add' op: 'AddV2' input: 'i' input: 'by' " + ints +
           "} node_def { name: 'mul' op: 'MatMul' input: 'x' input: 'x' " + kFloats +
           "} ret { key: 'ri' value: 'add:z:0' } ret { key: 'rn' value: 'n' } ret { key: 'rb' "
           "value: '" +
           by + "' } ret { key: 'rx' value: 'mul:product:0' } } ";
  };
  const std::string condition = "function { signature { name: 'cond' " + arguments +
                                result("r", "DT_BOOL") +
                                "} node_def { name: 'less' op: 'Less' input: 'i' input: 'n' " +
                                ints + "} ret { key: 'r' value: 'less:z:0' } } ";
  const auto flops = [&](const std::string& by) {
    const LoadedModel model = load_bytes(
        integers("start", {1}, true) + integers("limit", {8}, true) + integers("delta", {3}, true) +
        placeholder("x", {16, 16}) +
        node(
            "loop", "StatelessWhile", "start limit delta x",
            attr("body", "func { name: 'body' }") + attr("cond", "func { name: 'cond' }") +
                attr("T", "list { type: DT_INT32 type: DT_INT32 type: DT_INT32 type: DT_FLOAT }")) +
        "library { " + body_of(by) + condition + " }");
    return model.graph->stated_work(op_named(*model.graph, "loop"))->flops;
  };
  constexpr double kRound = 2.0 * 16 * 16 * 16;
  CHECK(flops("by") == doctest::Approx(3 * kRound).epsilon(0.02));   // 1, 4, 7
  CHECK(flops("add:z:0") == doctest::Approx(kRound).epsilon(0.02));  // a step that changes
}

TEST_CASE("what a loop's rounds hand on as it is keeps its content in them") {
  // i, size, x of the loop:  while (i < 4) { i += 1; x += sum(fill(size, 1)) }, as a tile's size is
  // captured.
  const auto scalar = [](const std::string& kind, const std::string& name) {
    return kind + " { name: '" + name + "' type: DT_INT32 } ";
  };
  const auto argument = [&](const std::string& name) { return scalar("input_arg", name); };
  const auto body_node_of = [](std::string text) { return "node_def" + text.substr(4); };
  const std::string ints = attr("T", "type: DT_INT32");
  const std::string arguments =
      argument("i") + argument("size") + "input_arg { name: 'x' type: DT_FLOAT } ";
  const auto body_of = [&](const std::string& size) {
    return "function { signature { name: 'body' " + arguments + scalar("output_arg", "ri") +
           scalar("output_arg", "rs") + "output_arg { name: 'rx' type: DT_FLOAT } } " +
           body_node_of(integers("one", {1}, true)) +
           body_node_of(node("add", "AddV2", "i one:output:0", ints)) +
           body_node_of(node("more", "AddV2", "size one:output:0", ints)) +
           body_node_of(node("dims", "Pack", "size", ints + attr("N", "i: 1"))) +
           body_node_of(node(
               "value", "Const", "",
               attr("dtype", "type: DT_FLOAT") + attr("value",
                                                      "tensor { dtype: DT_FLOAT tensor_shape { } "
                                                      "float_val: 1 }"))) +
           body_node_of(node("fill", "Fill", "dims:output:0 value:output:0", kFloats)) +
           body_node_of(node("exp", "Exp", "fill:output:0", kFloats)) +
           body_node_of(integers("axis", {0})) +
           body_node_of(node("sum", "Sum", "exp:y:0 axis:output:0", kFloats)) +
           body_node_of(node("rx", "AddV2", "x sum:output:0", kFloats)) +
           "ret { key: 'ri' value: 'add:z:0' } ret { key: 'rs' value: '" + size +
           "' } ret { key: 'rx' value: 'rx:z:0' } } ";
  };
  const std::string condition = "function { signature { name: 'cond' " + arguments +
                                "output_arg { name: 'r' type: DT_BOOL } } " +
                                body_node_of(integers("four", {4}, true)) +
                                body_node_of(node("less", "Less", "i four:output:0", ints)) +
                                "ret { key: 'r' value: 'less:z:0' } } ";
  const auto flops = [&](const std::string& size) {
    const LoadedModel model = load_bytes(
        integers("start", {0}, true) + integers("wide", {1000}, true) + placeholder("x", {}) +
        node("loop", "StatelessWhile", "start wide x",
             attr("body", "func { name: 'body' }") + attr("cond", "func { name: 'cond' }") +
                 attr("T", "list { type: DT_INT32 type: DT_INT32 type: DT_FLOAT }")) +
        "library { " + body_of(size) + condition + " }");
    return model.graph->stated_work(op_named(*model.graph, "loop"))->flops;
  };
  CHECK(flops("size") > 4 * 1000);
  CHECK(flops("more:z:0") > flops("size"));  // one more in every round
}

TEST_CASE("functions of an input pipeline are said not to be counted") {
  const LoadedModel model =
      load_bytes(placeholder("x", {2, 3}) + node("data", "TensorSliceDataset", "x") +
                 node("sum", "ReduceDataset", "data", attr("f", "func { name: 'twice' }")) +
                 library(function("twice", body_node("d", "Add", "a a"), "d:z:0")));
  const bool noted = std::any_of(model.notes.begin(), model.notes.end(), [](const std::string& n) {
    return n.find("input pipeline is not counted: 'ReduceDataset'") != n.npos;
  });
  CHECK(noted);
}

}  // namespace
}  // namespace berth::tf_frontend
