// What is computed once, when a model is loaded.
#include "berth/sdk/ops/constants.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "berth/costs.h"
#include "berth/groups.h"
#include "berth/problem.h"
#include "berth/sdk/ops/op.h"
#include "berth/sdk/ops/views.h"
#include "berth/simulator.h"

using namespace berth;

namespace {

const TensorInfo kWeight{DType::f16, true, {1024, 1024}, kUnknownBytes};
const TensorInfo kWide{DType::f32, true, {1024, 1024}, kUnknownBytes};
const TensorInfo kRow{DType::f16, true, {1, 1024}, kUnknownBytes};
constexpr std::int64_t kHalf = 2 * 1024 * 1024;

/// x -> first (reads `from`) -> second (reads the same) -> out.
struct Model {
  explicit Model(std::string dialect = "onnx") : builder("model", std::move(dialect)) {
    x = builder.add_op("x", "Input");
    row = builder.add_output(x, kRow, "x");
  }
  /// An op that makes a tensor like `info` of `inputs`.
  TensorId made(const std::string& name, const std::string& type, const TensorInfo& info,
                const std::vector<TensorId>& inputs) {
    const OpId op = builder.add_op(name, type);
    const TensorId output = builder.add_output(op, info, name);
    for (const TensorId tensor : inputs) builder.add_input(op, tensor);
    return output;
  }
  std::shared_ptr<const Graph> folded() { return ops::fold_constants(builder.build()); }

  GraphBuilder builder;
  OpId x;
  TensorId row;
};

OpId op(const Graph& graph, const std::string& name) {
  return graph.find_op(name).value();
}

/// Two devices alike, of this kind.
std::shared_ptr<const Cluster> two_devices() {
  std::vector<Device> devices(2);
  for (std::size_t d = 0; d < 2; ++d) {
    devices[d].name = "gpu:" + std::to_string(d);
    devices[d].kind = "gpu";
    devices[d].flops = 1e12;
    devices[d].memory_bandwidth = 1e11;
    devices[d].op_overhead_us = 4;
  }
  return std::make_shared<const Cluster>("two", std::move(devices),
                                         std::vector<LinkSpec>{{"*", "*", 1e9, 10, {}, false}});
}

Evaluation evaluate(std::shared_ptr<const Graph> graph, const Placement& placement) {
  const auto cluster = two_devices();
  const auto problem =
      std::make_shared<const Problem>(graph, cluster, Costs::roofline(*graph, *cluster));
  Evaluation evaluation;
  Simulator::Workspace workspace;
  Simulator(problem).evaluate(placement, workspace, evaluation);
  return evaluation;
}

}  // namespace

TEST_CASE("a weight that is rearranged costs what the plain weight does") {
  const auto step = [](const char* type, const TensorInfo& stored) {
    Model model;
    TensorId weight = model.builder.add_parameter(stored, "w");
    if (type != nullptr) weight = model.made("view", type, kWeight, {weight});
    model.made("product", "MatMul", kRow, {model.row, weight});
    const auto graph = model.folded();
    return evaluate(graph, Placement(static_cast<std::size_t>(graph->op_count()), 0));
  };
  const Evaluation plain = step(nullptr, kWeight);
  for (const char* const type : {"Identity", "Dropout", "Transpose", "Reshape"}) {
    CAPTURE(type);
    const Evaluation viewed = step(type, kWeight);
    CHECK(viewed.runtime_us == plain.runtime_us);
    CHECK(viewed.peak_bytes == plain.peak_bytes);
  }
  const Evaluation cast = step("Cast", kWide);
  CHECK(cast.runtime_us == plain.runtime_us);
  CHECK(cast.peak_bytes == plain.peak_bytes);
}

TEST_CASE(
    "a runtime of its own turns a parameter around without a copy, and casts one into another") {
  Model model;
  const TensorId weight = model.builder.add_parameter(kWeight, "w");
  const TensorId turned = model.made("turn", "Transpose", kWeight, {weight});
  const TensorId wide = model.made("cast", "Cast", kWide, {weight});
  const TensorId rows = model.made("rows", "Gather", kRow, {weight, model.row});
  const TensorId middle = model.made("first", "MatMul", kRow, {rows, turned});
  model.made("second", "MatMul", kRow, {middle, wide});
  const auto folded = model.folded();
  CHECK(folded->total_param_bytes() == 4 * kHalf);
  const auto graph = ops::with_parameters_as_stored(folded);
  CHECK(graph->total_param_bytes() == 3 * kHalf);
  REQUIRE(graph->shared_parameters().size() == 1);
  CHECK(graph->shared_parameters()[0].consumers ==
        std::vector<OpId>{op(*graph, "rows"), op(*graph, "first")});
  CHECK(graph->first_reader(op(*graph, "turn")) == op(*graph, "first"));
  CHECK(ops::with_parameters_as_stored(graph) == graph);
}

