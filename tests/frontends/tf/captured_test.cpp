// Graphs of functions: variables come from outside, and lists hold what a loop's gradient needs.
// The files in data/ are of make_graphs.py, which prints the bytes expected here.
#include <algorithm>
#include <ranges>

#include "berth/costs.h"
#include "berth/sdk/program.h"
#include "support/data.h"
#include "support/text.h"
#include "text_graph.h"

namespace berth::tf_frontend {
namespace {

LoadedModel load_file(const std::string& name, const LoadOptions& options = {}) {
  TensorFlowFrontend frontend{Options{}};
  return frontend.load(test::source_path("tests/frontends/tf/data") / name, options);
}

using Names = std::vector<std::string>;

/// Ops that touch what only a host can hold: text, and handles to anything but numbers.
Names on_host_only(const Graph& graph) {
  Names names;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const auto on_host = [&](TensorId tensor) {
      const DType type = tensor == kNoTensor ? DType::unknown : graph.dtype(tensor);
      return type == DType::string || type == DType::opaque;
    };
    const auto inputs = graph.inputs(op), outputs = graph.outputs(op);
    if (std::any_of(inputs.begin(), inputs.end(), on_host) ||
        std::any_of(outputs.begin(), outputs.end(), on_host)) {
      names.push_back(graph.op_name(op));
    }
  }
  return names;
}

Names without_size(const Graph& graph) {
  Names names;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    for (const TensorId tensor : graph.outputs(op)) {
      if (!graph.bytes_known(tensor)) names.push_back(graph.op_name(op));
    }
  }
  return names;
}

/// Every reader and writer of a variable is in the variable's class.
void check_variables_stay_with_their_uses(const Graph& graph) {
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (graph.op_type(op) != "VarHandleOp") continue;
    CAPTURE(graph.op_name(op));
    for (const Edge& edge : graph.out_edges(op)) {
      if (edge.tensor == kNoTensor) continue;
      CHECK(!graph.colocation(op).empty());
      CHECK(graph.colocation(edge.dst) == graph.colocation(op));
    }
  }
}

TEST_CASE("variables that a step captures are parameters and live on any device") {
  struct Step {
    const char* file;
    std::int64_t bytes;  // of the model's variables, and of the optimizer's
  };
  const Step kSteps[] = {
      {"dense_adam.pb.gz", 3760 + 7532},       {"conv_momentum.pb.gz", 1384 + 1332},
      {"lstm_adam.pb.gz", 19960 - 16 + 39900},  // without the state of its random numbers
      {"optimizer_ops.pb.gz", 11552},          {"layered.pb.gz", 8200},
      {"layered_saved_model.pb.gz", 8200},
  };
  for (const Step& step : kSteps) {
    CAPTURE(step.file);
    LoadOptions options;
    if (std::string_view(step.file).substr(0, 7) == "layered") options.dims = {{"batch", 4}};
    const LoadedModel model = load_file(step.file, options);
    const Graph& graph = *model.graph;
    CHECK(graph.total_param_bytes() == step.bytes);
    CHECK(frontend::list_names(on_host_only(graph)) == "");
    CHECK(frontend::list_names(without_size(graph)) == "");
    check_variables_stay_with_their_uses(graph);
  }
}

TEST_CASE("a step written without shapes says which variables count as nothing") {
  const LoadedModel model = load_file("dense_adam_without_shapes.pb.gz");
  const bool noted = std::any_of(model.notes.begin(), model.notes.end(), [](const std::string& n) {
    return n.find("memory is not counted") != std::string::npos &&
           n.find("add_shapes=True") != std::string::npos;
  });
  CHECK(noted);
  CHECK(on_host_only(*model.graph) == Names{});
}

TEST_CASE("a table that is only looked up states no size, and what to do about it is true") {
  const std::string states = attr("_output_shapes", "list { shape { } }");
  const auto lookup = [&](const std::string& more) {
    return load_bytes(
        node("table", "Placeholder", "", attr("dtype", "type: DT_RESOURCE")) +
        integers("rows", {1, 2}) +
        node("y", "ResourceGather", "table rows",
             attr("dtype", "type: DT_FLOAT") + attr("Tindices", "type: DT_INT32") + more));
  };
  const auto notes = [](const LoadedModel& model) {
    std::string all;
    for (const std::string& note : model.notes) all += note + "\n";
    return all;
  };
  CHECK(notes(lookup("")).find("add_shapes=True") != std::string::npos);
  CHECK(notes(lookup(states)).find("add_shapes=True") == std::string::npos);
  CHECK(notes(lookup(states)).find("as a SavedModel") != std::string::npos);
}

