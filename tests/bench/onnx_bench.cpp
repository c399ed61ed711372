// Loading ONNX: a decoder of 10,000 ops with 100 MB of weights in the file, names and shapes as
// exporters write them. Workloads:
//   onnx/parse     Protobuf's own parsing of the whole file, for comparison
//   onnx/skeleton  Protobuf's parsing without the weights, which loading takes beside its own work
//   onnx/load      the frontend: graph built and validated
#include <benchmark/benchmark.h>
#include <onnx/onnx_pb.h>

#include <fstream>
#include <string>
#include <vector>

#include "onnx/frontend.h"
#include "onnx/skeleton.h"
#include "support/temporary_folder.h"

namespace berth::test {
namespace {

constexpr int kOps = 10'000;
constexpr int kOpsPerLayer = 10;
constexpr int kHidden = 160;

class Decoder {
 public:
  Decoder() {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(17);
    auto* const input = model_.mutable_graph()->add_input();
    input->set_name("x");
    auto* const type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    type->mutable_shape()->add_dim()->set_dim_param("batch");
    type->mutable_shape()->add_dim()->set_dim_param("sequence");
    type->mutable_shape()->add_dim()->set_dim_value(kHidden);
    std::string value = "x";
    for (int layer = 0; layer < kOps / kOpsPerLayer; ++layer) value = add_layer(layer, value);
    model_.mutable_graph()->add_output()->set_name(value);
  }

  [[nodiscard]] std::string bytes() const { return model_.SerializeAsString(); }

 private:
  std::string add(const std::string& type, const std::vector<std::string>& inputs) {
    auto* const node = model_.mutable_graph()->add_node();
    const std::string name = prefix_ + type + "_" + std::to_string(model_.graph().node_size());
    node->set_name(name);
    node->set_op_type(type);
    for (const std::string& input : inputs) node->add_input(input);
    node->add_output(name + "_output_0");
    return node->output(0);
  }
  std::string weight(const std::string& name, const std::vector<std::int64_t>& dims) {
    auto* const tensor = model_.mutable_graph()->add_initializer();
    tensor->set_name(prefix_ + name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    std::size_t bytes = sizeof(float);
    for (const std::int64_t dim : dims) {
      tensor->add_dims(dim);
      bytes *= static_cast<std::size_t>(dim);
    }
    tensor->set_raw_data(std::string(bytes, '\1'));
    return tensor->name();
  }
  std::string shape(const std::string& name, const std::vector<std::int64_t>& values) {
    auto* const tensor = model_.mutable_graph()->add_initializer();
    tensor->set_name(prefix_ + name);
    tensor->set_data_type(onnx::TensorProto::INT64);
    tensor->add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values) tensor->add_int64_data(value);
    return tensor->name();
  }
  std::string add_layer(int layer, const std::string& x) {
    prefix_ = "/model/decoder/layers." + std::to_string(layer) + "/";
    const std::string normal = add("LayerNormalization", {x, weight("norm.weight", {kHidden}),
                                                          weight("norm.bias", {kHidden})});
    const std::string projected =
        add("Add", {add("MatMul", {normal, weight("proj.weight", {kHidden, kHidden})}),
                    weight("proj.bias", {kHidden})});
    const std::string heads = add("Reshape", {projected, shape("heads", {0, 0, 4, -1})});
    const std::string swapped = add("Transpose", {heads});
    const std::string soft = add("Softmax", {swapped});
    const std::string back = add("Reshape", {add("Transpose", {soft}), shape("flat", {0, 0, -1})});
    return add("Add", {add("Erf", {back}), x});
  }

  onnx::ModelProto model_;
  std::string prefix_;
};

const std::filesystem::path& decoder_file() {
  static const TemporaryFolder folder;
  static const std::filesystem::path path = [] {
    std::ofstream(folder / "decoder.onnx", std::ios::binary) << Decoder().bytes();
    return folder / "decoder.onnx";
  }();
  return path;
}

std::string decoder_bytes() {
  std::ifstream in(decoder_file(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void parse(benchmark::State& state) {
  const std::string bytes = decoder_bytes();
  for (auto _ : state) {
    onnx::ModelProto model;
    benchmark::DoNotOptimize(model.ParseFromString(bytes));
  }
}
BENCHMARK(parse)->Name("onnx/parse")->Unit(benchmark::kMillisecond);

void parse_skeleton(benchmark::State& state) {
  const std::string bytes =
      onnx_frontend::make_skeleton(decoder_bytes(), decoder_file().string()).bytes;
  for (auto _ : state) {
    onnx::ModelProto model;
    benchmark::DoNotOptimize(model.ParseFromString(bytes));
  }
}
BENCHMARK(parse_skeleton)->Name("onnx/skeleton")->Unit(benchmark::kMillisecond);

void load(benchmark::State& state) {
  onnx_frontend::OnnxFrontend frontend{Options{}};
  for (auto _ : state) {
    const LoadedModel model = frontend.load(decoder_file(), {});
    if (model.graph->op_count() != kOps + 1) state.SkipWithError("not the decoder");
  }
  state.counters["file_mb"] = static_cast<double>(std::filesystem::file_size(decoder_file())) / 1e6;
}
BENCHMARK(load)->Name("onnx/load")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth::test