TEST_CASE("what a constant makes resides on every device that reads it, and nothing is sent") {
  Model model;
  const TensorId weight = model.builder.add_parameter(kWeight, "w");
  const TensorId turned = model.made("turn", "Transpose", kWeight, {weight});
  const TensorId middle = model.made("first", "MatMul", kRow, {model.row, turned});
  model.made("second", "MatMul", kRow, {middle, turned});
  const auto graph = model.folded();
  CHECK(graph->is_constant(op(*graph, "turn")));
  CHECK(graph->constant_count() == 1);
  CHECK(graph->first_reader(op(*graph, "turn")) == op(*graph, "first"));
  CHECK(graph->producer(turned) == kNoOp);
  CHECK(graph->maker(turned) == op(*graph, "turn"));
  CHECK(graph->total_param_bytes() == kHalf);
  Placement placement(static_cast<std::size_t>(graph->op_count()), 0);
  const std::int64_t together = evaluate(graph, placement).peak_bytes[0];
  placement[static_cast<std::size_t>(op(*graph, "second"))] = 1;
  const Evaluation apart = evaluate(graph, placement);
  CHECK(apart.peak_bytes[0] >= kHalf);
  CHECK(apart.peak_bytes[1] >= kHalf);
  CHECK(together < 2 * kHalf);
  const auto groups = colocation_groups(*graph);
  CHECK(groups->of(op(*graph, "turn")) == groups->of(op(*graph, "first")));
}

TEST_CASE("the source of a constant resides only where something else reads it") {
  Model model;
  const TensorId weight = model.builder.add_parameter(kWeight, "w");
  const TensorId turned = model.made("turn", "Transpose", kWeight, {weight});
  const TensorId rows = model.made("rows", "Gather", kRow, {weight, model.row});
  model.made("logits", "MatMul", kRow, {rows, turned});
  CHECK(model.folded()->total_param_bytes() == 2 * kHalf);
}

TEST_CASE("views of one weight are one parameter") {
  Model model;
  const TensorId weight = model.builder.add_parameter(kWeight, "w");
  const TensorId one = model.made("one", "Identity", kWeight, {weight});
  const TensorId two = model.made("two", "Identity", kWeight, {one});
  const TensorId middle = model.made("first", "MatMul", kRow, {model.row, one});
  model.made("second", "MatMul", kRow, {middle, two});
  const auto graph = model.folded();
  CHECK(graph->total_param_bytes() == kHalf);
  REQUIRE(graph->shared_parameters().size() == 1);
  CHECK(graph->shared_parameters()[0].tensor == weight);
}

TEST_CASE("a parameter counts once, however many ways of views lead to it") {
  Model model;
  TensorId view = model.made("w", "Constant", kWeight, {});
  for (int i = 0; i < 18; ++i) {
    view = model.made("view" + std::to_string(i), "Reshape", kWeight, {view, view});
  }
  model.made("y", "MatMul", kRow, {model.row, view});
  const auto graph = model.folded();
  const TensorId read = graph->inputs(op(*graph, "y"))[1];
  CHECK(graph->is_constant(graph->maker(read)));
  CHECK(graph->kept_for(read).size() == 1);
  CHECK(graph->read_bytes(read) == kHalf);
}

