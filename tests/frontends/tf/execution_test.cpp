// What load_program adds to the graph: attributes in full, contents, inputs and outputs.
#include <cstring>

#include "berth/sdk/program.h"
#include "support/data.h"
#include "support/expect_error.h"
#include "text_graph.h"

namespace berth::tf_frontend {
namespace {

LoadedProgram load_program(const std::string& bytes, const LoadOptions& options = {}) {
  const test::TemporaryFolder folder;
  write_file(folder / "graph.pbtxt", bytes);
  TensorFlowFrontend frontend{Options{}};
  return frontend.load_program(folder / "graph.pbtxt", options);
}

const Instruction& instruction(const Program& program, const std::string& name) {
  return program.instructions[static_cast<std::size_t>(op_named(*program.graph, name))];
}

template <class Number>
std::vector<Number> numbers(const TensorContent& content) {
  std::vector<Number> out(content.bytes.size() / sizeof(Number));
  std::memcpy(out.data(), content.bytes.data(), content.bytes.size());
  return out;
}

std::string constant(const std::string& name, const std::string& type, const std::string& tensor) {
  return node(name, "Const", "",
              attr("dtype", "type: " + type) +
                  attr("value", "tensor { dtype: " + type + " tensor_shape { " + tensor + " }"));
}

TEST_CASE("constants carry their content") {
  const std::string three = "dim { size: 3 } }";
  const std::string text =
      constant("raw", "DT_INT32",
               three +
                   " tensor_content: '\\001\\000\\000\\000\\002\\000\\000\\000"
                   "\\003\\000\\000\\000'") +
      constant("repeated", "DT_FLOAT", three + " float_val: 1.5 float_val: 2.5") +
      constant("zeros", "DT_DOUBLE", three) +
      constant("half", "DT_HALF", three + " half_val: 15360") +
      constant("flags", "DT_BOOL", three + " bool_val: true bool_val: false bool_val: true") +
      constant("texts", "DT_STRING", three + " string_val: 'a' string_val: 'b'") +
      constant("narrow", "DT_INT8", three + " int_val: -1 int_val: 7") +
      constant("scalar", "DT_INT64", "} int64_val: -5");
  const LoadedProgram loaded = load_program(text);
  const auto content = [&](const std::string& name) -> const TensorContent& {
    const auto* value = instruction(*loaded.program, name).attribute<TensorContent>("value");
    REQUIRE(value != nullptr);
    return *value;
  };
  CHECK(numbers<std::int32_t>(content("raw")) == std::vector<std::int32_t>{1, 2, 3});
  CHECK(numbers<float>(content("repeated")) == std::vector<float>{1.5F, 2.5F, 2.5F});
  CHECK(numbers<double>(content("zeros")) == std::vector<double>{0, 0, 0});
  CHECK(numbers<std::uint16_t>(content("half")) == std::vector<std::uint16_t>{15360, 15360, 15360});
  CHECK(numbers<std::uint8_t>(content("flags")) == std::vector<std::uint8_t>{1, 0, 1});
  CHECK(content("texts").texts == std::vector<std::string>{"a", "b", "b"});
  CHECK(numbers<std::int8_t>(content("narrow")) == std::vector<std::int8_t>{-1, 7, 7});
  CHECK(numbers<std::int64_t>(content("scalar")) == std::vector<std::int64_t>{-5});
  CHECK(content("scalar").shape.empty());
  CHECK(content("raw").shape == std::vector<std::int64_t>{3});
  CHECK(content("half").dtype == DType::f16);
}

TEST_CASE("a constant with more elements than its shape is refused by name") {
  test::expect_error(ErrorCode::invalid_file, {"many", "1 elements"}, [] {
    static_cast<void>(load_program(constant("many", "DT_FLOAT", "} float_val: 1 float_val: 2")));
  });
}

TEST_CASE("attributes come with their types; TensorFlow's own stay out") {
  const std::string text =
      placeholder("x", {1, 4, 4, 2}) +
      node("pool", "AvgPool", "x",
           kFloats + attr("ksize", "list { i: 1 i: 2 i: 2 i: 1 }") + attr("padding", "s: 'SAME'") +
               attr("epsilon", "f: 0.5") + attr("training", "b: true") + attr("count", "i: -3") +
               attr("types", "list { type: DT_FLOAT type: DT_INT32 }") +
               attr("words", "list { s: 'a' s: 'b' }") + attr("reals", "list { f: 1.5 f: -2 }") +
               attr("nothing", "list { }") + shape("size", {2, 3}) + attr("_own", "i: 1"));
  const LoadedProgram loaded = load_program(text);
  const Instruction& pool = instruction(*loaded.program, "pool");
  CHECK(*pool.attribute<DType>("T") == DType::f32);
  CHECK(*pool.attribute<std::vector<std::int64_t>>("ksize") ==
        std::vector<std::int64_t>{1, 2, 2, 1});
  CHECK(*pool.attribute<std::string>("padding") == "SAME");
  CHECK(*pool.attribute<double>("epsilon") == 0.5);
  CHECK(*pool.attribute<std::int64_t>("training") == 1);
  CHECK(*pool.attribute<std::int64_t>("count") == -3);
  CHECK(*pool.attribute<std::vector<DType>>("types") == std::vector<DType>{DType::f32, DType::i32});
  CHECK(*pool.attribute<std::vector<std::string>>("words") == std::vector<std::string>{"a", "b"});
  CHECK(*pool.attribute<std::vector<double>>("reals") == std::vector<double>{1.5, -2});
  CHECK(pool.attribute<std::vector<std::int64_t>>("nothing")->empty());
  CHECK(*pool.attribute<std::vector<std::int64_t>>("size") == std::vector<std::int64_t>{2, 3});
  CHECK(pool.attribute<std::int64_t>("_own") == nullptr);
}

TEST_CASE("large constants are parameters with content; placeholders are inputs") {
  std::string values = "dim { size: 256 } }";
  for (int i = 0; i < 256; ++i) values += " float_val: " + std::to_string(i);
  LoadOptions options;
  options.fetches = {"sum:0", "weight:0"};
  const LoadedProgram loaded = load_program(
      constant("weight", "DT_FLOAT", values) + placeholder("x", {256}) +
          node("sum", "Add", "x weight", kFloats) + node("twice", "Add", "sum weight", kFloats),
      options);
  const Program& program = *loaded.program;
  const ValueId weight = instruction(program, "sum").inputs[1];
  REQUIRE(program.parameters[static_cast<std::size_t>(weight)].has_value());
  const auto content = numbers<float>(*program.parameters[static_cast<std::size_t>(weight)]);
  CHECK(content.size() == 256);
  CHECK(content[255] == 255);
  CHECK(program.inputs == std::vector<OpId>{op_named(*program.graph, "x")});
  CHECK(program.input_names == std::vector<std::string>{"x"});
  CHECK(program.output_names == std::vector<std::string>{"sum:0", "weight:0"});
  CHECK(program.outputs == std::vector<TensorId>{instruction(program, "sum").outputs[0], weight});
}

TEST_CASE("a fetch without outputs stands for the variables that were changed for it") {
  const std::string matrix = attr("dtype", "type: DT_FLOAT") + shape("shape", {2});
  LoadOptions options;
  options.fetches = {"step"};
  const LoadedProgram loaded =
      load_program(placeholder("rate", {}) + placeholder("g", {2}) +
                       node("v", "VariableV2", "", matrix) + node("w", "VariableV2", "", matrix) +
                       node("a", "ApplyGradientDescent", "v rate g", kFloats) +
                       node("b", "ApplyGradientDescent", "w rate g", kFloats) +
                       node("group", "NoOp", "^b") + node("step", "NoOp", "^a ^group"),
                   options);
  CHECK(loaded.program->output_names == std::vector<std::string>{"a:0", "b:0"});
}

TEST_CASE("a fetch that is no output of its node is refused") {
  LoadOptions options;
  options.fetches = {"y:3"};
  test::expect_error(ErrorCode::invalid_graph, {"output 3", "'y'"}, [&] {
    static_cast<void>(
        load_program(placeholder("x", {2}) + node("y", "Relu", "x", kFloats), options));
  });
}

TEST_CASE("variables say what they are before the first step") {
  const auto variable = [](const std::string& name) {
    return node(name, "VariableV2", "", attr("dtype", "type: DT_FLOAT") + shape("shape", {4}));
  };
  const auto number = [](const std::string& name, const std::string& value) {
    return constant(name, "DT_FLOAT", "} float_val: " + value);
  };
  std::string text = placeholder("x", {4}) + number("low", "-0.5") + number("high", "1.5") +
                     number("deviation", "0.1") + number("one", "1") + integers("shape", {4}) +
                     node("random", "RandomUniform", "shape", kFloats) +
                     node("normal", "TruncatedNormal", "shape", kFloats) +
                     node("range", "Sub", "high low", kFloats) +
                     node("scaled", "Mul", "random range", kFloats) +
                     node("uniform", "AddV2", "scaled low", kFloats) +
                     node("narrow", "Mul", "normal deviation", kFloats) +
                     node("ones", "Fill", "shape one", kFloats);
  const std::vector<std::pair<std::string, std::string>> initial = {
      {"a", "uniform"}, {"b", "narrow"}, {"c", "ones"}, {"d", "x"}};
  std::string last = "x";
  for (const auto& [name, value] : initial) {
    text += variable(name) + node(name + "/Assign", "Assign", name + " " + value, kFloats) +
            node("use_" + name, "Add", last + " " + name, kFloats);
    last = "use_" + name;
  }
  LoadOptions options;
  options.fetches = {last};
  const LoadedProgram loaded = load_program(text, options);
  const Program& program = *loaded.program;
  const auto pair = [&](const std::string& name, const char* key) {
    const auto* value = instruction(program, name).attribute<std::vector<double>>(key);
    REQUIRE(value != nullptr);
    return *value;
  };
  CHECK(pair("a", "initial_uniform") == std::vector<double>{-0.5, 1.5});
  CHECK(pair("b", "initial_normal")[0] == 0);
  CHECK(pair("b", "initial_normal")[1] == doctest::Approx(0.1));
  const auto* ones = instruction(program, "c").attribute<TensorContent>("initial_value");
  REQUIRE(ones != nullptr);
  CHECK(numbers<float>(*ones) == std::vector<float>{1});
  for (const char* key : {"initial_uniform", "initial_normal"}) {
    CHECK(instruction(program, "d").attribute<std::vector<double>>(key) == nullptr);
  }
}

TEST_CASE("a loop has its bodies, and a branch outside of one is as it is written") {
  const std::string text =
      placeholder("x", {2}) + integers("limit", {3}, true) + integers("zero", {0}, true) +
      node("enter", "Enter", "zero",
           attr("T", "type: DT_INT32") + attr("frame_name", "s: 'loop'")) +
      node("merge", "Merge", "enter next", attr("T", "type: DT_INT32") + attr("N", "i: 2")) +
      node("bound", "Enter", "limit",
           attr("T", "type: DT_INT32") + attr("frame_name", "s: 'loop'") +
               attr("is_constant", "b: true")) +
      node("less", "Less", "merge bound", attr("T", "type: DT_INT32")) +
      node("cond", "LoopCond", "less") +
      node("switch", "Switch", "merge cond", attr("T", "type: DT_INT32")) +
      node("exit", "Exit", "switch", attr("T", "type: DT_INT32")) +
      node("add", "Add", "switch:1 switch:1", attr("T", "type: DT_INT32")) +
      node("next", "NextIteration", "add", attr("T", "type: DT_INT32")) +
      node("after", "Identity", "exit", attr("T", "type: DT_INT32")) + placeholder("flag", {}) +
      node("yes", "Cast", "flag", attr("DstT", "type: DT_BOOL")) +
      node("branch", "Switch", "x yes", kFloats);
  const LoadedProgram loaded = load_program(text);
  const Program& program = *loaded.program;
  const Instruction& loop = instruction(program, "loop");
  CHECK(loop.obstacle.empty());
  const auto* body = loop.attribute<std::shared_ptr<const Body>>("body");
  REQUIRE(body != nullptr);
  CHECK((*body)->inputs.size() == 1);  // `merge`
  REQUIRE((*body)->instructions.size() == 1);
  CHECK((*body)->instructions[0].type == "Add");
  CHECK((*body)->outputs == (*body)->instructions[0].outputs);
  CHECK(instruction(program, "branch").obstacle.empty());
  CHECK(instruction(program, "branch").type == "Switch");
  CHECK(instruction(program, "after").obstacle.empty());
  CHECK(instruction(program, "after").inputs == instruction(program, "loop").outputs);
}

void check_same_graph(const Graph& a, const Program& program) {
  const Graph& b = *program.graph;
  REQUIRE(a.op_count() == b.op_count());
  REQUIRE(a.tensor_count() == b.tensor_count());
  REQUIRE(program.instructions.size() == static_cast<std::size_t>(b.op_count()));
  REQUIRE(program.parameters.size() == static_cast<std::size_t>(b.tensor_count()));
  bool same = true;
  for (OpId op = 0; op < a.op_count(); ++op) {
    const Instruction& instruction = program.instructions[static_cast<std::size_t>(op)];
    const auto matches = [](std::span<const TensorId> x, std::span<const TensorId> y) {
      return std::equal(x.begin(), x.end(), y.begin(), y.end());
    };
    same = same && a.op_name(op) == b.op_name(op) && instruction.name == a.op_name(op) &&
           instruction.type == a.op_type(op) && matches(a.inputs(op), b.inputs(op)) &&
           matches(instruction.inputs, b.inputs(op)) && matches(a.outputs(op), b.outputs(op)) &&
           matches(instruction.outputs, b.outputs(op));
  }
  CHECK(same);
}

TEST_CASE("the example graphs load as programs: same graph, every variable with a first value") {
  for (const char* file : {"nmt_tiny.pb", "nmt_tiny.pbtxt", "inception_v3_b32.pb.gz",
                           "nasnet_b64.pb.gz", "nmt_b64.pb.gz", "rnnlm_b64.pb.gz"}) {
    CAPTURE(file);
    const std::filesystem::path path = test::source_path("examples/models/tf") / file;
    TensorFlowFrontend frontend{Options{}};
    const LoadedProgram loaded = frontend.load_program(path, {});
    const Program& program = *loaded.program;
    check_same_graph(*frontend.load(path, {}).graph, program);
    CHECK(program.inputs.size() >= 2);
    CHECK(program.outputs.size() > 6);
    int without = 0;
    for (const Instruction& each : program.instructions) {
      CHECK(each.obstacle.empty());
      const bool stated = each.attribute<TensorContent>("initial_value") != nullptr ||
                          each.attribute<std::vector<double>>("initial_uniform") != nullptr ||
                          each.attribute<std::vector<double>>("initial_normal") != nullptr;
      const bool average = each.name.find("/average") != std::string::npos ||
                           each.name.find("ExponentialMovingAverage") != std::string::npos;
      if (each.type == "VariableV2" && !stated && !average) ++without;
    }
    CHECK(without == 0);
  }
}

TEST_CASE("the shared models load as programs") {
  if (!test::have_shared_data("loading TensorFlow's models")) return;
  for (const auto& entry : std::filesystem::directory_iterator(test::shared_path("models/tf"))) {
    TensorFlowFrontend frontend{Options{}};
    if (!entry.is_regular_file() || !frontend.claims(entry.path())) continue;
    CAPTURE(entry.path());
    const std::shared_ptr<const Graph> graph = frontend.load(entry.path(), {}).graph;
    check_same_graph(*graph, *frontend.load_program(entry.path(), {}).program);
  }
}

}  // namespace
}  // namespace berth::tf_frontend
