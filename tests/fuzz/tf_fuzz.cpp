// Thousands of broken TensorFlow graphs and profiles, made from small good ones by seeded mutation:
// each loads or is refused with an Error, and nothing else happens. Best under the address
// sanitizer.
#include <fstream>

#include "../frontends/tf/text_graph.h"
#include "berth/error.h"
#include "frontends/tf/proto/meta_graph.pb.h"
#include "frontends/tf/proto/step_stats.pb.h"
#include "mutation.h"
#include "support/temporary_folder.h"
#include "tf/text_form.h"

namespace berth::tf_frontend {
namespace {

using test::mutate_bytes;
using test::mutate_structure;
using test::rounds;

const std::vector<std::string> kWords = {"",     "\xff", "x:1",    "^x",  "loc:@w", "x:y:0",
                                         "Relu", "T",    "MatMul", "a:7", "-1",     "@T"};

std::string list_of(const std::string& name, const std::string& numbers) {
  return attr(name, "list { " + numbers + " }");
}

/// A constant of floats that all have one value.
std::string floats(const std::string& name, std::initializer_list<int> dims) {
  std::string tensor = "dtype: DT_FLOAT tensor_shape {";
  for (const int dim : dims) tensor += " dim { size: " + std::to_string(dim) + " }";
  return node(name, "Const", "",
              attr("dtype", "type: DT_FLOAT") +
                  attr("value", "tensor { " + tensor + " } float_val: 0.5 }"));
}

std::string convolutions() {
  const std::string windows = list_of("strides", "i: 1 i: 2 i: 2 i: 1") +
                              list_of("ksize", "i: 1 i: 3 i: 3 i: 1") +
                              attr("padding", "s: 'SAME'") + attr("data_format", "s: 'NHWC'");
  return placeholder("x", {-1, 16, 16, 3}) + floats("w", {3, 3, 3, 8}) +
         node("c", "Conv2D", "x w", kFloats + windows) + floats("s", {8}) +
         node("n", "FusedBatchNormV3", "c s s s s", kFloats + attr("U", "type: DT_FLOAT")) +
         node("p", "MaxPool", "n", kFloats + windows) + node("shape", "Shape", "x") +
         node("g", "Conv2DBackpropInput", "shape w c", kFloats + windows) +
         node("gw", "Conv2DBackpropFilter", "x shape c", kFloats + windows) +
         integers("axes", {1, 2}) + node("m", "Mean", "p axes", kFloats) +
         node("all", "AddN", "g x", kFloats + attr("N", "i: 2"));
}

std::string layout() {
  return placeholder("x", {4, 6}) + integers("i", {0}, true) + integers("v", {2, -1}) +
         node("sh", "Shape", "x") +
         node("st", "StridedSlice", "sh v v v", attr("shrink_axis_mask", "i: 1")) +
         node("r", "Reshape", "x v", kFloats) + node("t", "Transpose", "x v", kFloats) +
         node("k", "ConcatV2", "x r i", kFloats + attr("N", "i: 2")) +
         node("sp", "Split", "i x", kFloats + attr("num_split", "i: 2")) +
         node("sv", "SplitV", "x v i", kFloats + attr("num_split", "i: 2")) +
         node("pk", "Pack", "x x", kFloats + attr("N", "i: 2") + attr("axis", "i: 0")) +
         node("up", "Unpack", "pk", kFloats + attr("num", "i: 2")) +
         node("ti", "Tile", "x v", kFloats) + node("ra", "Range", "i i i") +
         node("fi", "Fill", "v i") + node("ga", "GatherV2", "x v i") +
         node("oh", "OneHot", "v i i i") + node("pd", "Pad", "x v", kFloats) +
         node("ex", "ExpandDims", "x i", kFloats) + node("sq", "Squeeze", "ex", kFloats) +
         node("e", "Einsum", "x x", attr("equation", "s: 'ab,cb->ac'") + attr("N", "i: 2")) +
         node("b", "BroadcastGradientArgs", "sh v") + node("tk", "TopKV2", "x i", kFloats);
}

/// A function's step: captured variables, a loop that fills a list.
std::string captured() {
  const std::string floating = attr("dtype", "type: DT_FLOAT");
  const auto variable = [&](const std::string& name) {
    return node(name, "Placeholder", "",
                attr("dtype", "type: DT_RESOURCE") + list_of("_handle_dtypes", "type: DT_FLOAT") +
                    list_of("_handle_shapes", "shape { dim { size: 4 } }"));
  };
  return placeholder("g", {2, 4}) + integers("i", {1}) + integers("n", {3}, true) +
         floats("rate", {}) + variable("v") + variable("m") +
         node("r", "ReadVariableOp", "v", floating) +
         node("a", "AssignAddVariableOp", "v rate", floating) +
         node("o", "ResourceApplyMomentum", "v m rate g rate", kFloats) +
         node("s", "ResourceSparseApplyAdagrad", "v m rate g i", kFloats) +
         node("ga", "ResourceGather", "v i", floating) +
         node("sc", "ResourceScatterAdd", "v i g", floating) +
         node("l", "TensorListReserve", "i n", attr("element_dtype", "type: DT_FLOAT")) +
         node("lp", "TensorListPushBack", "l g", attr("element_dtype", "type: DT_FLOAT")) +
         node("lz", "ZerosLike", "lp", attr("T", "type: DT_VARIANT")) +
         node("ls", "TensorListStack", "lz i", attr("element_dtype", "type: DT_FLOAT")) +
         node("ar", "TensorArrayV3", "n", floating) +
         node("sg", "SymbolicGradient", "g g", list_of("Tout", "type: DT_FLOAT"));
}

std::string training() {
  const std::string variable = attr("dtype", "type: DT_FLOAT") + shape("shape", {8, 8});
  return placeholder("x", {2, 8}) + node("w", "VariableV2", "", variable) +
         node("m", "VariableV2", "", variable + attr("_class", "list { s: 'loc:@w' }")) +
         node("h", "VarHandleOp", "", variable) +
         node("rd", "ReadVariableOp", "h", attr("dtype", "type: DT_FLOAT")) +
         node("read", "Identity", "w", kFloats) + node("y", "MatMul", "x read", kFloats) +
         node("z", "MatMul", "y rd", kFloats) +
         node("g", "MatMul", "x z", kFloats + attr("transpose_a", "b: true")) + floats("rate", {}) +
         node("u", "ApplyMomentum", "w m rate g rate", kFloats) +
         node("ru", "ResourceApplyGradientDescent", "h rate g", kFloats) +
         node("train", "NoOp", "^u ^ru");
}

std::string loop() {
  const std::string type = attr("T", "type: DT_INT32"), two = type + attr("N", "i: 2");
  const std::string frame = type + attr("frame_name", "s: 'f'");
  return integers("a", {0}, true) + integers("n", {9}, true) + integers("one", {1}, true) +
         node("e", "Enter", "a", frame) + node("en", "Enter", "n", frame) +
         node("eo", "Enter", "one", frame) + node("m", "Merge", "e ni", two) +
         node("l", "Less", "m en", type) + node("lc", "LoopCond", "l") +
         node("s", "Switch", "m lc", type) + node("add", "Add", "s:1 eo", type) +
         node("ni", "NextIteration", "add", type) + node("x", "Exit", "s", type);
}

std::string functions() {
  const std::string body = "node_def { name: 'n' op: 'Relu' input: 'a' " +
                           attr("T", "placeholder: 'T'") +
                           " } ret { key: 'r' value: 'n:activations:0' }";
  const auto function = [&](const std::string& name) {
    return "function { signature { name: '" + name +
           "' input_arg { name: 'a' type_attr: 'T' } output_arg { name: 'r' type_attr: 'T' } attr "
           "{ "
           "name: 'T' type: 'type' } } " +
           body + " } ";
  };
  const auto call = [](const std::string& name, const std::string& of) {
    return attr(name, "func { name: '" + of + "' attr { key: 'T' value { type: DT_FLOAT } } }");
  };
  const std::string types = list_of("Tin", "type: DT_FLOAT") + list_of("Tout", "type: DT_FLOAT");
  return placeholder("x", {3}) + node("c", "f", "x", kFloats) +
         node("p", "PartitionedCall", "c", types + call("f", "g")) +
         node("i", "If", "p p", types + call("then_branch", "f") + call("else_branch", "g")) +
         node("w", "While", "i",
              list_of("T", "type: DT_FLOAT") + call("cond", "f") + call("body", "g")) +
         "library { " + function("f") + function("g") + " }";
}

template <typename Load>
void break_all(const google::protobuf::Message& good, std::uint64_t seed, const std::string& name,
               const Load& load, std::size_t& loaded, std::size_t& refused) {
  const test::TemporaryFolder folder;
  for (std::uint64_t round = 0; round < rounds(); ++round) {
    Random random(seed * 1'000'003 + round);
    std::string bytes;
    if (round % 2 == 0) {
      const std::unique_ptr<google::protobuf::Message> message(good.New());
      message->CopyFrom(good);
      for (std::uint64_t i = random.below(4); i < 4; ++i)
        mutate_structure(*message, kWords, random);
      bytes = message->SerializeAsString();
    } else {
      bytes = good.SerializeAsString();
      for (std::uint64_t i = random.below(4); i < 4; ++i) mutate_bytes(bytes, random);
    }
    CAPTURE(seed);
    CAPTURE(round);
    try {
      std::ofstream(folder / name, std::ios::binary) << bytes;
      load(folder / name);
      ++loaded;
    } catch (const Error& error) {
      ++refused;
      const std::string message = error.what();
      if (message.find(name) == std::string::npos) FAIL_CHECK("names no file: ", message);
    } catch (const std::exception& other) {
      FAIL_CHECK("not an Error: ", std::string(other.what()));
    }
  }
}

TEST_CASE("broken graphs load or are refused, and take their devices where they load") {
  TensorFlowFrontend frontend{Options{}};
  const auto cluster = Cluster::preset("k80x2");
  std::size_t loaded = 0, refused = 0;
  std::uint64_t seed = 0;
  for (const std::string& text :
       {convolutions(), layout(), captured(), training(), loop(), functions()}) {
    tf_files::SavedModel saved;
    auto* const meta = saved.add_meta_graphs();
    REQUIRE(meta->mutable_graph_def()->ParseFromString(
        text_to_binary(text, MessageKind::graph, "seed")));
    const auto load = [&](const std::filesystem::path& path) {
      const auto graph = frontend.load(path, {}).graph;
      const auto program = frontend.load_program(path, {}).program;
      CHECK(program->graph->op_count() == graph->op_count());
      constexpr int kEvery = 8;  // writing waits for the disk
      if (graph->op_count() % kEvery != 0) return;
      const Placement placement(static_cast<std::size_t>(graph->op_count()), 0);
      frontend.annotate(path, *graph, *cluster, placement, path);
    };
    const test::TemporaryFolder folder;
    write_file(folder / "seed.pb", meta->graph_def().SerializeAsString());
    CHECK_NOTHROW(load(folder / "seed.pb"));
    break_all(meta->graph_def(), seed++, "graph.pb", load, loaded, refused);
  }
  MESSAGE(loaded, " loaded, ", refused, " refused");
  CHECK(loaded > 0);
  CHECK(refused > 0);
}

TEST_CASE("broken profiles are read or refused") {
  TensorFlowFrontend frontend{Options{}};
  const auto graph = load_bytes(placeholder("x", {4}) + node("a", "Relu", "x", kFloats)).graph;
  const auto cluster = Cluster::preset("k80x2");
  tf_files::RunMetadata good;
  static_cast<void>(text_to_binary(
      "step_stats { dev_stats { device: '/device:GPU:0' node_stats { node_name: 'a' "
      "op_start_rel_micros: 1 op_end_rel_micros: 9 op_end_rel_nanos: 8000 } } dev_stats { device: "
      "'/gpu:0/stream:all' node_stats { node_name: 'a:Relu' op_end_rel_micros: 5 } } } cost_graph "
      "{ "
      "node { name: 'x' device: '/cpu:0' id: 1 compute_cost: 4 } }",
      good, "seed"));
  std::size_t loaded = 0, refused = 0;
  break_all(
      good, 77, "run.pb",
      [&](const std::filesystem::path& path) {
        static_cast<void>(frontend.claims_costs(path));
        const auto costs = frontend.load_costs(path, *graph, *cluster).costs;
        for (KindId kind = 0; kind < cluster->kind_count(); ++kind) {
          for (const double us : costs->of_kind(kind)) REQUIRE(us >= 0);
        }
      },
      loaded, refused);
  MESSAGE(loaded, " loaded, ", refused, " refused");
  CHECK(loaded > 0);
  CHECK(refused > 0);
}

}  // namespace
}  // namespace berth::tf_frontend
