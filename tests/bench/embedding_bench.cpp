// What embedding costs beside the policies.
// Workloads: embed/c_graph_bulk and embed/c_graph_calls, a graph of 100,000 ops and 180,000 edges
// through the C ABI, by arrays or by a call for each; embed/policy_by_name and embed/unknown_name, heft
// and a misspelt name in a fresh engine, over all plugins of the build.
#include <benchmark/benchmark.h>
#include <berth/c.h>

#include <memory>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/error.h"
#include "berth/sdk/random.h"
#include "support/paths.h"

namespace berth::test {
namespace {

constexpr std::int32_t kOps = 100000;

/// What a compiler has: names, sizes and costs in arrays, and edges to earlier ops.
struct Arrays {
  Arrays() {
    Random random(7);
    for (std::int32_t op = 0; op < kOps; ++op) {
      names.push_back("module/block_" + std::to_string(op / 100) + "/op_" + std::to_string(op));
      types.push_back({"stablehlo.add", 13});
      cost_us.push_back(1 + random.uniform());
      bytes.push_back(4096);
      for (int i = 0; i < 2 && op >= 2 && (i == 0 || op % 5 != 0); ++i) {
        src.push_back(op - 1 - i - static_cast<std::int32_t>(random.below(op > 40 ? 20 : 1)));
        dst.push_back(op);
      }
    }
    for (const std::string& name : names) views.push_back({name.data(), name.size()});
  }
  std::vector<std::string> names;
  std::vector<berth_text> views, types;
  std::vector<double> cost_us;
  std::vector<std::int64_t> bytes;
  std::vector<std::int32_t> src, dst;
};

const Arrays& arrays() {
  static const Arrays all;
  return all;
}

void check(benchmark::State& state, berth_status status) {
  if (status != BERTH_OK) state.SkipWithError(berth_message().data);
}

/// Builds, freezes and releases a graph that `fill(builder)` fills.
template <typename Fill>
void build_graph(benchmark::State& state, const Fill& fill) {
  static_cast<void>(arrays());
  for (auto _ : state) {
    berth_builder* builder = nullptr;
    berth_graph* graph = nullptr;
    check(state, berth_builder_new({"bench", 5}, {"mlir", 4}, &builder));
    fill(builder);
    check(state, berth_builder_finish(builder, &graph));
    berth_release(builder);
    state.PauseTiming();
    berth_release(graph);
    state.ResumeTiming();
  }
  state.counters["ops"] = kOps;
}

void by_arrays(benchmark::State& state) {
  const Arrays& all = arrays();
  build_graph(state, [&](berth_builder* builder) {
    check(state, berth_builder_ops(builder, all.names.size(), all.views.data(), all.types.data(),
                                   all.cost_us.data(), all.bytes.data(), nullptr, nullptr));
    check(state, berth_builder_edges(builder, all.src.size(), all.src.data(), all.dst.data()));
  });
}

void by_calls(benchmark::State& state) {
  const Arrays& all = arrays();
  std::vector<std::int32_t> outputs(all.names.size());
  build_graph(state, [&](berth_builder* builder) {
    berth_tensor tensor = BERTH_TENSOR_INIT;
    const std::int64_t shape[] = {32, 32};
    tensor.dtype = {"f32", 3};
    tensor.shape = shape;
    tensor.rank = 2;
    std::size_t edge = 0;
    for (std::size_t i = 0; i < all.names.size(); ++i) {
      std::int32_t op = 0;
      check(state, berth_builder_op(builder, all.views[i], all.types[i], &op));
      check(state, berth_builder_cost(builder, op, {"gpu", 3}, all.cost_us[i]));
      check(state, berth_builder_output(builder, op, &tensor, &outputs[i]));
      for (; edge < all.dst.size() && all.dst[edge] == op; ++edge) {
        check(state,
              berth_builder_input(builder, op, outputs[static_cast<std::size_t>(all.src[edge])]));
      }
    }
  });
}

void policy_by_name(benchmark::State& state) {
  for (auto _ : state) {
    Engine engine({plugin_folder()});
    benchmark::DoNotOptimize(engine.make_policy("heft"));
  }
}

void unknown_name(benchmark::State& state) {
  for (auto _ : state) {
    Engine engine({plugin_folder()});
    try {
      benchmark::DoNotOptimize(engine.make_policy("hefft"));
      state.SkipWithError("an unknown name was accepted");
    } catch (const Error&) {
    }
  }
}

BENCHMARK(by_arrays)->Name("embed/c_graph_bulk")->Unit(benchmark::kMillisecond);
BENCHMARK(by_calls)->Name("embed/c_graph_calls")->Unit(benchmark::kMillisecond);
BENCHMARK(policy_by_name)->Name("embed/policy_by_name")->Unit(benchmark::kMillisecond);
BENCHMARK(unknown_name)->Name("embed/unknown_name")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth::test