namespace {

/// x times weights that are dequantised in the way of `scales`.
struct Quantised {
  DType type = DType::i8;
  std::vector<std::int64_t> scales;
  std::int64_t axis = 1;
  std::vector<const char*> between;  ///< ops from the dequantised weights to the product
  const char* reader = "MatMul";
  bool transposed = false;  ///< transB
  int readers = 1;
  bool first = false;  ///< weights are the product's first operand
};

std::shared_ptr<const Graph> graph_of(const Quantised& the) {
  Model model;
  // A graph has no type for floats of 4 bits.
  const std::int64_t bytes = the.type == DType::unknown ? 1024 * 1024 / 2 : kUnknownBytes;
  const TensorId stored = model.builder.add_parameter({the.type, true, {1024, 1024}, bytes}, "w");
  const TensorId scale =
      model.builder.add_parameter({DType::f16, true, the.scales, kUnknownBytes}, "s");
  TensorId weights = model.made("dq", "DequantizeLinear", kWeight, {stored, scale});
  model.builder.set_attribute(1, "axis", the.axis);
  for (std::size_t i = 0; i < the.between.size(); ++i) {
    weights = model.made("between" + std::to_string(i), the.between[i], kWeight, {weights});
  }
  for (int i = 0; i < the.readers; ++i) {
    const OpId reader = model.builder.op_count();
    const TensorId left = the.first ? weights : model.row;
    model.made("reader" + std::to_string(i), the.reader, kRow,
               {left, the.first ? model.row : weights});
    if (the.transposed) model.builder.set_attribute(reader, "transB", std::int64_t{1});
  }
  return model.folded();
}

}  // namespace

TEST_CASE("weights that a kernel dequantises stay quantised") {
  constexpr std::int64_t kStored = 1024 * 1024 / 2 + 32 * 1024 * 2;
  const auto graph = graph_of({DType::i4, {32, 1024}, 0, {"Identity"}});
  CHECK(graph->constant_count() == 2);
  CHECK(graph->total_param_bytes() == kStored);
  CHECK(op_work(*graph, op(*graph, "reader0")).bytes == kStored + 2 * 2048);

  // As ONNX Runtime 1.32 has them.
  const std::vector<std::int64_t> one, row = {1024}, blocks = {32, 1024}, along = {1024, 32};
  const Quantised kFused[] = {
      {DType::i8, one},
      {DType::u8, row},
      {DType::u4, row, -1},
      {DType::i8, blocks, 0},
      {DType::i8, row, 1, {}, "Gemm"},
      {DType::i8, row, 1, {"Transpose"}, "Gemm", true},
      {DType::i8, row, 0, {"Transpose"}},
      {DType::i8, row, 0, {"Identity", "Transpose", "Identity"}},
      {DType::i8, one, 1, {"Transpose"}},
      {DType::i4, row, 1, {"Transpose", "Transpose"}},
      // As TensorRT has floats.
      {DType::f8, one},
      {DType::f8, blocks, 0},
      {DType::f8, row, 0, {"Transpose"}},
      {DType::f8, along, 1, {"Transpose"}},
      {DType::f8, row, 0, {}, "Gemm", true},
      {DType::unknown, blocks, 0},
      {DType::unknown, along, 1, {"Transpose"}},
  };
  for (const Quantised& the : kFused) {
    CAPTURE(&the - kFused);
    CHECK(graph_of(the)->constant_count() == 1 + static_cast<OpId>(the.between.size()));
  }
  const Quantised kDequantised[] = {
      {DType::i8, row, 0},
      {DType::i8, along, 1},
      {DType::i8, row, 1, {"Transpose"}},
      {DType::i4, row, 0, {"Transpose"}},
      {DType::i8, blocks, 0, {"Transpose"}},
      {DType::i8, row, 1, {}, "Gemm", true},
      {DType::i8, row, 0, {}, "Gemm", true},
      {DType::i8, row, 0, {"Transpose"}, "Gemm"},
      {DType::i8, row, 1, {}, "Gather"},
      {DType::i8, row, 1, {}, "Add"},
      {DType::i8, row, 1, {"Reshape"}},
      {DType::i8, row, 1, {"Cast"}},
      {DType::f8, row, 0},
      {DType::f8, along, 1},
      {DType::f8, one, 1, {}, "Gather"},
      {DType::i8, row, 1, {}, "MatMul", false, 2},
      {DType::i8, row, 1, {"Identity"}, "MatMul", false, 2},
      {DType::i8, row, 1, {}, "MatMul", false, 1, true},
  };
  for (const Quantised& the : kDequantised) {
    CAPTURE(&the - kDequantised);
    CHECK(graph_of(the)->constant_count() == 0);
  }
}

