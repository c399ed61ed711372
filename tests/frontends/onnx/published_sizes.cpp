// The parameters, the cache and the memory of networks whose sizes are published.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "berth/costs.h"
#include "berth/engine.h"
#include "berth/problem.h"
#include "berth/run.h"
#include "berth/settings.h"
#include "berth/simulator.h"
#include "published_models.h"
#include "support/data.h"
#include "support/temporary_folder.h"

namespace berth::test {
namespace {

/// 0 = not published.
struct Published {
  const char* name;
  double parameters;
  double weight_bytes;
  double cache_bytes;  ///< per token
};

constexpr double kShare = 0.02;
constexpr std::int64_t kPast = 1023;  ///< tokens that are kept before the step, which is of one

struct Found {
  double parameters = 0;
  double weight_bytes = 0;
  double cache_bytes = 0;
  double peak_bytes = 0;          ///< caches kept in place
  double copying_peak_bytes = 0;  ///< caches as the file's ops make them
  std::size_t states = 0;
};

/// One device that holds everything, and no host.
std::shared_ptr<const Cluster> large_device() {
  Device device;
  device.name = "gpu:0";
  device.kind = "gpu";
  device.memory_bytes = std::int64_t{1} << 40;
  device.flops = 1e14;
  device.memory_bandwidth = 1e12;
  return std::make_shared<const Cluster>("large", std::vector<Device>{device},
                                         std::vector<LinkSpec>{});
}

double peak_of(const std::shared_ptr<const Graph>& graph) {
  const auto cluster = large_device();
  const Simulator simulator(
      std::make_shared<const Problem>(graph, cluster, Costs::roofline(*graph, *cluster)));
  Simulator::Workspace workspace;
  Evaluation evaluation;
  const Placement placement(static_cast<std::size_t>(graph->op_count()), 0);
  simulator.evaluate(placement, workspace, evaluation);
  return static_cast<double>(evaluation.peak_bytes.at(0));
}

Found weigh(const std::shared_ptr<const Graph>& shared) {
  const Graph& graph = *shared;
  Found found;
  for (TensorId t = 0; t < graph.tensor_count(); ++t) {
    if (graph.maker(t) != kNoOp || graph.tensor_name(t).find(".scale") != std::string::npos) {
      continue;
    }
    found.parameters += static_cast<double>(element_count(graph.shape(t)));
  }
  found.weight_bytes = static_cast<double>(graph.total_param_bytes());
  found.states = graph.states().size();
  for (const Graph::State& state : graph.states()) {
    found.cache_bytes += static_cast<double>(graph.bytes(state.result)) / (kPast + 1);
  }
  found.copying_peak_bytes = peak_of(shared);
  found.peak_bytes = graph.states().empty() ? found.copying_peak_bytes
                                            : peak_of(shared->with_states(graph.states()));
  return found;
}

/// The difference from what is published, as a share of it.
double off(double found, double published) {
  return published == 0 ? 0 : found / published - 1;
}

using Sizes = std::map<std::string, std::int64_t>;

void check(const Published& published, const std::filesystem::path& file, const Sizes& dims) {
  Engine engine({plugin_folder()});
  LoadOptions options;
  options.dims = {dims.begin(), dims.end()};
  const LoadedModel model = engine.load(file, options);
  const Found found = weigh(model.graph);
  CAPTURE(std::string(published.name));
  CHECK(std::abs(off(found.parameters, published.parameters)) <= kShare);
  CHECK(std::abs(off(found.weight_bytes, published.weight_bytes)) <= kShare);
  CHECK(std::abs(off(found.cache_bytes, published.cache_bytes)) <= kShare);
  CHECK((found.states > 0) == (published.cache_bytes > 0));
  const double resident = published.weight_bytes + published.cache_bytes * (kPast + 1);
  CHECK(std::abs(off(found.peak_bytes, resident)) <= kShare);
  // A Concat makes each cache anew beside the one before.
  CHECK(std::abs(off(found.copying_peak_bytes, resident + published.cache_bytes * kPast)) <=
        kShare);
  std::printf(
      "| %-18s | %9.1f | %+6.2f %% | %8.3f | %+6.2f %% | %7.0f | %+6.2f %% | %8.3f | %+6.2f %% | "
      "%8.3f "
      "|\n",
      published.name, found.parameters / 1e6, 100 * off(found.parameters, published.parameters),
      found.weight_bytes / 1e9, 100 * off(found.weight_bytes, published.weight_bytes),
      found.cache_bytes, 100 * off(found.cache_bytes, published.cache_bytes),
      found.peak_bytes / 1e9, 100 * off(found.peak_bytes, resident),
      found.copying_peak_bytes / 1e9);
}

void check(const Published& published, const onnx::ModelProto& model) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "model.onnx";
  std::ofstream(file, std::ios::binary) << model.SerializeAsString();
  check(
      published, file,
      published.cache_bytes > 0 ? Sizes{{"batch", 1}, {"sequence", 1}, {"past", kPast}} : Sizes{});
}

constexpr Decoder kLlama2_7b = {32, 4096, 11008, 32, 32, 32000};
constexpr Decoder kLlama2_13b = {40, 5120, 13824, 40, 40, 32000};

Decoder in_four_bits(Decoder shape) {
  shape.four_bits = true;
  return shape;
}

// Counts of parameters are those of the published checkpoints; bytes of caches are published per
// token in 16 bits, or follow from published shapes.
TEST_CASE("networks weigh what is published of them, within 2 %") {
  std::printf(
      "| network | M parameters | off | GB of weights | off | cache, B/token | off | "
      "peak, GB | off | as the file runs |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  const double kib = 1024;
  check({"Llama 2 7B", 6738.4e6, 2 * 6738.4e6, 512 * kib}, published_decoder(kLlama2_7b));
  check({"Llama 2 7B q4_0", 6738.4e6, 3.79e9, 512 * kib},
        published_decoder(in_four_bits(kLlama2_7b)));
  check({"Llama 2 13B q4_0", 13015.9e6, 7.32e9, 800 * kib},
        published_decoder(in_four_bits(kLlama2_13b)));
  check({"Llama 3 8B", 8030.3e6, 2 * 8030.3e6, 128 * kib},
        published_decoder({32, 4096, 14336, 32, 8, 128256}));
  check({"Mistral 7B", 7241.7e6, 2 * 7241.7e6, 128 * kib},
        published_decoder({32, 4096, 14336, 32, 8, 32000}));
  Decoder mixtral = {32, 4096, 14336, 32, 8, 32000};
  mixtral.experts = 8;
  check({"Mixtral 8x7B", 46702.8e6, 2 * 46702.8e6, 128 * kib}, published_decoder(mixtral));
  Decoder gemma = {18, 2048, 16384, 8, 1, 256000};
  gemma.head_width = 256;
  gemma.tied = true;
  check({"Gemma 2B", 2506.2e6, 2 * 2506.2e6, 18 * kib}, published_decoder(gemma));
  Decoder gpt2_xl = {48, 1600, 6400, 25, 25, 50257};
  gpt2_xl.tied = true;
  gpt2_xl.positions = 1024;
  check({"GPT-2 XL", 1557.6e6, 2 * 1557.6e6, 300 * kib}, published_decoder(gpt2_xl));
  check({"Whisper large-v3", 1543.5e6, 2 * 1543.5e6, 0}, published_whisper());
  check({"SDXL's UNet", 2567.5e6, 2 * 2567.5e6, 0}, published_sdxl());
}

// Their inputs are of one image and of one token, so that next to nothing is computed.
TEST_CASE("the examples weigh what is published of them, within 2 %") {
  const auto example = [](const std::string& name) {
    return source_path("examples/models/" + name + ".onnx");
  };
  check({"BERT base", 109.48e6, 4 * 109.48e6, 0}, example("bert_base"),
        {{"batch", 1}, {"sequence", 1}});
  // Its exporter writes the head as a product with the embedding transposed: a runtime that folds
  // constants has both, as ONNX Runtime has.
  constexpr double kHead = 50257.0 * 768;
  check({"GPT-2", 124.44e6, 4 * (124.44e6 + kHead), 0}, example("gpt2"),
        {{"batch", 1}, {"sequence", 1}});
}

// Ops that a file's runtime leaves to hosts mean nothing to a tool that does not run the file.
TEST_CASE("a tool with a model of its own has its kernels, and its caches in place") {
  Decoder shape = {2, 64, 128, 4, 4, 100};
  onnx::ModelProto model = published_decoder(shape);
  onnx::NodeProto& node = *model.mutable_graph()->add_node();
  node.set_name("/model/layers.0/self_attn/ReduceProd");
  node.set_op_type("ReduceProd");  // of i64: no kernel of ONNX Runtime for GPUs
  node.add_input("input_ids");
  node.add_output("product");
  model.mutable_graph()->add_output()->set_name("product");
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "model.onnx";
  std::ofstream(file, std::ios::binary) << model.SerializeAsString();
  Engine engine({plugin_folder()});
  Settings settings;
  settings.cluster = "2xrtx3090+host:64GiB";
  settings.load.dims = {{"batch", 1}, {"sequence", 1}, {"past", kPast}};
  for (const std::string tool : {"vllm", "onnxruntime"}) {
    CAPTURE(tool);
    settings.tool = tool;
    const Task task = load_task(engine, file.string(), settings);
    const Graph& graph = task.problem->graph();
    const KindId gpu =
        task.problem->cluster().kind_of(*task.problem->cluster().find_device("gpu:0"));
    CHECK(task.problem->costs().can_run(*graph.find_op(node.name()), gpu) == (tool == "vllm"));
    REQUIRE(!graph.states().empty());
    const Graph::State& state = graph.states().front();
    const std::int64_t beside = graph.lasting_bytes(graph.producer(state.result));
    CHECK((beside < graph.output_bytes(state.input)) == (tool == "vllm"));
  }
}

}  // namespace
}  // namespace berth::test