TEST_CASE("what a step without results changes is part of it") {
  const LoadedModel model = load_file("optimizer_ops.pb.gz");
  Names types;
  for (OpId op = 0; op < model.graph->op_count(); ++op) types.push_back(model.graph->op_type(op));
  for (const char* type : {"ResourceApplyAdam", "ResourceSparseApplyAdagradV2",
                           "ResourceScatterAdd", "AssignAddVariableOp"}) {
    CAPTURE(type);
    CHECK(std::count(types.begin(), types.end(), type) == 1);
  }
}

OpId only(const Graph& graph, const std::string& type) {
  OpId found = kNoOp;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (graph.op_type(op) != type) continue;
    REQUIRE(found == kNoOp);
    found = op;
  }
  REQUIRE(found != kNoOp);
  return found;
}

TEST_CASE("the gradient of a loop runs as often as the loop") {
  const LoadedModel model = load_file("lstm_adam.pb.gz");
  const Graph& graph = *model.graph;
  for (const std::string& note : model.notes) CHECK(note.find("one round") == std::string::npos);
  const double forward = graph.stated_work(only(graph, "While"))->flops;
  const double backward = graph.stated_work(only(graph, "StatelessWhile"))->flops;
  CHECK(backward > 1.5 * forward);
  CHECK(backward < 3 * forward);
}

TEST_CASE("lists are as large as what a loop puts into them") {
  const LoadedModel model = load_file("lstm_adam.pb.gz");
  const Graph& graph = *model.graph;
  std::int64_t states = 0;  // [8, 24], pushed in each of 12 rounds
  for (const TensorId tensor : graph.outputs(only(graph, "While"))) {
    const auto shape = graph.shape(tensor);
    if (!std::ranges::equal(shape, std::vector<std::int64_t>{12, 8, 24})) continue;
    CHECK(graph.bytes(tensor) == 12 * 8 * 24 * 4);
    CHECK(graph.dtype(tensor) == DType::f32);
    ++states;
  }
  CHECK(states >= 6);
}

// --- Written as text ----------------------------------------------------------------------------

const std::string kHandle = attr("dtype", "type: DT_RESOURCE");
const std::string kFloat = attr("dtype", "type: DT_FLOAT");
const std::string kScalars = "rate rate rate rate rate rate ";

std::string captured(const std::string& name, const std::string& attributes = {}) {
  return node(name, "Placeholder", "", kHandle + shape("shape", {}) + attributes);
}
std::string floats(const std::string& name) {
  return node(name, "Const", "",
              kFloat + attr("value", "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0.5 }"));
}
const std::string kRead =
    attr("_output_shapes", "list { shape { dim { size: 10 } dim { size: 4 } } }");

TEST_CASE("the size of a captured variable is found by whatever tells it") {
  const std::string gradient = placeholder("g", {10, 4}) + floats("rate");
  struct Case {
    const char* by;
    std::string text;
    std::int64_t bytes;
  };
  const Case kCases[] = {
      {"its handle's description",
       captured("v", attr("_handle_dtypes", "list { type: DT_HALF }") +
                         attr("_handle_shapes", "list { shape { dim { size: 10 } } }")) +
           node("use", "VarIsInitializedOp", "v"),
       20},
      {"a read", captured("v") + node("use", "ReadVariableOp", "v", kFloat + kRead), 160},
      {"an assignment", gradient + captured("v") + node("use", "AssignVariableOp", "v g", kFloat),
       160},
      {"a sum", gradient + captured("v") + node("use", "AssignAddVariableOp", "v g", kFloat), 160},
      {"an assignment after a read",
       gradient + captured("v") + node("read", "ReadVariableOp", "v", kFloat) +
           node("twice", "Add", "read read", kFloats) +
           node("use", "AssignVariableOp", "v g ^twice", kFloat),
       160},
      {"an optimizer, with its slots",
       gradient + captured("v") + captured("m") + captured("n") +
           node("use", "ResourceApplyAdam", "v m n " + kScalars + "g", kFloats),
       480},
      {"a sparse optimizer whose slot is read",
       gradient + integers("rows", {1, 2}) + captured("v") + captured("m") +
           node("read", "ReadVariableOp", "m", kFloat + kRead) + placeholder("h", {2, 4}) +
           node("use", "ResourceSparseApplyAdagrad", "v m rate h rows", kFloats),
       320},
      {"an identity in between",
       gradient + captured("v") + node("same", "Identity", "v", attr("T", "type: DT_RESOURCE")) +
           node("use", "AssignSubVariableOp", "same g", kFloat),
       160},
  };
  for (const Case& c : kCases) {
    CAPTURE(c.by);
    const LoadedModel model = load_bytes(c.text);
    const Graph& graph = *model.graph;
    CHECK(graph.total_param_bytes() == c.bytes);
    CHECK(on_host_only(graph) == Names{});
    CHECK(graph.op_type(op_named(graph, "v")) == "VarHandleOp");
    CHECK(graph.colocation(op_named(graph, "use")) == "v");
    const TensorId handle = graph.outputs(op_named(graph, "v"))[0];
    CHECK(graph.bytes_known(handle));
    CHECK(graph.bytes(handle) == 0);
  }
}

