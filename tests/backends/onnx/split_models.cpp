// A model in parts, a file per device: executed one after the other they compute what the model does.
#include <ATen/Functions.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "berth/files.h"
#include "berth/sdk/random.h"
#include "cpu/backend.h"
#include "frontends/onnx/model_text.h"
#include "support/data.h"
#include "support/expect_error.h"
#include "support/torch_doctest.h"

namespace berth::test {
namespace {

using Tensors = std::map<std::string, TensorContent, std::less<>>;

std::shared_ptr<const Cluster> devices(int count) {
  std::vector<Device> all;
  for (int i = 0; i < count; ++i) {
    Device device;
    device.name = "gpu:" + std::to_string(i);
    device.kind = "gpu";
    all.push_back(device);
  }
  LinkSpec link;
  link.src = link.dst = "*";
  link.bandwidth_bytes_per_s = 1e9;
  return std::make_shared<const Cluster>("parts", all, std::vector<LinkSpec>{link});
}

/// Ops anywhere, those that belong together together.
Placement random_placement(const Graph& graph, int count, std::uint64_t seed) {
  Random random(seed);
  Placement placement;
  std::map<std::string, DeviceId> of_class;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const auto any = static_cast<DeviceId>(random.below(static_cast<std::uint64_t>(count)));
    const std::string& name = graph.colocation(op);
    placement.push_back(name.empty() ? any : of_class.try_emplace(name, any).first->second);
  }
  return placement;
}

/// The outputs of a step by name.
Tensors run(const std::shared_ptr<const Program>& program, const Tensors& inputs) {
  const auto backend = std::make_unique<cpu::CpuBackend>(Options(cpu::kOptions));
  SessionOptions session_options;
  for (const std::string& name : program->input_names) {
    const auto found = inputs.find(name);
    if (found != inputs.end()) session_options.inputs.insert(*found);
  }
  const auto session = backend->open(program, session_options);
  StepOptions options;
  options.outputs = true;
  const StepResult result =
      session->run(Placement(static_cast<std::size_t>(program->graph->op_count()), 0), options);
  Tensors outputs;
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    outputs[program->output_names[i]] = result.outputs[i];
  }
  return outputs;
}

TensorContent numbers(std::vector<std::int64_t> shape, std::uint64_t seed) {
  Random random(seed);
  const auto values = std::make_shared<std::vector<float>>();
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    values->push_back(static_cast<float>(random.below(2000)) / 1000 - 1);
  }
  TensorContent content;
  content.dtype = DType::f32;
  content.shape = std::move(shape);
  content.bytes = std::as_bytes(std::span(*values));
  content.owner = values;
  return content;
}

/// Splits, runs the parts in their order and compares; returns how many there are.
std::size_t check_parts(ModelFolder& models, const std::filesystem::path& path,
                        const Tensors& inputs, int count, std::uint64_t seed) {
  onnx_frontend::OnnxFrontend& frontend = models.frontend();
  const auto whole = frontend.load_program(path, {}).program;
  const Graph& graph = *whole->graph;
  const TemporaryFolder folder;
  const auto parts = frontend.split(path, graph, *devices(count),
                                    random_placement(graph, count, seed), folder.path());
  Tensors have = inputs;
  for (const ModelPart& part : parts) {
    CAPTURE(part.file);
    LoadOptions options;
    for (const std::string& name : part.inputs) {
      REQUIRE(have.contains(name));
      options.shapes[name] = have[name].shape;
    }
    const auto program = frontend.load_program(folder / part.file, options).program;
    CHECK(program->input_names == part.inputs);
    CHECK(program->output_names == part.outputs);
    for (auto& [name, content] : run(program, have)) have[name] = content;
  }
  for (const auto& [name, expected] : run(whole, inputs)) {
    CAPTURE(name);
    REQUIRE(have.contains(name));
    CHECK(have[name].shape == expected.shape);
    CHECK(std::ranges::equal(have[name].bytes, expected.bytes));
  }
  return parts.size();
}

TEST_CASE("parts, run one after the other, give what the model gives, to the last bit") {
  ModelFolder models;
  // A weight that two parts may read, one that is computed from another, an output in the middle.
  const auto path = models.save(parse_graph(R"(
      g (float[3, 4] x) => (float[3, 4] y, float[3, 4] middle)
      <float[4, 4] w = {1., 2., 3., 4., 5., 6., 7., 8., 1., 3., 5., 7., 2., 4., 6., 8.}> {
        t = Transpose<perm = [1, 0]>(w)
        a = MatMul(x, t)
        b = Relu(a)
        middle = MatMul(b, w)
        left, right = Split<axis = 1>(middle)
        c = Mul(left, right)
        d = Concat<axis = 1>(c, right)
        y = Add(d, x)
      })"));
  std::size_t most = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    most = std::max(most, check_parts(models, path, {{"x", numbers({3, 4}, 5)}}, 3, seed));
  }
  CHECK(most > 2);
  CHECK(check_parts(models, source_path("examples/models/tiny_cnn.onnx"),
                    {{"image", numbers({1, 3, 32, 32}, 6)}}, 2, 1) > 1);
}