TEST_CASE("scales of floats in 4 bits stay quantised with what they scale") {
  for (const DType type : {DType::unknown, DType::i4}) {
    Model model;
    const auto parameter = [&](DType dtype, std::vector<std::int64_t> shape, const char* name) {
      const bool packed = dtype == DType::unknown;
      return model.builder.add_parameter(
          {dtype, true, std::move(shape), packed ? 1024 * 1024 / 2 : kUnknownBytes}, name);
    };
    const TensorId weights = parameter(type, {1024, 1024}, "w");
    const TensorId scales = parameter(DType::f8, {64, 1024}, "s");
    const TensorId scale = parameter(DType::f32, {}, "of_scales");
    const TensorId of_blocks =
        model.made("scales", "DequantizeLinear", {DType::f32, true, {64, 1024}, kUnknownBytes},
                   {scales, scale});
    const TensorId read = model.made("dq", "DequantizeLinear", kWeight, {weights, of_blocks});
    model.builder.set_attribute(model.builder.op_count() - 1, "axis", std::int64_t{0});
    model.made("y", "MatMul", kRow, {model.row, read});
    CHECK(model.folded()->constant_count() == (type == DType::unknown ? 2 : 0));
  }
}

TEST_CASE(
    "a runtime with weights of its own reads them as they are stored, whatever the file does") {
  const std::vector<std::int64_t> one, row = {1024}, blocks = {32, 1024}, along = {1024, 32};
  const Quantised kCases[] = {
      {DType::i4, blocks, 0, {"Transpose"}},
      {DType::i8, along, 1},
      {DType::i8, row, 1, {"Cast", "Reshape", "Identity"}},
      {DType::i8, row, 1, {}, "MatMul", false, 2},
      {DType::i8, row, 1, {"Transpose"}, "Gemm"},
  };
  for (const Quantised& the : kCases) {
    CAPTURE(&the - kCases);
    const auto folded = graph_of(the);
    CHECK(folded->constant_count() == 0);
    const auto graph = ops::with_parameters_as_stored(folded);
    CHECK(graph->constant_count() == 1 + static_cast<OpId>(the.between.size()));
    CHECK(graph->total_param_bytes() == folded->total_param_bytes());
    CHECK(op_work(*graph, op(*graph, "reader0")).bytes ==
          static_cast<double>(folded->total_param_bytes()) + 2 * 2048);
  }
  // Ops that make other numbers of them run.
  const auto other = ops::with_parameters_as_stored(graph_of({DType::i8, row, 0, {"Neg"}}));
  CHECK(other->constant_count() == 1);
}

TEST_CASE("ONNX Runtime turns dequantised weights around within the product") {
  const std::vector<std::int64_t> blocks = {32, 1024};
  const auto between = [](const std::shared_ptr<const Graph>& graph) {
    return op_work(*graph, op(*graph, "between0")).launches;
  };
  const auto fused = graph_of({DType::i4, blocks, 0, {"Transpose"}});
  CHECK(between(fused) == 0);
  CHECK(ops::is_view(*fused, op(*fused, "between0")));
  CHECK(between(graph_of({DType::i4, blocks, 0, {"Transpose"}, "Add"})) == 1);
  CHECK(between(graph_of({DType::i4, blocks, 0, {"Neg"}})) == 1);
}

TEST_CASE("equal constants are one, in ONNX and TensorFlow") {
  struct Case {
    const char* dialect;
    const char* type;
    std::int64_t resident;  ///< in pieces of kHalf
  };
  for (const auto& [dialect, type, resident] : {Case{"onnx", "Transpose", 1},
                                                {"onnx", "Cast", 1},
                                                {"tf", "Relu", 1},
                                                {"berth", "Transpose", 3}}) {
    CAPTURE(type);
    Model model(dialect);
    const TensorId weight = model.builder.add_parameter(kWide, "w");
    std::vector<TensorId> read = {model.row};
    for (int i = 0; i < 3; ++i) {
      const std::string number = std::to_string(i);
      const TensorId made = model.made("made" + number, type, kWeight, {weight});
      const OpId maker = model.builder.op_count() - 1;
      model.builder.set_pure(maker);
      model.builder.set_attribute(maker, "torch.module", "layers." + number);
      read.push_back(model.made("turned" + number, "MatMul", kRow, {read.back(), made}));
    }
    const auto graph = model.folded();
    CHECK(graph->constant_count() == 3);
    CHECK(graph->total_param_bytes() == resident * kHalf);
  }
}