TEST_CASE("what was read before its shape was known is known in the end") {
  const LoadedModel model = load_bytes(
      placeholder("g", {10, 4}) + captured("v") + node("read", "ReadVariableOp", "v", kFloat) +
      node("y", "Relu", "read", kFloats) + node("use", "AssignVariableOp", "v g", kFloat));
  CHECK(shape_of(*model.graph, "y") == std::vector<std::int64_t>{10, 4});
}

TEST_CASE("a captured table is no variable and stays on the host") {
  const LoadedModel model =
      load_bytes(captured("table") + placeholder("k", {3}) + placeholder("d", {}) +
                 node("find", "LookupTableFindV2", "table k d",
                      attr("Tin", "type: DT_FLOAT") + attr("Tout", "type: DT_FLOAT")));
  const Graph& graph = *model.graph;
  CHECK(graph.op_type(op_named(graph, "table")) == "Placeholder");
  CHECK(on_host_only(graph) == Names{"table", "find"});
  CHECK(graph.total_param_bytes() == 0);
}

TEST_CASE("handles of one name are one variable") {
  const std::string matrix = kFloat + shape("shape", {10, 4});
  const auto handle = [&](const std::string& name, const std::string& shared) {
    return node(name, "VarHandleOp", "", matrix + attr("shared_name", "s: '" + shared + "'")) +
           node(name + "/read", "ReadVariableOp", name, kFloat);
  };
  const LoadedModel model =
      load_bytes(handle("a", "w") + handle("b", "w") + handle("c", "") + handle("d", ""));
  const Graph& graph = *model.graph;
  CHECK(graph.total_param_bytes() == 3 * 160);
  CHECK(graph.colocation(op_named(graph, "b/read")) == "a");
  CHECK(graph.colocation(op_named(graph, "d/read")) == "d");
}

TEST_CASE("an array holds its elements once, wherever its handle goes") {
  const LoadedModel model =
      load_bytes(integers("five", {5}, true) + integers("one", {1}, true) +
                 placeholder("x", {8, 3}) + node("array", "TensorArrayV3", "five", kFloat) +
                 node("same", "Identity", "array", attr("T", "type: DT_RESOURCE")) +
                 node("write", "TensorArrayWriteV3", "same one x array:1", kFloats) +
                 node("read", "TensorArrayReadV3", "array one write", kFloat));
  const Graph& graph = *model.graph;
  CHECK(on_host_only(graph) == Names{});
  CHECK(graph.bytes(graph.outputs(op_named(graph, "array"))[0]) == 5 * 8 * 3 * 4);
  CHECK(graph.bytes(graph.outputs(op_named(graph, "same"))[0]) == 0);
  CHECK(graph.colocation(op_named(graph, "read")) == "array");
}

TEST_CASE("a captured variable is executed as a variable, not fed") {
  const test::TemporaryFolder folder;
  write_file(folder / "graph.pbtxt", placeholder("g", {10, 4}) + captured("v") +
                                         node("use", "AssignAddVariableOp", "v g", kFloat));
  TensorFlowFrontend frontend{Options{}};
  const LoadedProgram loaded = frontend.load_program(folder / "graph.pbtxt", {});
  const berth::Program& program = *loaded.program;
  CHECK(program.input_names == Names{"g"});
  const Instruction& variable =
      program.instructions[static_cast<std::size_t>(op_named(*program.graph, "v"))];
  CHECK(variable.type == "VarHandleOp");
  CHECK(*variable.attribute<DType>("dtype") == DType::f32);
  CHECK(*variable.attribute<std::vector<std::int64_t>>("shape") ==
        std::vector<std::int64_t>{10, 4});
}

}  // namespace
}  // namespace berth::tf_frontend