TEST_CASE("outputs have the types of the graph, where ATen holds wider ones") {
  ModelFolder models;
  const auto path = models.save(parse_graph(R"(
      g (float[3] x) => (uint16[3] a, uint32[3] b, uint64[3] c) {
        a = Cast<to = 4>(x)
        b = Cast<to = 12>(x)
        c = Cast<to = 13>(x)
      })"));
  const auto program = models.frontend().load_program(path, {}).program;
  const auto values = std::make_shared<std::vector<float>>(std::vector<float>{0, 7, 40000});
  TensorContent x{DType::f32, {3}, std::as_bytes(std::span(*values)), {}, values};
  const auto outputs = run(program, {{"x", x}});
  const auto read = [&](const char* name, DType dtype, auto zero) {
    const TensorContent& content = outputs.at(name);
    REQUIRE(content.dtype == dtype);
    REQUIRE(content.bytes.size() == 3 * sizeof zero);
    std::memcpy(&zero, content.bytes.data() + 2 * sizeof zero, sizeof zero);
    CHECK(zero == 40000);
  };
  read("a", DType::u16, std::uint16_t{0});
  read("b", DType::u32, std::uint32_t{0});
  read("c", DType::u64, std::uint64_t{0});
}

TEST_CASE("a part has no nodes that nobody needs") {
  ModelFolder models;
  const auto path = models.save(parse_graph(R"(
      g (float[3, 4] x) => (float[3, 4] y) {
        dead = Exp(x)
        deader = Relu(dead)
        y = Relu(x)
      })"));
  const auto graph = models.frontend().load(path, {}).graph;
  Placement placement(static_cast<std::size_t>(graph->op_count()), 0);
  for (const char* unread : {"dead", "deader"}) {
    if (const auto found = graph->find_op(unread)) placement[static_cast<std::size_t>(*found)] = 1;
  }
  const TemporaryFolder folder;
  const auto parts = models.frontend().split(path, *graph, *devices(2), placement, folder.path());
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].outputs == std::vector<std::string>{"y"});
}

TEST_CASE("weights in files of their own come with the branch and the Constant that hold them") {
  ModelFolder models;
  onnx::ModelProto proto = parse_graph(R"(
      g (bool p, float[2] x) => (float[2] y) {
        c = Constant<value = float[2] {3., 4.}>()
        z = Add(x, c)
        y = If(p) <then_branch = t () => (float[2] a) <float[2] w = {1., 2.}> { a = Mul(z, w) },
                   else_branch = e () => (float[2] b) { b = Neg(z) }>
      })");
  const auto make_external = [&](onnx::TensorProto& tensor, const std::string& file) {
    const std::vector<float> values(tensor.float_data().begin(), tensor.float_data().end());
    std::string bytes = tensor.raw_data();
    if (bytes.empty()) bytes.assign(reinterpret_cast<const char*>(values.data()), 8);
    REQUIRE(bytes.size() == 8);
    std::ofstream(models.folder() / file, std::ios::binary) << bytes;
    tensor.clear_float_data();
    tensor.clear_raw_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    auto* const entry = tensor.add_external_data();
    entry->set_key("location");
    entry->set_value(file);
  };
  auto& nodes = *proto.mutable_graph()->mutable_node();
  make_external(*nodes[0].mutable_attribute(0)->mutable_t(), "c.bin");
  for (auto& attribute : *nodes[2].mutable_attribute()) {
    if (attribute.name() != "then_branch") continue;
    make_external(*attribute.mutable_g()->mutable_initializer(0), "w.bin");
  }
  const auto path = models.save(proto);
  TensorContent yes{DType::boolean, {}, {}, {}, nullptr};
  const auto bytes = std::make_shared<std::vector<std::byte>>(1, std::byte{1});
  yes.bytes = *bytes;
  yes.owner = bytes;
  CHECK(check_parts(models, path, {{"p", yes}, {"x", numbers({2}, 5)}}, 2, 1) >= 1);
}

