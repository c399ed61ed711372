// Loading TensorFlow's graphs: NASNet as in examples/, 31,476 nodes, 17,441 of them in its step.
// Workloads:
//   tf/parse      Protobuf's own parsing of the decompressed file, for comparison
//   tf/load       the frontend: decompressed, the step selected, shaped, built and validated
//   tf/ready      the same, with costs for four GPUs and 128 groups: ready to be placed
#include <benchmark/benchmark.h>

#include <filesystem>

#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/files.h"
#include "berth/groups.h"
#include "berth/problem.h"
#include "berth/sdk/gzip.h"
#include "frontends/tf/proto/graph.pb.h"
#include "support/paths.h"
#include "tf/frontend.h"

namespace berth::test {
namespace {

constexpr GroupId kGroups = 128;

std::filesystem::path nasnet() {
  return test::source_folder() / "examples/models/tf/nasnet_b64.pb.gz";
}

void parse(benchmark::State& state) {
  const std::string bytes = gunzip(read_file(nasnet()), "nasnet");
  for (auto _ : state) {
    tf_files::GraphDef graph;
    benchmark::DoNotOptimize(graph.ParseFromString(bytes));
  }
  state.counters["file_mb"] = static_cast<double>(bytes.size()) / 1e6;
}
BENCHMARK(parse)->Name("tf/parse")->Unit(benchmark::kMillisecond);

void load(benchmark::State& state) {
  tf_frontend::TensorFlowFrontend frontend{Options{}};
  for (auto _ : state) {
    const LoadedModel model = frontend.load(nasnet(), {});
    state.counters["ops"] = model.graph->op_count();
  }
}
BENCHMARK(load)->Name("tf/load")->Unit(benchmark::kMillisecond);

void ready(benchmark::State& state) {
  tf_frontend::TensorFlowFrontend frontend{Options{}};
  const auto cluster = Cluster::preset("k80x4");
  for (auto _ : state) {
    const auto graph = frontend.load(nasnet(), {}).graph;
    const auto costs = Costs::roofline(*graph, *cluster);
    const auto groups = coarsen(*graph, *costs, kGroups);
    const Problem problem(graph, cluster, costs, groups);
    state.counters["groups"] = groups->count();
  }
}
BENCHMARK(ready)->Name("tf/ready")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth::test