TEST_CASE("constants of other inputs, attributes, types or contents are others") {
  Model model;
  const TensorId weight = model.builder.add_parameter(kWeight, "w");
  TensorId x = model.row;
  int count = 0;
  const auto read = [&](const char* type, const TensorInfo& info, std::int64_t attribute) {
    const OpId op = model.builder.op_count();
    const TensorId made = model.made("made" + std::to_string(++count), type, info, {weight});
    model.builder.set_attribute(op, "mode", attribute);
    x = model.made("y" + std::to_string(count), "MatMul", kRow, {x, made});
    return op;
  };
  (void)read("Transpose", kWeight, 0);
  (void)read("Transpose", kWeight, 1);
  (void)read("Neg", kWeight, 0);
  (void)read("Neg", kWide, 0);
  // A list in the file that the graph has no more of than its size.
  for (int i = 0; i < 2; ++i) model.builder.set_param_bytes(read("Abs", kWeight, 0), 8);
  CHECK(model.folded()->total_param_bytes() == 7 * kHalf);
}

TEST_CASE("what draws, holds state, has a body, waits for the step or is not known stays in it") {
  for (const char* const type :
       {"RandomUniformLike", "BiasDropout", "If", "my.domain.Op", "Bernoulli"}) {
    CAPTURE(type);
    Model model;
    const TensorId weight = model.builder.add_parameter(kWeight, "w");
    const TensorId made = model.made("made", type, kWeight, {weight});
    model.made("product", "MatMul", kRow, {model.row, made});
    CHECK(model.folded()->constant_count() == 0);
  }
  for (const bool waits : {true, false}) {
    Model model;
    const TensorId weight = model.builder.add_parameter(kWeight, "w");
    const TensorId made = model.made("made", "Transpose", kWeight, {weight});
    model.made("product", "MatMul", kRow, {model.row, made});
    if (waits) {
      model.builder.add_control_edge(model.x, 1);
    } else {
      model.builder.set_attribute(1, std::string(ops::kInStepAttribute), std::int64_t{1});
    }
    CHECK(model.folded()->constant_count() == 0);
  }
}

TEST_CASE("TensorFlow: what reads a constant waits for what that had control edges from") {
  Model model("tf");
  const TensorId weight = model.builder.add_parameter(kWeight, "w");
  const TensorId made = model.made("made", "Relu", kWeight, {weight});
  const TensorId again = model.made("again", "Neg", kWeight, {made});
  model.made("product", "MatMul", kRow, {model.row, again});
  const OpId update = model.builder.add_op("update", "AssignVariableOp");
  model.builder.add_control_edge(update, 1);
  const auto graph = model.folded();
  CHECK(graph->constant_count() == 2);
  const auto edges = graph->in_edges(op(*graph, "product"));
  REQUIRE(edges.size() == 2);
  CHECK(edges[1].src == update);
  CHECK(edges[1].tensor == kNoTensor);
}

TEST_CASE("MLIR: what is read of a buffer that ops write is not computed before the step") {
  Model model("mlir");
  const TensorId buffer = model.made("alloc", "memref.alloc", kRow, {});
  const OpId fill = model.builder.add_op("write", "linalg.exp");
  model.builder.add_input(fill, model.row);
  model.builder.add_input(fill, buffer);
  const TensorId read = model.made("read", "bufferization.to_tensor", kRow, {buffer});
  model.made("y", "stablehlo.tanh", kRow, {read});
  const auto graph = model.folded();
  for (const std::string name : {"alloc", "read", "y"}) {
    CHECK_FALSE(graph->is_constant(op(*graph, name)));
  }
}

TEST_CASE("an op that is said to be pure folds whatever its type") {
  Model model("berth");
  const TensorId source = model.made("source", "Read", kWeight, {});
  const TensorId made = model.made("made", "Pack", kWeight, {source});
  model.made("product", "Multiply", kRow, {model.row, made});
  for (const OpId id : {OpId{1}, OpId{2}}) model.builder.set_pure(id);
  const auto graph = model.folded();
  CHECK(graph->constant_count() == 2);
  CHECK(graph->total_param_bytes() == kHalf);
}