TEST_CASE("parts hold of external data what their tensors ask for, or say what is wrong with it") {
  ModelFolder models;
  onnx::ModelProto proto =
      parse_graph("g (float[2] x) => (float[2] y) { a = Add(x, v) y = Mul(a, w) }");
  const float numbers[] = {9, 1, 2, 3, 4, 9, 9};
  const std::string bytes(reinterpret_cast<const char*>(numbers), sizeof numbers);
  (void)models.save(bytes, "all.bin");
  for (const auto& [name, offset] : {std::pair{"v", "4"}, std::pair{"w", "12"}}) {
    add_weight(proto, name, {2});
    auto& tensor = *proto.mutable_graph()->mutable_initializer()->rbegin();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] :
         {std::pair{"location", "all.bin"}, std::pair{"offset", offset}}) {
      auto* const entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
  }
  const auto path = models.save(proto);
  const auto graph = models.frontend().load(path, {}).graph;
  const Placement placement = {0, 0, 1};
  const auto split = [&] {
    const TemporaryFolder folder;
    std::vector<std::string> weights;
    for (const ModelPart& part :
         models.frontend().split(path, *graph, *devices(2), placement, folder.path())) {
      std::string name = part.file;
      name.replace(name.rfind('.'), std::string::npos, ".weights");
      weights.push_back(read_file(folder / name));
    }
    return weights;
  };
  CHECK(split() == std::vector{bytes.substr(4, 8), bytes.substr(12, 8)});
  (void)models.save(bytes.substr(0, 19), "all.bin");
  expect_error(ErrorCode::invalid_file,
               {"m.onnx", "'w'", "8 bytes, behind byte 12 of 'all.bin'", "19"}, split);
  (void)models.save(std::string("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
                    "all.bin");
  expect_error(ErrorCode::invalid_file, {"all.bin", "git lfs pull"}, split);
}

TEST_CASE("a sequence and an optional that cross devices are declared as such") {
  ModelFolder models;
  const auto path = models.save(parse_graph(R"(
      g (float[3, 4] x) => (float[3, 4] y, bool has) <int64 first = {0}> {
        list = SequenceConstruct(x, x)
        y = SequenceAt(list, first)
        maybe = Optional(x)
        has = OptionalHasElement(maybe)
      })"));
  const auto graph = models.frontend().load(path, {}).graph;
  Placement placement(static_cast<std::size_t>(graph->op_count()), 0);
  for (const char* reader : {"y", "has"})
    placement[static_cast<std::size_t>(op(*graph, reader))] = 1;
  const TemporaryFolder folder;
  const auto parts = models.frontend().split(path, *graph, *devices(2), placement, folder.path());
  std::map<std::string, onnx::TypeProto> types;
  for (const ModelPart& part : parts) {
    onnx::ModelProto proto;
    std::ifstream file(folder / part.file, std::ios::binary);
    REQUIRE(proto.ParseFromIstream(&file));
    for (const auto& info : proto.graph().output()) types[info.name()] = info.type();
    for (const auto& info : proto.graph().input()) types[info.name()] = info.type();
  }
  const auto element_of = [](const onnx::TypeProto& type) {
    return type.tensor_type().elem_type();
  };
  REQUIRE(types["list"].has_sequence_type());
  CHECK(element_of(types["list"].sequence_type().elem_type()) == onnx::TensorProto::FLOAT);
  REQUIRE(types["maybe"].has_optional_type());
  CHECK(element_of(types["maybe"].optional_type().elem_type()) == onnx::TensorProto::FLOAT);
}

TEST_CASE("an output that no op gives is one of the last part") {
  ModelFolder models;
  const auto path = models.save(parse_graph(R"(
      g (float[3, 4] x) => (float[2] w, float[3, 4] x, float[3, 4] z) <float[2] w = {1., 2.}> {
        y = Relu(x)
        z = Sigmoid(y)
      })"));
  const auto graph = models.frontend().load(path, {}).graph;
  Placement placement(static_cast<std::size_t>(graph->op_count()), 0);
  placement[static_cast<std::size_t>(op(*graph, "z"))] = 1;
  const TemporaryFolder folder;
  const auto parts = models.frontend().split(path, *graph, *devices(2), placement, folder.path());
  REQUIRE(parts.size() == 2);
  CHECK(parts[1].outputs == std::vector<std::string>{"w", "x", "z"});
  CHECK(parts[1].inputs == std::vector<std::string>{"x", "y"});
}

TEST_CASE("a tensor of eight bits that crosses devices keeps its own type") {
  ModelFolder models;
  onnx::ModelProto model = parse_graph(R"(
      g (float[3, 4] x) => (float[3, 4] y) <float scale = {0.5}, int8 zero = {0}> {
        q = QuantizeLinear(x, scale, zero)
        y = DequantizeLinear(q, scale, zero)
      })");
  constexpr int kFloat8 = 19;  // FLOAT8E5M2
  for (onnx::TensorProto& weight : *model.mutable_graph()->mutable_initializer()) {
    if (weight.name() == "zero") weight.set_data_type(kFloat8);
  }
  const auto path = models.save(model);
  const auto graph = models.frontend().load(path, {}).graph;
  Placement placement(static_cast<std::size_t>(graph->op_count()), 0);
  placement[static_cast<std::size_t>(op(*graph, "y"))] = 1;
  const TemporaryFolder folder;
  const auto parts = models.frontend().split(path, *graph, *devices(2), placement, folder.path());
  REQUIRE(parts.size() == 2);
  onnx::ModelProto proto;
  std::ifstream file(folder / parts[1].file, std::ios::binary);
  REQUIRE(proto.ParseFromIstream(&file));
  REQUIRE(proto.graph().input_size() == 1);
  CHECK(proto.graph().input(0).type().tensor_type().elem_type() == kFloat8);
}

}  // namespace
}  // namespace berth::test
