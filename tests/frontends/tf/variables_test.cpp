// Variables: their bytes, and the ops that must stay with them.
#include "support/data.h"
#include "text_graph.h"

namespace berth::tf_frontend {
namespace {

const std::string kMatrix = attr("dtype", "type: DT_FLOAT") + shape("shape", {10, 10});
constexpr std::int64_t kBytes = 10 * 10 * 4;

const std::string& class_of(const Graph& graph, const std::string& name) {
  return graph.colocation(op_named(graph, name));
}

TEST_CASE("reference variables") {
  const std::string text =
      placeholder("g", {10, 10}) + node("w", "VariableV2", "", kMatrix) +
      node("m", "VariableV2", "", kMatrix + attr("_class", "list { s: 'loc:@w' }")) +
      node("read", "Identity", "w", kFloats + attr("_class", "list { s: 'loc:@w' }")) +
      node("use", "MatMul", "g read", kFloats) + integers("rate", {1}, true) +
      node("momentum", "Cast", "rate",
           attr("SrcT", "type: DT_INT32") + attr("DstT", "type: DT_FLOAT")) +
      node("update", "ApplyMomentum", "w m momentum use momentum", kFloats);
  const LoadedModel model = load_bytes(text);
  const Graph& graph = *model.graph;
  SUBCASE("carry their bytes, slots too") {
    CHECK(graph.own_param_bytes(op_named(graph, "w")) == kBytes);
    CHECK(graph.own_param_bytes(op_named(graph, "m")) == kBytes);
    CHECK(graph.total_param_bytes() == 2 * kBytes);
  }
  SUBCASE("stay with what reads and updates them") {
    for (const char* name : {"w", "m", "read", "update"}) CHECK(class_of(graph, name) == "w");
    CHECK(class_of(graph, "use").empty());
    CHECK(class_of(graph, "g").empty());
  }
  SUBCASE("occupy nothing more by being referred to") {
    for (const char* name : {"w", "m", "update"}) {
      const TensorId tensor = graph.outputs(op_named(graph, name))[0];
      CHECK(graph.bytes_known(tensor));
      CHECK(graph.bytes(tensor) == 0);
      CHECK(shape_of(graph, name) == std::vector<std::int64_t>{10, 10});
    }
    CHECK(graph.bytes(graph.outputs(op_named(graph, "read"))[0]) == kBytes);
  }
}

TEST_CASE("resource variables") {
  const std::string handle = attr("dtype", "type: DT_FLOAT");
  const std::string text = placeholder("g", {10, 10}) + node("w", "VarHandleOp", "", kMatrix) +
                           node("v", "VarHandleOp", "", kMatrix) +
                           node("read", "ReadVariableOp", "w", handle) +
                           node("same", "Identity", "w", attr("T", "type: DT_RESOURCE")) +
                           node("again", "ReadVariableOp", "same", handle) +
                           node("grad", "MatMul", "read again", kFloats) +
                           node("update", "ResourceApplyMomentum", "w v g grad g", kFloats);
  LoadOptions options;
  options.fetches = {"update", "grad"};
  const LoadedModel model = load_bytes(text, options);
  const Graph& graph = *model.graph;
  CHECK(graph.total_param_bytes() == 2 * kBytes);
  CHECK(shape_of(graph, "read") == std::vector<std::int64_t>{10, 10});
  CHECK(shape_of(graph, "again") == std::vector<std::int64_t>{10, 10});
  for (const char* name : {"w", "v", "read", "same", "again", "update"}) {
    CHECK(class_of(graph, name) == "w");
  }
  CHECK(class_of(graph, "grad").empty());
}

TEST_CASE(
    "a variable without a shape has that of what is assigned to it, in the step or before it") {
  const std::string open =
      attr("dtype", "type: DT_FLOAT") + attr("shape", "shape { unknown_rank: true }");
  const std::string values = integers("size", {10, 10}) +
                             node("zero", "Cast", "none",
                                  attr("SrcT", "type: DT_INT32") + attr("DstT", "type: DT_FLOAT")) +
                             integers("none", {0}, true) +
                             node("ones", "Fill", "size zero", kFloats);
  const std::string unchecked = kFloats + attr("validate_shape", "b: false");
  const auto bytes_of = [&](const std::string& text) {
    LoadOptions options;
    options.fetches = {"y"};
    const LoadedModel model = load_bytes(placeholder("x", {10, 10}) + values + text, options);
    CHECK(shape_of(*model.graph, "y") == std::vector<std::int64_t>{10, 10});
    return model.graph->total_param_bytes();
  };
  const std::string by_reference = node("w", "VariableV2", "", open) +
                                   node("read", "Identity", "w", kFloats) +
                                   node("y", "MatMul", "x read", kFloats);
  CHECK(bytes_of(by_reference + node("assign", "Assign", "w ones", unchecked)) == kBytes);
  const std::string by_handle =
      node("w", "VarHandleOp", "", open) +
      node("read", "ReadVariableOp", "w", attr("dtype", "type: DT_FLOAT")) +
      node("y", "MatMul", "x read", kFloats);
  CHECK(bytes_of(by_handle + node("assign", "AssignVariableOp", "w ones",
                                  attr("dtype", "type: DT_FLOAT"))) == kBytes);
  // An average begins as its variable.
  CHECK(bytes_of(node("v", "VariableV2", "", open) + node("begin", "Assign", "v ones", unchecked) +
                 node("first", "Identity", "v", kFloats) + by_reference +
                 node("assign", "Assign", "w first", unchecked)) == kBytes);
}

TEST_CASE("a variable whose assignments differ has the dimensions that they share") {
  const std::string open =
      attr("dtype", "type: DT_FLOAT") + attr("shape", "shape { unknown_rank: true }");
  const std::string text =
      placeholder("a", {10, 4}) + placeholder("b", {20, 4}) + node("w", "VariableV2", "", open) +
      node("one", "Assign", "w a", kFloats) + node("two", "Assign", "w b", kFloats) +
      node("y", "Identity", "w", kFloats);
  LoadOptions options;
  options.fetches = {"y"};
  CHECK(shape_of(*load_bytes(text, options).graph, "y") ==
        std::vector<std::int64_t>{kUnknownDim, 4});
}

TEST_CASE("Adam's slots count and stay with their variable, by reference and by resource") {
  const std::string scalar = attr("dtype", "type: DT_FLOAT") + shape("shape", {});
  const auto variables = [&](const std::string& op) {
    std::string text = placeholder("g", {10, 10});
    for (const char* name : {"w", "m", "v"}) text += node(name, op, "", kMatrix);
    return text + node("b1", op, "", scalar) + placeholder("p", {});
  };
  SUBCASE("by reference") {
    const LoadedModel model = load_bytes(
        variables("VariableV2") + node("update", "ApplyAdam", "w m v b1 b1 p p p p g", kFloats));
    const Graph& graph = *model.graph;
    CHECK(graph.total_param_bytes() == 3 * kBytes + 4);
    for (const char* name : {"w", "m", "v", "b1", "update"}) {
      CAPTURE(name);
      CHECK(class_of(graph, name) == "w");
    }
    CHECK(class_of(graph, "p").empty());
  }
  SUBCASE("by resource") {
    const LoadedModel model =
        load_bytes(variables("VarHandleOp") +
                   node("beta", "ReadVariableOp", "b1", attr("dtype", "type: DT_FLOAT")) +
                   node("update", "ResourceApplyAdam", "w m v beta beta p p p p g", kFloats));
    const Graph& graph = *model.graph;
    CHECK(graph.total_param_bytes() == 3 * kBytes + 4);
    for (const char* name : {"w", "m", "v", "update"}) CHECK(class_of(graph, name) == "w");
    // What is only read may be sent.
    CHECK(class_of(graph, "beta") == "b1");
  }
}

TEST_CASE("the example graphs have the variables of their optimizers, beside their updates") {
  struct Example {
    const char* file;
    std::int64_t all_bytes;  // as examples/models/tf/README.md says
    const char* update;
    std::size_t variables;  // that an update takes first: the trained one, then its slots
  };
  constexpr Example kExamples[] = {
      {"nmt_tiny.pb", 51'856, "ApplyGradientDescent", 1},
      {"inception_v3_b32.pb.gz", 434'480'432, "ApplyAdam", 3},
      {"nasnet_b64.pb.gz", 92'590'656, "ApplyRMSProp", 3},
  };
  for (const Example& example : kExamples) {
    CAPTURE(example.file);
    TensorFlowFrontend frontend{Options{}};
    const auto graph =
        frontend.load(test::source_path("examples/models/tf") / example.file, {}).graph;
    CHECK(graph->total_param_bytes() == example.all_bytes);
    int updates = 0;
    for (OpId op = 0; op < graph->op_count(); ++op) {
      if (graph->op_type(op) != example.update) continue;
      ++updates;
      const OpId trained = graph->producer(graph->inputs(op)[0]);
      REQUIRE(!graph->colocation(op).empty());
      for (std::size_t i = 0; i < example.variables; ++i) {
        const OpId variable = graph->producer(graph->inputs(op)[i]);
        REQUIRE(graph->colocation(variable) == graph->colocation(op));
        REQUIRE(graph->own_param_bytes(variable) == graph->own_param_bytes(trained));
      }
    }
    CHECK(updates > 0);
  }
}

TEST_CASE("co-location is transitive, also through a node that is left out") {
  const auto beside = [](const std::string& name) {
    return attr("_class", "list { s: 'loc:@" + name + "' }");
  };
  const std::string text =
      placeholder("x", {2}) + node("a", "Relu", "x", kFloats) +
      node("b", "Tanh", "x", kFloats + beside("a")) + node("c", "Exp", "x", kFloats + beside("b")) +
      node("gone", "Sin", "x", kFloats) + node("d", "Abs", "x", kFloats + beside("gone")) +
      node("e", "Neg", "x", kFloats + beside("gone"));
  LoadOptions options;
  options.fetches = {"a", "b", "c", "d", "e"};
  const LoadedModel model = load_bytes(text, options);
  const Graph& graph = *model.graph;
  for (const char* name : {"a", "b", "c"}) CHECK(class_of(graph, name) == "a");
  for (const char* name : {"d", "e"}) CHECK(class_of(graph, name) == "d");
  CHECK(class_of(graph, "x").empty());
}

TEST_CASE("large constants are weights of what reads them, small ones ops") {
  const auto zeros = [](const std::string& name, int size) {
    return node(name, "Const", "",
                attr("dtype", "type: DT_FLOAT") +
                    attr("value", "tensor { dtype: DT_FLOAT tensor_shape { dim { size: " +
                                      std::to_string(size) + " } } }"));
  };
  const LoadedModel model =
      load_bytes(zeros("large", 256) + zeros("small", 255) + placeholder("x", {1}) +
                 node("a", "Add", "x large", kFloats) + node("b", "Add", "x small", kFloats));
  const Graph& graph = *model.graph;
  CHECK_FALSE(graph.find_op("large").has_value());
  CHECK(graph.find_op("small").has_value());
  CHECK(graph.own_param_bytes(op_named(graph, "a")) == 1024);
  CHECK(shape_of(graph, "a") == std::vector<std::int64_t>{256});
}

}  // namespace
}  // namespace berth::tf_frontend