TEST_CASE("sizes that the file fixes are there before the step, and what is computed of them") {
  const TensorInfo sizes{DType::i64, true, {2}, kUnknownBytes};
  const auto folded = [&](const std::string& dialect, std::int64_t fixed, std::int64_t rows) {
    Model model(dialect);
    const TensorInfo row{DType::f16, true, {rows, 1024}, kUnknownBytes};
    const TensorId made = model.made("made", "Relu", row, {model.row});
    const TensorId shape = model.made("shape", "Shape", sizes, {made});
    model.builder.set_attribute(2, std::string(ops::kFixedSizesAttribute), fixed);
    const TensorId changed = model.made("changed", "Abs", sizes, {shape});
    model.made("out", "Reshape", row, {made, changed});
    return model.folded();
  };
  for (const char* const dialect : {"onnx", "tf"}) {
    CAPTURE(dialect);
    const auto graph = folded(dialect, 1, 1);
    CHECK(graph->constant_count() == 2);
    CHECK(graph->in_edges(op(*graph, "out")).size() == 1);
    CHECK(graph->in_edges(op(*graph, "shape")).empty());
    CHECK(graph->out_edges(op(*graph, "made")).size() == 1);
    // A few numbers travel where a tool names a device for each op, and not the tensor.
    CHECK(graph->first_reader(op(*graph, "shape")) == op(*graph, "made"));
    CHECK(graph->first_reader(op(*graph, "changed")) == op(*graph, "out"));
    CHECK(folded(dialect, 0, 1)->constant_count() == 0);
    CHECK(folded(dialect, 1, kUnknownDim)->constant_count() == 0);
  }
}

TEST_CASE("sizes of an input are with who reads them") {
  Model model;
  const TensorInfo sizes{DType::i64, true, {2}, kUnknownBytes};
  const TensorId shape = model.made("shape", "Shape", sizes, {model.row});
  model.builder.set_attribute(1, std::string(ops::kFixedSizesAttribute), std::int64_t{1});
  model.made("out", "Reshape", kRow, {model.row, shape});
  const auto graph = model.folded();
  CHECK(graph->constant_count() == 1);
  CHECK(graph->first_reader(op(*graph, "shape")) == op(*graph, "out"));
}

TEST_CASE("sizes of what is behind a branch or a loop are those of the step") {
  const TensorInfo sizes{DType::i64, true, {2}, kUnknownBytes};
  for (const char* const type : {"If", "Loop", "com.microsoft.GreedySearch", "Switch", "While"}) {
    CAPTURE(type);
    Model model(std::string(type) == "Switch" || std::string(type) == "While" ? "tf" : "onnx");
    const TensorId chosen = model.made("chosen", type, kRow, {model.row});
    const TensorId behind = model.made("behind", "Relu", kRow, {chosen});
    const TensorId shape = model.made("shape", "Shape", sizes, {behind});
    model.builder.set_attribute(3, std::string(ops::kFixedSizesAttribute), std::int64_t{1});
    model.made("out", "Reshape", kRow, {model.row, shape});
    CHECK(model.folded()->constant_count() == 0);
  }
}

TEST_CASE("of constants that no op of the step reads, the last one resides") {
  Model model("berth");
  const TensorId source = model.made("source", "Read", kWeight, {});
  model.made("last", "Pack", kRow, {source});
  model.made("product", "Multiply", kRow, {model.row});
  for (const OpId id : {OpId{1}, OpId{2}}) model.builder.set_pure(id);
  const auto graph = model.folded();
  CHECK(graph->constant_count() == 2);
  CHECK(graph->total_param_bytes() == 2 * 1024);
}

TEST_CASE("where nothing would be left to run, nothing is folded") {
  GraphBuilder builder("weights", "onnx");
  const TensorId weight = builder.add_parameter(kWeight, "w");
  const OpId turn = builder.add_op("turn", "Transpose");
  builder.add_input(turn, weight);
  builder.add_output(turn, kWeight);
  CHECK(ops::fold_constants(builder.build())->constant_count() == 0);
}

TEST_CASE("TensorFlow: a variable that the step only reads is a parameter") {
  const TensorInfo handle{DType::opaque, true, {}, 0};
  const auto graph_with = [&](bool trained) {
    Model model("tf");
    const TensorId variable = model.made("v", "VarHandleOp", handle, {});
    const OpId v = 1;
    model.builder.set_param_bytes(v, kHalf);
    const TensorId read = model.made("read", "ReadVariableOp", kWeight, {variable});
    const TensorId y = model.made("product", "MatMul", kRow, {model.row, read});
    for (const OpId id : {v, OpId{2}}) model.builder.set_colocation(id, "v");
    if (trained) {
      model.made("train", "ResourceApplyGradientDescent", {}, {variable, y});
      model.builder.set_colocation(4, "v");
    }
    return model.folded();
  };
  const auto inference = graph_with(false);
  CHECK(inference->constant_count() == 2);
  CHECK(inference->total_param_bytes() == kHalf);
  CHECK(inference->param_bytes(op(*inference, "product")) == kHalf);
  CHECK(inference->colocation(op(*inference, "read")).empty());
  CHECK(graph_with(true)->constant_count() == 0);
}

