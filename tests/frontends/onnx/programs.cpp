// Models with all that executing them needs.
#include <cstring>

#include "berth/error.h"
#include "model_text.h"
#include "support/expect_error.h"
#include "support/mapped_file.h"

namespace berth::test {
namespace {

using onnx::TensorProto;

std::shared_ptr<const Program> load(ModelFolder& folder, const onnx::ModelProto& model,
                                    const LoadOptions& options = {}) {
  return folder.frontend().load_program(folder.save(model), options).program;
}

const Instruction& instruction(const Program& program, std::string_view name) {
  return program.instructions[static_cast<std::size_t>(op(*program.graph, name))];
}

/// The content of a parameter as numbers of type T.
template <class T>
std::vector<T> numbers(const TensorContent& content) {
  std::vector<T> values(content.bytes.size() / sizeof(T));
  std::memcpy(values.data(), content.bytes.data(), values.size() * sizeof(T));
  return values;
}

const std::optional<TensorContent>& parameter(const Program& program, std::string_view name) {
  return program.parameters[static_cast<std::size_t>(find_tensor(*program.graph, name).value())];
}

/// Graph::inputs(op) is Instruction::inputs then captured, Graph::outputs(op) without kNoValue.
void check_ids(const Program& program) {
  const Graph& graph = *program.graph;
  REQUIRE(program.instructions.size() == static_cast<std::size_t>(graph.op_count()));
  REQUIRE(program.parameters.size() == static_cast<std::size_t>(graph.tensor_count()));
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const Instruction& made = program.instructions[static_cast<std::size_t>(op)];
    std::vector<ValueId> read = made.inputs;
    read.insert(read.end(), made.captured.begin(), made.captured.end());
    CHECK(std::vector<ValueId>(graph.inputs(op).begin(), graph.inputs(op).end()) == read);
    std::vector<ValueId> written = made.outputs;
    std::erase(written, kNoValue);
    CHECK(std::vector<ValueId>(graph.outputs(op).begin(), graph.outputs(op).end()) == written);
    CHECK(made.name == graph.op_name(op));
    CHECK(made.type == graph.op_type(op));
  }
}

TEST_CASE("load_program: ids, interface, attributes") {
  ModelFolder folder;
  const auto program = load(folder, parse_graph(R"(
      g (float[1, 2, 4, 4] x, float[2] unused) => (float[1, 2, 2, 2] y, float[1, 2, 4, 4] z) {
        z = Elu<alpha = 0.5>(x)
        y, drop = MaxPool<kernel_shape = [2, 2], auto_pad = "VALID", strides = [2, 2]>(z)
        c = com.microsoft.Gelu(x)
      })"));
  check_ids(*program);
  CHECK(program->input_names == std::vector<std::string>{"x", "unused"});
  CHECK(program->output_names == std::vector<std::string>{"y", "z"});
  CHECK(program->outputs == std::vector<TensorId>{find_tensor(*program->graph, "y").value(),
                                                  find_tensor(*program->graph, "z").value()});
  const Instruction& pool = instruction(*program, "y");
  CHECK(pool.version == 17);
  CHECK(*pool.attribute<std::vector<std::int64_t>>("kernel_shape") ==
        std::vector<std::int64_t>{2, 2});
  CHECK(*pool.attribute<std::string>("auto_pad") == "VALID");
  CHECK(pool.attribute<std::int64_t>("auto_pad") == nullptr);
  CHECK(*instruction(*program, "z").attribute<double>("alpha") == 0.5);
  CHECK(instruction(*program, "c").type == "com.microsoft.Gelu");
  CHECK(instruction(*program, "c").version == 1);
}

TEST_CASE("load_program: the graph is the one that load gives") {
  ModelFolder folder;
  const auto model = parse_graph(R"(
      g (float[2] x) => (float[2] y, float[2] z) {
        a = Relu(x)  k = Constant<value = float[2] {1, 2}>()  y = Add(a, k)
        n = Neg(x)  z = Mul(n, a)
      })");
  for (const std::vector<std::string>& fetches :
       {std::vector<std::string>{}, std::vector<std::string>{"z"}, {"z", "a"}}) {
    LoadOptions options;
    options.fetches = fetches;
    const auto program = load(folder, model, options);
    const auto graph = folder.load(model, options).graph;
    check_ids(*program);
    REQUIRE(program->graph->op_count() == graph->op_count());
    REQUIRE(program->graph->tensor_count() == graph->tensor_count());
    for (TensorId tensor = 0; tensor < graph->tensor_count(); ++tensor) {
      CHECK(program->graph->tensor_name(tensor) == graph->tensor_name(tensor));
    }
    if (!fetches.empty()) CHECK(program->output_names == fetches);
  }
}

TEST_CASE("load_program: contents of weights in every form") {
  ModelFolder folder;
  auto model = parse_graph(
      "g (float[2] x) => (float[2] y) { y = Custom(x, raw, typed, half, four, "
      "flag, sparse, text, empty, ints) ints = Constant<value_ints = [4, 5]>() }");
  auto& graph = *model.mutable_graph();
  const float values[] = {1.5F, -2};
  add_weight(model, "raw", {2});
  graph.mutable_initializer(0)->set_raw_data(
      std::string(reinterpret_cast<const char*>(values), sizeof values));
  add_weight(model, "typed", {3}, TensorProto::INT16);
  for (const int value : {-3, 70, 0}) graph.mutable_initializer(1)->add_int32_data(value);
  add_weight(model, "half", {1}, TensorProto::FLOAT16);
  graph.mutable_initializer(2)->add_int32_data(0x3C00);
  add_weight(model, "four", {3}, 22);  // int4: two to a byte
  graph.mutable_initializer(3)->add_int32_data(0x21);
  graph.mutable_initializer(3)->add_int32_data(0x03);
  add_weight(model, "flag", {2}, TensorProto::BOOL);
  for (const int value : {1, 0}) graph.mutable_initializer(4)->add_int32_data(value);
  add_weight(model, "text", {2}, TensorProto::STRING);
  for (const char* const text : {"a", "\xFFz"}) graph.mutable_initializer(5)->add_string_data(text);
  add_weight(model, "empty", {2});  // no data at all: left to whoever runs it
  auto* const sparse = graph.add_sparse_initializer();
  sparse->mutable_values()->set_name("sparse");
  sparse->mutable_values()->set_data_type(TensorProto::FLOAT);
  sparse->mutable_values()->add_dims(1);
  sparse->mutable_values()->add_float_data(7);
  sparse->mutable_indices()->set_data_type(TensorProto::INT64);
  for (const int dim : {1, 2}) sparse->mutable_indices()->add_dims(dim);
  for (const int index : {1, 0}) sparse->mutable_indices()->add_int64_data(index);
  for (const int dim : {2, 2}) sparse->add_dims(dim);

  const auto program = load(folder, model);
  check_ids(*program);
  CHECK(numbers<float>(*parameter(*program, "raw")) == std::vector<float>{1.5F, -2});
  CHECK(numbers<std::int16_t>(*parameter(*program, "typed")) ==
        std::vector<std::int16_t>{-3, 70, 0});
  CHECK(numbers<std::uint16_t>(*parameter(*program, "half")) == std::vector<std::uint16_t>{0x3C00});
  CHECK(numbers<std::uint8_t>(*parameter(*program, "four")) ==
        std::vector<std::uint8_t>{0x21, 0x03});
  CHECK(numbers<std::uint8_t>(*parameter(*program, "flag")) == std::vector<std::uint8_t>{1, 0});
  CHECK(parameter(*program, "text")->texts == std::vector<std::string>{"a", "\xFFz"});
  CHECK(numbers<float>(*parameter(*program, "sparse")) == std::vector<float>{0, 0, 7, 0});
  CHECK(numbers<std::int64_t>(*parameter(*program, "ints")) == std::vector<std::int64_t>{4, 5});
  CHECK(!parameter(*program, "empty").has_value());
}

TEST_CASE("load_program: raw weights are not copied and outlive the frontend's file") {
  ModelFolder folder;
  auto model = parse_graph("g (float[100000] x) => (float[100000] y) { y = Add(x, w) }");
  add_weight(model, "w", {100000});
  model.mutable_graph()->mutable_initializer(0)->set_raw_data(std::string(400000, '\1'));
  const auto file = std::make_shared<const frontend::MappedFile>(folder.save(model));
  const auto program =
      onnx_frontend::load_program(file->bytes(), file, folder.folder() / "m.onnx", {}).program;
  const auto& content = parameter(*program, "w").value();
  const auto* const begin = reinterpret_cast<const std::byte*>(file->bytes().data());
  CHECK(content.bytes.data() > begin);
  CHECK(content.bytes.data() < begin + file->bytes().size());
  CHECK(content.owner == file);
}

TEST_CASE("load_program: external weights") {
  ModelFolder folder;
  auto model = parse_graph("g (float[2] x) => (float[2] y) { y = Add(x, w) }");
  add_weight(model, "w", {2});
  auto* const weight = model.mutable_graph()->mutable_initializer(0);
  weight->set_data_location(TensorProto::EXTERNAL);
  const auto set = [&](const char* key, const std::string& value) {
    auto* const entry = weight->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  set("location", "w.bin");
  set("offset", "4");
  CHECK(!parameter(*load(folder, model), "w").has_value());  // the file is not there

  const float values[] = {9, 3, 4};
  folder.save(std::string(reinterpret_cast<const char*>(values), sizeof values), "w.bin");
  CHECK(numbers<float>(*parameter(*load(folder, model), "w")) == std::vector<float>{3, 4});

  folder.save(std::string(11, '\0'), "w.bin");
  expect_error(ErrorCode::invalid_file, {"m.onnx", "tensor 'w'", "w.bin", "11"},
               [&] { (void)load(folder, model); });
  // Nothing is added to an offset that leaves no room for it.
  weight->mutable_external_data(1)->set_value("18446744073709551612");
  expect_error(ErrorCode::invalid_file, {"8 bytes, behind byte 18446744073709551612 of 'w.bin'"},
               [&] { (void)load(folder, model); });
  set("length", "4");
  expect_error(ErrorCode::invalid_file, {"tensor 'w'", "4 bytes", "asks for 8"},
               [&] { (void)load(folder, model); });
}

TEST_CASE("load_program: data shorter than its shape names the tensor") {
  ModelFolder folder;
  auto model = parse_graph("g (float[2] x) => (float[2] y) { y = Add(x, w) }");
  add_weight(model, "w", {2});
  model.mutable_graph()->mutable_initializer(0)->add_float_data(1);
  expect_error(ErrorCode::invalid_file, {"m.onnx", "tensor 'w'", "4 bytes", "asks for 8"},
               [&] { (void)load(folder, model); });
}

TEST_CASE("load_program: sparse weights with indices outside") {
  ModelFolder folder;
  auto model = parse_graph("g (float[2] x) => (float[2] y) { y = Add(x, w) }");
  auto* const sparse = model.mutable_graph()->add_sparse_initializer();
  sparse->mutable_values()->set_name("w");
  sparse->mutable_values()->set_data_type(TensorProto::FLOAT);
  sparse->mutable_values()->add_dims(1);
  sparse->mutable_values()->add_float_data(7);
  sparse->mutable_indices()->set_data_type(TensorProto::INT64);
  sparse->mutable_indices()->add_dims(1);
  sparse->mutable_indices()->add_int64_data(2);
  sparse->add_dims(2);
  expect_error(ErrorCode::invalid_file, {"tensor 'w'", "index 2"},
               [&] { (void)load(folder, model); });
}

TEST_CASE("load_program: bodies") {
  ModelFolder folder;
  const auto program = load(folder, parse_graph(R"(
      g (float[2] x, bool c) => (float[2] y) {
        k = Neg(x)
        y = If (c) <
          then_branch = t () => (float[2] a) {
            one = Constant<value = float[2] {1, 1}>()
            a = Add(k, one)
          },
          else_branch = e () => (float[2] b) { b = Sub(x, k) }
        >
      })"));
  check_ids(*program);
  const Instruction& branch = instruction(*program, "y");
  CHECK(branch.captured.size() == 2);
  const auto& then_body = **branch.attribute<std::shared_ptr<const Body>>("then_branch");
  REQUIRE(then_body.constants.size() == 1);
  CHECK(numbers<float>(then_body.constants[0].second) == std::vector<float>{1, 1});
  CHECK(then_body.constants[0].first >= program->graph->tensor_count());
  REQUIRE(then_body.instructions.size() == 1);
  const Instruction& add = then_body.instructions[0];
  CHECK(add.inputs == std::vector<ValueId>{find_tensor(*program->graph, "k").value(),
                                           then_body.constants[0].first});
  CHECK(then_body.outputs == add.outputs);
  CHECK(branch.obstacle.empty());
}

TEST_CASE("load_program: long lists that the graph does without") {
  ModelFolder folder;
  auto model = parse_graph("g (float[2] x) => (float[2] y) { y = Custom(x) }");
  auto* const attribute = model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name("table");
  attribute->set_type(onnx::AttributeProto::FLOATS);
  for (int i = 0; i < 10000; ++i) attribute->add_floats(static_cast<float>(i));
  const auto program = load(folder, model);
  CHECK(program->graph->attribute(op(*program->graph, "y"), "table") == nullptr);
  const auto* const table = instruction(*program, "y").attribute<std::vector<double>>("table");
  REQUIRE(table != nullptr);
  CHECK(table->size() == 10000);
  CHECK(table->back() == 9999);
}

TEST_CASE("load_program: what cannot be executed says why") {
  ModelFolder folder;
  auto model = parse_graph("g (float[2] x) => (float[2] y) { y = Custom(x) }");
  auto* const attribute = model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name("tables");
  attribute->set_type(onnx::AttributeProto::TENSORS);
  attribute->add_tensors()->set_data_type(TensorProto::FLOAT);
  CHECK(instruction(*load(folder, model), "y").obstacle.find("'tables'") != std::string::npos);
}

TEST_CASE("load_program: a Constant that the model returns") {
  ModelFolder folder;
  const auto program =
      load(folder, parse_graph("g () => (float[2] k) { k = Constant<value = float[2] {1, 2}>() }"));
  const auto* const value = instruction(*program, "k").attribute<TensorContent>("value");
  REQUIRE(value != nullptr);
  CHECK(numbers<float>(*value) == std::vector<float>{1, 2});
}

}  // namespace
}  // namespace berth::test
