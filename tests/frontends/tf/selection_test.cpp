// What of a file is loaded.
#include "berth/error.h"
#include "support/expect_error.h"
#include "text_graph.h"

namespace berth::tf_frontend {
namespace {

using test::expect_error;

const std::string kVariable = attr("dtype", "type: DT_FLOAT") + shape("shape", {4, 4});
// A variable with its initialiser and saver, one layer, its gradient's update, a summary.
const std::string kTraining =
    placeholder("x", {8, 4}) + node("w", "VariableV2", "", kVariable) +
    node("w/zeros", "ZerosLike", "w/read", kFloats) +
    node("w/Assign", "Assign", "w w/zeros", kFloats + attr("_class", "list { s: 'loc:@w' }")) +
    node("w/read", "Identity", "w", kFloats + attr("_class", "list { s: 'loc:@w' }")) +
    node("y", "MatMul", "x w/read", kFloats) +
    node("grad", "MatMul", "x y", kFloats + attr("transpose_a", "b: true")) +
    node("rate", "Const", "",
         attr("dtype", "type: DT_FLOAT") +
             attr("value", "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0.1 }")) +
    node("update", "ApplyGradientDescent", "w rate grad",
         kFloats + attr("_class", "list { s: 'loc:@w' }")) +
    node("train", "NoOp", "^update") + node("init", "NoOp", "^w/Assign") +
    node("loss", "HistogramSummary", "rate y") +
    node("save/name", "Const", "",
         attr("dtype", "type: DT_STRING") +
             attr("value", "tensor { dtype: DT_STRING tensor_shape { } string_val: 'm' }")) +
    node("save", "SaveV2", "save/name save/name save/name w");

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> list;
  for (OpId op = 0; op < graph.op_count(); ++op) list.push_back(graph.op_name(op));
  return list;
}

TEST_CASE("by default the training step is loaded") {
  const std::vector<std::string> step = {"x",    "w",    "w/read", "y",
                                         "grad", "rate", "update", "train"};
  SUBCASE("found by the optimizer's updates") {
    CHECK(names(*load_bytes(kTraining).graph) == step);
  }
  SUBCASE("named by the collection train_op") {
    const std::string text = "graph_def { " + kTraining +
                             " } collection_def { key: 'train_op' value { node_list { value: "
                             "'train' } } }";
    CHECK(names(*load_bytes(text).graph) == step);
  }
  SUBCASE("of updates spelled out in plain ops") {
    const std::string text =
        placeholder("g", {4, 4}) + node("w", "VariableV2", "", kVariable) +
        node("w/read", "Identity", "w", kFloats) + node("next", "Sub", "w/read g", kFloats) +
        node("update", "Assign", "w next", kFloats) + node("train", "NoOp", "^update") +
        node("zeros", "ZerosLike", "g", kFloats) + node("start", "Assign", "w zeros", kFloats) +
        node("init", "NoOp", "^start");
    CHECK(names(*load_bytes(text).graph) ==
          std::vector<std::string>{"g", "w", "w/read", "next", "update", "train"});
  }
}

TEST_CASE(
    "what waits for the train op and changes more variables is of the step, and nothing else is") {
  const std::string text =
      "graph_def { " + kTraining + node("mean", "VariableV2", "", kVariable) +
      node("average", "Assign", "mean w/read ^update", kFloats) + node("all", "NoOp", "^average") +
      node("shown", "Identity", "y ^update", kFloats) +
      " } collection_def { key: 'train_op' value { node_list { value: 'update' } } }";
  const LoadedModel model = load_bytes(text);
  CHECK(model.graph->find_op("average").has_value());
  CHECK(model.graph->find_op("all").has_value());
  CHECK_FALSE(model.graph->find_op("shown").has_value());
  CHECK(model.notes.front() ==
        "the step is 'all', which runs the train op 'update' and changes 1 more variable; name the "
        "train op as a fetch to leave them out");
  LoadOptions options;
  options.fetches = {"update"};
  CHECK_FALSE(load_bytes(text, options).graph->find_op("average").has_value());
}

namespace {

/// A SavedModel whose signatures call functions: 'serving_default' one that computes, `names` one that
/// subtracts from a variable by a function of its own.
std::string calls(const std::vector<std::string>& names) {
  const std::string resource = attr("dtype", "type: DT_RESOURCE");
  const auto call = [](const std::string& name, const std::string& function) {
    return node(name, "StatefulPartitionedCall", name + "_x",
                attr("Tin", "list { type: DT_FLOAT }") + attr("Tout", "list { type: DT_FLOAT }") +
                    attr("f", "func { name: '" + function + "' }"));
  };
  const auto function = [](const std::string& name, const std::string& nodes,
                           const std::string& result) {
    return " function { signature { name: '" + name +
           "' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'r' type: DT_FLOAT } } " +
           nodes + " ret { key: 'r' value: '" + result + "' } }";
  };
  const auto inner = [](const std::string& text) {
    std::string renamed = text;
    for (std::size_t at = 0; (at = renamed.find("node {", at)) != std::string::npos; at += 10) {
      renamed.replace(at, 6, "node_def {");
    }
    return renamed;
  };
  const auto signature = [](const std::string& key, const std::string& node) {
    return " signature_def { key: '" + key + "' value { inputs { key: 'ids' value { name: '" +
           node + "_x:0' } } outputs { key: 'out' value { name: '" + node + ":0' } } } }";
  };
  std::string nodes = placeholder("serve_x", {-1, 4}) + call("serve", "compute");
  std::string signatures = signature("serving_default", "serve");
  for (const std::string& name : names) {
    nodes += placeholder(name + "_x", {-1, 4}) + call(name, "step");
    signatures += signature(name, name);
  }
  const std::string handle =
      node("v", "VarHandleOp", "", attr("dtype", "type: DT_FLOAT") + shape("shape", {4, 4}));
  return "graph_def { " + nodes + " library { " +
         function("compute", inner(node("y", "Relu", "a", kFloats)), "y:activations:0") +
         function("step",
                  inner(node("z", "StatefulPartitionedCall", "a",
                             attr("Tin", "list { type: DT_FLOAT }") +
                                 attr("Tout", "list { type: DT_FLOAT }") +
                                 attr("f", "func { name: 'inside' }"))),
                  "z:output:0") +
         function(
             "inside",
             inner(handle + node("d", "MatMul", "a a", kFloats + attr("transpose_a", "b: true")) +
                   node("u", "AssignSubVariableOp", "v:resource:0 d:product:0",
                        attr("dtype", "type: DT_FLOAT")) +
                   node("y", "Tanh", "a ^u", kFloats)),
             "y:y:0") +
         " } }" + signatures;
}

}  // namespace

TEST_CASE("the signature that updates variables is the step, where it is the only one") {
  CHECK(load_bytes(calls({"train"})).notes.front() ==
        "the step is the signature 'train' (updates variables); others are 'serving_default': name "
        "one as a fetch");
  CHECK(load_bytes(calls({})).notes.front() == "the step is the signature 'serving_default'");
  CHECK(load_bytes(calls({"first", "second"})).notes.front() ==
        "the step is the signature 'serving_default'; others are 'first' (updates variables), "
        "'second' (updates variables): name one as a fetch");
}

TEST_CASE("inputs of a signature go by its names, too") {
  LoadOptions options;
  options.fetches = {"serving_default"};
  for (const char* const name : {"ids", "serve_x"}) {
    CAPTURE(name);
    options.shapes = {{name, {3, 4}}};
    const auto graph = load_bytes(calls({"train"}), options).graph;
    CHECK(graph->shape(graph->outputs(*graph->find_op("serve_x"))[0])[0] == 3);
  }
  options.shapes.clear();
  options.dims = {{"ids/0", 5}};
  const auto graph = load_bytes(calls({"train"}), options).graph;
  CHECK(graph->shape(graph->outputs(*graph->find_op("serve_x"))[0])[0] == 5);
  options.dims.clear();
  options.shapes = {{"ides", {3, 4}}};
  expect_error(ErrorCode::invalid_argument,
               {"no input and no tensor is named 'ides'", "ids (serve_x)"},
               [&] { load_bytes(calls({}), options); });
}

TEST_CASE("without a step, what a signature gives, or else all that is no bookkeeping") {
  const std::string inference =
      placeholder("x", {2}) + node("a", "Relu", "x", kFloats) + node("b", "Tanh", "x", kFloats);
  SUBCASE("a signature") {
    const std::string text = "graph_def { " + inference +
                             " } signature_def { key: 'serve' value { outputs { key: 'out' value "
                             "{ name: 'b:0' } } } }";
    CHECK(names(*load_bytes(text).graph) == std::vector<std::string>{"x", "b"});
  }
  SUBCASE("of several signatures the default one") {
    const auto signature = [](const std::string& key, const std::string& tensor) {
      return " signature_def { key: '" + key + "' value { outputs { key: 'out' value { name: '" +
             tensor + "' } } } }";
    };
    const std::string text = "graph_def { " + inference + " }" + signature("serve", "a:0") +
                             signature("serving_default", "b:0") +
                             signature("__saved_model_init_op", "a:0");
    CHECK(names(*load_bytes(text).graph) == std::vector<std::string>{"x", "b"});
    // Another by its name.
    LoadOptions other;
    other.fetches = {"serve"};
    CHECK(names(*load_bytes(text, other).graph) == std::vector<std::string>{"x", "a"});
    other.fetches = {"serv"};
    expect_error(ErrorCode::not_found,
                 {"'serv' is neither a node of the graph nor a signature", "did you mean 'serve'?",
                  "serving_default"},
                 [&] { load_bytes(text, other); });
  }
  SUBCASE("no input that nothing reads") {
    CHECK(names(*load_bytes(inference + placeholder("unused", {-1})).graph) ==
          std::vector<std::string>{"x", "a", "b"});
  }
  SUBCASE("no signature") {
    const std::string saver = node("w", "VariableV2", "", kVariable) +
                              node("save", "SaveV2", "x x x w") + node("all", "NoOp", "^save");
    CHECK(names(*load_bytes(inference + saver).graph) == std::vector<std::string>{"x", "a", "b"});
  }
  SUBCASE("nothing but bookkeeping") {
    CHECK(load_bytes(node("only", "NoOp")).graph->op_count() == 1);
  }
}

TEST_CASE(
    "fetches choose among the graphs of a SavedModel, and devices go to the one that was loaded") {
  const auto meta = [](const std::string& tags, const std::string& nodes,
                       const std::string& signature) {
    return " meta_graphs { meta_info_def { " + tags + " } graph_def { " + placeholder("x", {2}) +
           nodes + " } " + signature + " }";
  };
  const std::string a = node("a", "Relu", "x", kFloats);
  const std::string serving =
      " signature_def { key: 'serving_default' value { outputs { key: 'out' value { name: 'a:0' } "
      "} } }";
  const std::string text = "saved_model_schema_version: 1" +
                           meta("tags: 'train'", a + node("loss", "Tanh", "a", kFloats), "") +
                           meta("tags: 'serve' tags: 'gpu'", a, serving);
  const test::TemporaryFolder folder;
  write_file(folder / "m.pbtxt", text);
  TensorFlowFrontend frontend{Options{}};
  LoadOptions options;
  CHECK(names(*frontend.load(folder / "m.pbtxt", options).graph) ==
        std::vector<std::string>{"x", "a", "loss"});
  options.fetches = {"a"};  // which both have
  CHECK(frontend.load(folder / "m.pbtxt", options).graph->name() == "m");
  options.fetches = {"serving_default"};
  const LoadedModel served = frontend.load(folder / "m.pbtxt", options);
  CHECK(names(*served.graph) == std::vector<std::string>{"x", "a"});
  CHECK(served.graph->name() == "m (serve+gpu)");
  REQUIRE(served.notes.size() == 1);
  CHECK(served.notes[0].find("the one of 'serve+gpu' is loaded") != std::string::npos);
  const Cluster cluster("one", {Device{.name = "gpu:0", .kind = "gpu"}}, {});
  frontend.annotate(folder / "m.pbtxt", *served.graph, cluster, Placement(2, 0),
                    folder / "out.pbtxt");
  const std::string written = read_file(folder / "out.pbtxt");
  CHECK(written.find("device:") > written.find("tags: 'serve'"));
  CHECK(written.find("device:") != std::string::npos);
}

TEST_CASE("fetches choose") {
  LoadOptions options;
  SUBCASE("a tensor") {
    options.fetches = {"y:0"};
    CHECK(names(*load_bytes(kTraining, options).graph) ==
          std::vector<std::string>{"x", "w", "w/read", "y"});
  }
  SUBCASE("an op by control edges") {
    options.fetches = {"init"};
    CHECK(load_bytes(kTraining, options).graph->find_op("w/Assign").has_value());
  }
  SUBCASE("one that is not there") {
    options.fetches = {"nowhere"};
    expect_error(ErrorCode::not_found, {"'nowhere'", "'save'"},
                 [&] { static_cast<void>(load_bytes(kTraining, options)); });
  }
}

TEST_CASE("open dimensions are bound by name") {
  const std::string text = placeholder("x", {-1, -1, 3}) + placeholder("z", {-1, 5}) +
                           node("y", "Relu", "x", kFloats) + node("u", "Relu", "z", kFloats);
  LoadOptions options;
  SUBCASE("all first ones at once, others by tensor and axis") {
    options.dims = {{"batch", 8}, {"x/1", 7}};
    const LoadedModel model = load_bytes(text, options);
    CHECK(shape_of(*model.graph, "y") == std::vector<std::int64_t>{8, 7, 3});
    CHECK(shape_of(*model.graph, "u") == std::vector<std::int64_t>{8, 5});
  }
  SUBCASE("a first one of its own") {
    options.dims = {{"batch", 8}, {"z/0", 9}};
    CHECK(shape_of(*load_bytes(text, options).graph, "u") == std::vector<std::int64_t>{9, 5});
  }
  SUBCASE("all first ones without knowing a name") {
    options.dims = {{"*", 8}, {"x/1", 7}};
    const LoadedModel model = load_bytes(text, options);
    CHECK(shape_of(*model.graph, "y") == std::vector<std::int64_t>{8, 7, 3});
    CHECK(shape_of(*model.graph, "u") == std::vector<std::int64_t>{8, 5});
  }
  SUBCASE("all first ones where none is open") {
    options.dims = {{"*", 8}};
    expect_error(ErrorCode::invalid_argument, {"graph.pbtxt", "batch of 8", "dynamic batch"}, [&] {
      static_cast<void>(load_bytes(placeholder("x", {1, -1}), options));
    });
  }
  SUBCASE("by whole shapes") {
    options.shapes = {{"x", {2, 2, 2}}, {"z:0", {4, 4}}};
    const LoadedModel model = load_bytes(text, options);
    CHECK(shape_of(*model.graph, "y") == std::vector<std::int64_t>{2, 2, 2});
    CHECK(shape_of(*model.graph, "u") == std::vector<std::int64_t>{4, 4});
  }
  SUBCASE("the batch over a weaker shape, and over a weaker size of its own") {
    options.dims = {{"*", 8}, {"z/0", 9}};
    options.shapes = {{"x", {2, 7, 3}}};
    options.weakness = {{"shapes.x", 1}, {"dims.z/0", 2}};
    const LoadedModel model = load_bytes(text, options);
    CHECK(shape_of(*model.graph, "y") == std::vector<std::int64_t>{8, 7, 3});
    CHECK(shape_of(*model.graph, "u") == std::vector<std::int64_t>{8, 5});
    CHECK(model.sizes->shapes.at("x") == std::vector<std::int64_t>{8, 7, 3});
    CHECK(model.sizes->dims.at("z/0") == 8);
  }
  SUBCASE("a shape over weaker names, and one name of the batch over the other") {
    options.dims = {{"batch", 4}, {"*", 8}, {"x/1", 6}};
    options.shapes = {{"x", {2, 7, 3}}};
    options.weakness = {{"dims.*", 2}, {"dims.batch", 1}, {"dims.x/1", 1}};
    const LoadedModel model = load_bytes(text, options);
    CHECK(shape_of(*model.graph, "y") == std::vector<std::int64_t>{2, 7, 3});
    CHECK(shape_of(*model.graph, "u") == std::vector<std::int64_t>{4, 5});
    CHECK(model.sizes->dims ==
          std::map<std::string, std::int64_t>{{"*", 4}, {"batch", 4}, {"x/1", 7}});
  }
  SUBCASE("an unknown name lists the known ones") {
    options.dims = {{"length", 8}};
    expect_error(ErrorCode::invalid_argument, {"'length'", "'batch'", "'x/1'", "--batch 8"},
                 [&] { static_cast<void>(load_bytes(text, options)); });
  }
  SUBCASE("an unknown input lists the known ones") {
    options.shapes = {{"w", {1}}};
    expect_error(ErrorCode::invalid_argument, {"'w'", "'x'", "'z'"},
                 [&] { static_cast<void>(load_bytes(text, options)); });
  }
  SUBCASE("a negative size") {
    options.dims = {{"batch", -3}};
    expect_error(ErrorCode::invalid_argument, {"'batch'", "-3"},
                 [&] { static_cast<void>(load_bytes(text, options)); });
  }
  SUBCASE("what stays open is noted") {
    const LoadedModel model = load_bytes(text, options);
    CHECK(model.notes.front().find("'x/1'") != std::string::npos);
  }
}

}  // namespace
}  // namespace berth::tf_frontend
