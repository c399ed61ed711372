// Whole models on the kernels, against what other engines compute (make_expected_outputs.py).
#include <ATen/Functions.h>
#include <doctest/doctest.h>
#include <onnx/defs/tensor_proto_util.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/onnx/values.h"
#include "onnx/frontend.h"
#include "runtime/onnx/kernels.h"
#include "runtime/tensors.h"
#include "support/data.h"
#include "support/temporary_folder.h"

namespace berth::test {
namespace {

using nlohmann::json;
using runtime::Value;

// The formulas of make_expected_outputs.py.
at::Tensor filled(const json& formula, DType dtype) {
  const auto shape = formula.at("shape").get<std::vector<std::int64_t>>();
  const std::int64_t size = element_count(shape);
  const at::Tensor index = at::arange(size, at::kDouble);
  const auto fill = formula.at("fill").get<std::string>();
  at::Tensor values;
  if (fill == "wave") {
    values = at::mul(at::sin(at::add(index, 1)), formula.at("scale").get<double>());
  } else if (fill == "scatter") {
    constexpr double kPrime = 10007;  // exact below 2^53, whatever computes it
    const at::Tensor rest = at::remainder(index, kPrime);
    const at::Tensor cube = at::remainder(at::mul(at::mul(rest, rest), rest), kPrime);
    values =
        at::add(at::mul(at::sub(at::div(cube, kPrime), 0.5), formula.at("scale").get<double>()),
                formula.at("offset").get<double>());
  } else if (fill == "count") {
    values = at::remainder(index, formula.at("modulus").get<double>());
  } else {
    values = at::full({size}, formula.at("value").get<double>(), at::kDouble);
  }
  return values.to(runtime::scalar_type(dtype)).reshape(shape);
}

json scatter(const std::vector<std::int64_t>& shape, double offset, double scale) {
  return {{"fill", "scatter"}, {"offset", offset}, {"scale", scale}, {"shape", shape}};
}

/// Makes the constants of one of ONNX's light models inputs and drops its softmax, as
/// make_expected_outputs.py says and does; the formulas of the new inputs by name.
json lit(onnx::ModelProto& model) {
  onnx::GraphProto& graph = *model.mutable_graph();
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    if (tensor.data_type() == onnx::TensorProto::INT64) {
      shapes[tensor.name()] = onnx::ParseData<std::int64_t>(&tensor);
    }
  }
  std::set<std::string> normalise;
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() != "BatchNormalization") continue;
    normalise.insert(node.input().begin(), node.input().end());
  }
  json formulas;
  onnx::GraphProto kept;
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() == "ConstantOfShape") {
      const std::string& name = node.output(0);
      const std::vector<std::int64_t>& shape = shapes.at(node.input(0));
      auto* const input = graph.add_input();
      input->set_name(name);
      auto* const type = input->mutable_type()->mutable_tensor_type();
      type->set_elem_type(onnx::TensorProto::FLOAT);
      for (const std::int64_t dim : shape) type->mutable_shape()->add_dim()->set_dim_value(dim);
      const double fan_in =
          static_cast<double>(element_count(shape)) / static_cast<double>(shape[0]);
      formulas[name] = shape.size() >= 2          ? scatter(shape, 0, std::sqrt(24 / fan_in))
                       : normalise.contains(name) ? scatter(shape, 1, 1)
                                                  : scatter(shape, 0, 0.1);
    } else if (node.op_type() == "Softmax") {
      graph.mutable_output(0)->set_name(node.input(0));
    } else {
      *kept.add_node() = node;
    }
  }
  graph.mutable_node()->Swap(kept.mutable_node());
  return formulas;
}

// f32 sums of thousands of terms in another order: 1e-3 of an element or 1e-4 of the largest.
void check_output(const json& expected, const Value& got) {
  if (expected.is_null()) {
    REQUIRE(got.structure != nullptr);
    CHECK(static_cast<int>(got.structure->kind) ==
          static_cast<int>(runtime::Structure::Kind::nothing));
    return;
  }
  REQUIRE(got.tensor.defined());
  CHECK(got.tensor.sizes().vec() == expected.at("shape").get<std::vector<std::int64_t>>());
  const at::Tensor flat = got.tensor.reshape({-1}).to(at::kDouble).contiguous();
  const auto elements = expected.at("elements").get<std::vector<double>>();
  const auto step = expected.at("step").get<std::int64_t>();
  double largest = 0;
  for (const double element : elements) largest = std::max(largest, std::abs(element));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::int64_t at = static_cast<std::int64_t>(i) * step;
    REQUIRE(at < flat.numel());
    const double value = flat.data_ptr<double>()[at];
    const double difference = std::abs(value - elements[i]);
    CAPTURE(at);
    CAPTURE(value);
    CAPTURE(elements[i]);
    CHECK(difference <= std::max(1e-3 * std::abs(elements[i]), 1e-4 * largest));
  }
}