TEST_CASE("TensorFlow: what is computed of a variable is computed in every step") {
  const TensorInfo handle{DType::opaque, true, {}, 0};
  Model model("tf");
  const TensorId variable = model.made("v", "VarHandleOp", handle, {});
  model.builder.set_param_bytes(1, 2 * kHalf);
  const TensorId read = model.made("read", "ReadVariableOp", kWide, {variable});
  const TensorId same = model.made("same", "Identity", kWide, {read});
  const TensorId narrow = model.made("narrow", "Cast", kWeight, {same});
  model.made("product", "MatMul", kRow, {model.row, narrow});
  const auto graph = model.folded();
  CHECK(graph->constant_count() == 3);
  CHECK_FALSE(graph->is_constant(op(*graph, "narrow")));
  CHECK(graph->param_bytes(op(*graph, "narrow")) == 2 * kHalf);
  CHECK(graph->total_param_bytes() == 2 * kHalf);
}

TEST_CASE("MLIR: what hands a weight from one of a compiler's types to another stands for it") {
  for (const char* const type : {"builtin.unrealized_conversion_cast", "torch_c.to_builtin_tensor",
                                 "torch_c.from_builtin_tensor"}) {
    CAPTURE(type);
    Model model("mlir");
    const TensorId weight = model.builder.add_parameter(kWeight, "w");
    const TensorId other = model.made("other", type, kWeight, {weight});
    const TensorId middle = model.made("first", "linalg.matmul", kRow, {model.row, weight});
    const TensorId second = model.made("second", "linalg.matmul", kRow, {middle, other});
    model.made("handed", type, kRow, {second});
    const auto graph = model.folded();
    CHECK(graph->total_param_bytes() == kHalf);
    CHECK(ops::is_view(*graph, op(*graph, "handed")));
  }
}

TEST_CASE("TensorFlow: a variable that an update takes by its value is written too") {
  Model model("tf");
  const TensorId variable = model.made("v", "VariableV2", kWeight, {});
  const TensorId read = model.made("read", "Identity", kWeight, {variable});
  const TensorId y = model.made("product", "MatMul", kRow, {model.row, read});
  model.made("train", "ApplyGradientDescent", kWeight, {read, y});
  CHECK(model.folded()->constant_count() == 0);
}

TEST_CASE("TensorFlow and compilers compute in the step what grows") {
  const TensorInfo one{DType::f16, true, {}, kUnknownBytes};
  const auto folds = [&](const char* dialect, const char* type, std::int64_t rows) {
    Model model(dialect);
    const TensorInfo info{DType::f16, true, {rows, 1024}, kUnknownBytes};
    const TensorId small = model.builder.add_parameter(one, "value");
    const TensorId filled = model.made("filled", type, info, {small});
    model.made("sum", dialect == std::string("tf") ? "AddV2" : "Add", info, {model.row, filled});
    return model.folded()->constant_count() > 0;
  };
  // 10 MiB and 100 KiB.
  CHECK(folds("tf", "Fill", 5 * 1024));
  CHECK_FALSE(folds("tf", "Fill", 5 * 1024 + 1));
  CHECK(folds("mlir", "tf.Fill", 50));
  CHECK_FALSE(folds("mlir", "tf.Fill", 51));
  CHECK(folds("onnx", "Expand", 8 * 1024));
}

TEST_CASE("pruning a folded graph keeps what is folded") {
  Model model;
  const TensorId weight = model.builder.add_parameter(kWeight, "w");
  const TensorId turned = model.made("turn", "Transpose", kWeight, {weight});
  const TensorId middle = model.made("first", "MatMul", kRow, {model.row, turned});
  model.made("second", "Relu", kRow, {middle});
  const auto graph = prune(*model.folded(), std::vector<std::string>{"first"});
  CHECK(graph->op_count() == 3);
  CHECK(graph->is_constant(op(*graph, "turn")));
  CHECK(graph->total_param_bytes() == kHalf);
}
