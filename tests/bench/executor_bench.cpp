// What the executor adds to the ops it runs.
//   overhead   a chain of ops on 4-element tensors, per op: called in a loop; on one device; on one
//              device with parallel branches; the difference to the loop is the executor's
//   message    the same chain on two devices that take turns
//   branches   eight independent chains of matrix products on one and on two devices
//   model      Inception-V3 on one device, and the same kernels called in a loop
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <c10/core/InferenceMode.h>
#include <omp.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/test_program.h"
#include "cpu/backend.h"
#include "cpu/cpu_runtime.h"
#include "onnx/frontend.h"
#include "runtime/compile.h"
#include "runtime/session.h"
#include "runtime/tensors.h"
#include "runtime/values.h"
#include "support/paths.h"

namespace berth::bench {
namespace {

using runtime::Kernel;
using runtime::KernelContext;
using runtime::Value;

std::shared_ptr<const Cluster> cpu_cluster(int devices) {
  Options options(cpu::kOptions);
  options.set("backend 'cpu'", "devices", std::int64_t{devices});
  return cpu::CpuBackend(options).cluster();
}

/// A program on logical CPU devices of one thread each.
struct Rig {
  Rig(test::TestProgram& source, int devices)
      : cluster(cpu_cluster(devices)), cpu(*cluster, {0, 1}, 1, {}), executor(cpu, *cluster) {
    test::TestProgram::Built built = source.build();
    session = std::make_unique<runtime::DeviceSession>(built.program, std::move(built.kernels),
                                                       cluster, cpu, executor, SessionOptions{});
  }
  std::shared_ptr<const Cluster> cluster;
  cpu::CpuRuntime cpu;
  runtime::Executor executor;
  std::unique_ptr<runtime::DeviceSession> session;
};

constexpr int kChain = 2000;

Kernel add_one() {
  return [](KernelContext&, std::span<const Value> inputs, std::span<Value> outputs) {
    outputs[0].tensor = inputs.empty() ? at::ones({4}) : inputs[0].tensor.add(1);
  };
}

void run_steps(benchmark::State& state, runtime::DeviceSession& session,
               const Placement& placement) {
  static_cast<void>(session.run(placement, {}));
  for (auto _ : state) {
    state.SetIterationTime(session.run(placement, {}).runtime_us * 1e-6);
  }
}

void loop_overhead(benchmark::State& state) {
  const c10::InferenceMode no_gradients;
  const Kernel kernel = add_one();
  runtime::MemoryMeter meter("cpu:0");
  const runtime::MeterScope scope(&meter);
  KernelContext context;
  for (auto _ : state) {
    Value value;
    for (int i = 0; i < kChain; ++i) {
      Value out;
      kernel(context, i == 0 ? std::span<const Value>() : std::span<const Value>(&value, 1),
             std::span<Value>(&out, 1));
      value = std::move(out);
    }
    benchmark::DoNotOptimize(value);
  }
  state.SetItemsProcessed(state.iterations() * kChain);
}
BENCHMARK(loop_overhead)->UseRealTime();

void executor_overhead(benchmark::State& state) {
  const auto width = static_cast<int>(state.range(0));
  test::TestProgram program;
  std::vector<OpId> last(static_cast<std::size_t>(width), kNoOp);
  for (int i = 0; i < kChain; ++i) {
    OpId& end = last[static_cast<std::size_t>(i % width)];
    end = program.add("op" + std::to_string(i),
                      end == kNoOp ? std::vector<OpId>{} : std::vector<OpId>{end}, add_one());
  }
  Rig rig(program, 1);
  run_steps(state, *rig.session, Placement(kChain, 0));
  state.SetItemsProcessed(state.iterations() * kChain);
}
BENCHMARK(executor_overhead)->ArgName("branches")->Arg(1)->Arg(16)->UseManualTime();

/// A chain that changes devices at each op, per op: what a message takes on its way is the difference to one device.
void message_overhead(benchmark::State& state) {
  const auto devices = static_cast<int>(state.range(0));
  test::TestProgram program;
  Placement placement;
  for (int i = 0; i < kChain; ++i) {
    program.add("op" + std::to_string(i), i == 0 ? std::vector<OpId>{} : std::vector<OpId>{i - 1},
                add_one());
    placement.push_back(static_cast<DeviceId>(i % devices));
  }
  Rig rig(program, 2);
  run_steps(state, *rig.session, placement);
  state.SetItemsProcessed(state.iterations() * kChain);
}
BENCHMARK(message_overhead)->ArgName("devices")->Arg(1)->Arg(2)->UseManualTime();

void parallel_branches(benchmark::State& state) {
  const auto devices = static_cast<int>(state.range(0));
  constexpr int kBranches = 8;
  constexpr int kLength = 4;
  test::TestProgram program;
  Placement placement;
  for (int branch = 0; branch < kBranches; ++branch) {
    OpId end = kNoOp;
    for (int i = 0; i < kLength; ++i) {
      const auto product = [](KernelContext&, std::span<const Value> inputs,
                              std::span<Value> outputs) {
        const at::Tensor x = inputs.empty() ? at::ones({256, 256}) : inputs[0].tensor;
        outputs[0].tensor = x.matmul(x).clamp(-1, 1);
      };
      end = program.add("b" + std::to_string(branch) + "_" + std::to_string(i),
                        end == kNoOp ? std::vector<OpId>{} : std::vector<OpId>{end}, product);
      placement.push_back(static_cast<DeviceId>(branch % devices));
    }
  }
  Rig rig(program, 2);
  run_steps(state, *rig.session, placement);
}
BENCHMARK(parallel_branches)->ArgName("devices")->Arg(1)->Arg(2)->UseManualTime();

/// A model of examples/models with its kernels; null inside where some op has none.
struct Model {
  explicit Model(const std::string& name) {
    // Not through the engine: the TensorFlow plugin has messages that this program holds already.
    onnx_frontend::OnnxFrontend frontend{Options{}};
    LoadOptions options;
    options.dims["batch"] = 1;
    program =
        frontend.load_program((test::source_folder() / "examples/models/").string() + name, options)
            .program;
    compiled = runtime::compile(*program, runtime::kernels_of(*program));
  }
  std::shared_ptr<const Program> program;
  runtime::Compiled compiled;
};

void model_in_a_loop(benchmark::State& state, const std::string& name) {
  const Model model(name);
  if (!model.compiled.obstacles.empty()) return state.SkipWithError("an op has no kernel");
  const Graph& graph = *model.program->graph;
  const c10::InferenceMode no_gradients;
  omp_set_num_threads((static_cast<void>(at::get_num_threads()), 1));  // as the device has
  runtime::MemoryMeter meter("cpu:0");
  std::vector<Value> values(static_cast<std::size_t>(graph.tensor_count()));
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    const auto i = static_cast<std::size_t>(tensor);
    if (graph.producer(tensor) != kNoOp) continue;
    const auto& content = model.program->parameters[i];
    values[i] = content ? Value{runtime::make_tensor(*content), nullptr}
                        : runtime::draw_parameter(graph, tensor, 1);
  }
  std::vector<Value> fed;
  for (const OpId op : model.program->inputs) {
    fed.push_back(runtime::draw_input(graph, graph.outputs(op)[0], 1));
  }
  const runtime::MeterScope scope(&meter);
  runtime::DeviceState device;
  KernelContext context;
  context.state = &device;
  std::vector<Value> inputs, outputs;
  for (auto _ : state) {
    for (std::size_t k = 0; k < fed.size(); ++k) {
      values[static_cast<std::size_t>(graph.outputs(model.program->inputs[k])[0])] = fed[k];
    }
    for (const OpId op : graph.topological_order()) {
      const auto i = static_cast<std::size_t>(op);
      const Kernel& kernel = model.compiled.kernels[i];
      if (!kernel) continue;
      inputs.clear();
      for (const TensorId tensor : graph.inputs(op)) {
        inputs.push_back(tensor == kNoTensor ? Value{} : values[static_cast<std::size_t>(tensor)]);
      }
      const auto& ids = model.program->instructions[i].outputs;
      outputs.assign(ids.size(), Value{});
      kernel(context, inputs, outputs);
      for (std::size_t k = 0; k < ids.size(); ++k) {
        if (ids[k] != kNoValue) values[static_cast<std::size_t>(ids[k])] = std::move(outputs[k]);
      }
    }
  }
  for (Value& value : values) value = {};
}

void model_executed(benchmark::State& state, const std::string& name) {
  Model model(name);
  if (!model.compiled.obstacles.empty()) return state.SkipWithError("an op has no kernel");
  const auto cluster = cpu_cluster(1);
  cpu::CpuRuntime cpu(*cluster, {0, 1}, 1, {});
  runtime::Executor executor(cpu, *cluster);
  runtime::DeviceSession session(model.program, std::move(model.compiled.kernels), cluster, cpu,
                                 executor, {});
  run_steps(state, session,
            Placement(static_cast<std::size_t>(model.program->graph->op_count()), 0));
}

BENCHMARK_CAPTURE(model_in_a_loop, inception_v3, "inception_v3.onnx")->UseRealTime();
BENCHMARK_CAPTURE(model_executed, inception_v3, "inception_v3.onnx")->UseManualTime();

}  // namespace
}  // namespace berth::bench