TEST_CASE("shared models compute what other engines do") {
  if (!have_shared_data("the comparison of whole models")) return;
  std::ifstream in(source_path("tests/backends/onnx/expected_outputs.json"));
  const json models = json::parse(in);
  for (const auto& [name, expected] : models.items()) {
    CAPTURE(name);
    std::filesystem::path file = shared_path("models/onnx/" + name + ".onnx");
    json formulas = expected.at("inputs");
    const TemporaryFolder folder;
    if (name.starts_with("light_")) {
      onnx::ModelProto proto;
      std::ifstream stream(file, std::ios::binary);
      REQUIRE(proto.ParseFromIstream(&stream));
      formulas.update(lit(proto));
      file = folder / "lit.onnx";
      std::ofstream(file, std::ios::binary) << proto.SerializeAsString();
    }
    const CpuModel model(file);
    const Program& program = model.program();
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      const TensorId tensor = program.graph->outputs(program.inputs[i]).front();
      const DType dtype = program.graph->dtype(tensor);
      inputs.push_back({filled(formulas.at(program.input_names[i]), dtype), nullptr});
    }
    const std::vector<Value> outputs = model.run(inputs);
    REQUIRE(outputs.size() == expected.at("outputs").size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      CAPTURE(program.output_names[i]);
      check_output(expected.at("outputs").at(program.output_names[i]), outputs[i]);
    }
  }
  std::cout << "whole models: " << models.size() << " compute what other engines do\n";
}

// Of the shared models: classical ML, other vendors' ops, generation loops, ops that do not exist.
const std::set<std::string> kWithoutKernel = {
    "Matmul",
    "ai.onnx.ml.ArrayFeatureExtractor",
    "ai.onnx.ml.FeatureVectorizer",
    "ai.onnx.ml.Imputer",
    "ai.onnx.ml.Scaler",
    "ai.onnx.ml.TreeEnsembleClassifier",
    "ai.onnx.ml.ZipMap",
    "com.microsoft.BeamSearch",
    "com.microsoft.EPContext",
    "org.pytorch.aten.ATen",
};

void collect_lacking(const std::vector<Instruction>& instructions, std::set<std::string>& lacking) {
  for (const Instruction& op : instructions) {
    if (op.type != "Input" && runtime::onnx_kernels().find(op.type) == nullptr) {
      lacking.insert(op.type);
    }
    for (const auto& [name, content] : op.attributes) {
      const auto* const body = std::get_if<std::shared_ptr<const Body>>(&content);
      if (body != nullptr) collect_lacking((*body)->instructions, lacking);
    }
  }
}

TEST_CASE("the ops of the shared models have kernels") {
  if (!have_shared_data("the list of ops without kernels")) return;
  onnx_frontend::OnnxFrontend frontend{Options{}};
  std::set<std::string> lacking;
  for (const auto& entry : std::filesystem::directory_iterator(shared_path("models/onnx"))) {
    if (entry.path().extension() != ".onnx") continue;
    collect_lacking(frontend.load_program(entry.path(), {}).program->instructions, lacking);
  }
  CHECK(lacking == kWithoutKernel);
}

TEST_CASE("the examples run with drawn weights") {
  using Dims = std::map<std::string, std::int64_t>;
  const Dims image = {{"batch", 1}};
  const Dims text = {{"batch", 1}, {"sequence", 8}};
  const std::map<std::string, Dims> examples = {{"tiny_cnn", image},
                                                {"resnet50", image},
                                                {"inception_v3", image},
                                                {"bert_base", text},
                                                {"gpt2", text}};
  for (const auto& [name, dims] : examples) {
    CAPTURE(name);
    CpuModel model(source_path("examples/models/" + name + ".onnx"), dims);
    model.draw_weights(7);
    const Program& program = model.program();
    std::vector<Value> inputs;
    for (const OpId op : program.inputs) {
      const TensorId tensor = program.graph->outputs(op).front();
      const auto shape = program.graph->shape(tensor);
      inputs.push_back({at::ones(at::IntArrayRef(shape.data(), shape.size()),
                                 runtime::scalar_type(program.graph->dtype(tensor))),
                        nullptr});
    }
    const std::vector<Value> outputs = model.run(inputs);
    REQUIRE(!outputs.empty());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto shape = program.graph->shape(program.outputs[i]);
      CHECK(outputs[i].tensor.sizes() == at::IntArrayRef(shape.data(), shape.size()));
      CHECK(at::isfinite(outputs[i].tensor).all().item<bool>());
    }
  }
}

}  // namespace
}  // namespace berth::test
