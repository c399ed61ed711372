#include "berth/costs.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster.h"
#include "one_op.h"
#include "support/expect_error.h"

namespace berth {
namespace {

using test::expect_error;
using test::OneOp;
using test::tensor;

Device device(const std::string& name, const std::string& kind, bool host) {
  Device made;
  made.name = name;
  made.kind = kind;
  made.host = host;
  made.flops = host ? 1e12 : 10e12;
  made.flops_16 = host ? 0 : 40e12;
  made.memory_bandwidth = host ? 100e9 : 1000e9;
  made.op_overhead_us = host ? 2 : 5;
  return made;
}

Cluster machine() {
  return {
      "m", {device("cpu:0", "cpu", true), device("gpu:0", "gpu", false)}, {{"*", "*", 1e9, 1, {}}}};
}

KindId kind_of(const Cluster& cluster, const char* name) {
  return cluster.kind_of(*cluster.find_device(name));
}

/// The machine with a third device that runs what `runs` says.
Cluster with_npu(DeviceOps runs) {
  Device npu = device("npu:0", "npu", false);
  npu.runs = std::move(runs);
  return {"phone",
          {device("cpu:0", "cpu", true), device("gpu:0", "gpu", false), npu},
          {{"*", "*", 1e9, 1, {}}}};
}

TEST_CASE("a device that says what it runs runs nothing else, whatever the costs are from") {
  const Cluster cluster = with_npu({{"Relu", "QLinearConv"}, {DType::f16, DType::i8}});
  const KindId npu = kind_of(cluster, "npu:0");
  struct Case {
    const char* type;
    DType in, out;
    const char* refusal;
  };
  constexpr Case kCases[] = {
      {"Relu", DType::f16, DType::f16, ""},
      {"Relu", DType::unknown, DType::f16, ""},
      {"Relu", DType::f32, DType::f16, "runs nothing in f32"},
      {"Relu", DType::f16, DType::boolean, "runs nothing in bool"},
      {"Tanh", DType::f16, DType::f16, "runs no op of type 'Tanh'"},
      {"Tanh", DType::f32, DType::f32, "runs no op of type 'Tanh'"},
      // ONNX Runtime has no kernel of it for GPUs, which says nothing of this device.
      {"QLinearConv", DType::i8, DType::i8, ""},
  };
  for (const Case& each : kCases) {
    CAPTURE(each.type);
    const auto graph = OneOp{each.type, {tensor({64}, each.in)}, {tensor({64}, each.out)}}.graph();
    const OpId op = graph->op_count() - 1;
    CHECK(op_refusal(*graph, op, cluster.kind_device(npu)) == each.refusal);
    CHECK(op_refusal(*graph, op, cluster.kind_device(kind_of(cluster, "gpu:0"))).empty());
    // An input is held, not computed.
    CHECK(op_refusal(*graph, 0, cluster.kind_device(npu)).empty());
    const bool runs = *each.refusal == '\0';
    CHECK(Costs::roofline(*graph, cluster)->can_run(op, npu) == runs);
    CHECK(Costs::stated_or_roofline(*graph, cluster)->can_run(op, npu) == runs);
    const std::vector<std::vector<double>> ones(
        3, std::vector<double>(static_cast<std::size_t>(graph->op_count()), 1.0));
    const auto own = Costs::of_step(
        std::make_shared<const Costs>(ones, std::vector<std::int64_t>(), "own"), *graph, cluster);
    CHECK(own->can_run(op, npu) == runs);
    CHECK(own->op_us(op, kind_of(cluster, "gpu:0")) == 1);
  }
  GraphBuilder builder("stated");
  builder.set_cost(builder.add_op("a", "Tanh"), "", 5);
  const auto stated = builder.build();
  CHECK(Costs::stated(*stated, cluster)->op_us(0, kind_of(cluster, "gpu:0")) == 5);
  CHECK_FALSE(Costs::stated(*stated, cluster)->can_run(0, npu));
}

TEST_CASE("a list that is empty leaves nothing out") {
  const auto graph = OneOp{"Tanh", {tensor({64}, DType::f32)}, {tensor({64}, DType::f32)}}.graph();
  const OpId op = graph->op_count() - 1;
  const auto runs = [&](DeviceOps ops) {
    const Cluster cluster = with_npu(std::move(ops));
    return Costs::roofline(*graph, cluster)->can_run(op, kind_of(cluster, "npu:0"));
  };
  CHECK(runs({}));
  CHECK(runs({{"Tanh"}, {}}));
  CHECK(runs({{}, {DType::f32}}));
  CHECK_FALSE(runs({{"Relu"}, {}}));
  CHECK_FALSE(runs({{}, {DType::f16}}));
}

TEST_CASE("what the runtime has no kernel of for GPUs is for hosts, where there is one") {
  struct Case {
    const char* dialect;
    const char* type;
    bool on_gpus;
  };
  constexpr Case kCases[] = {
      {"tf", "PyFunc", false},
      {"tf", "Print", false},
      {"tf", "CTCBeamSearchDecoder", false},
      {"tf", "CTCGreedyDecoder", false},
      {"tf", "LogUniformCandidateSampler", false},
      {"tf", "EditDistance", false},
      {"tf", "ListDiff", false},
      {"tf", "DenseToDenseSetOperation", false},
      {"tf", "RandomShuffle", false},
      {"tf", "ResizeBicubic", false},
      {"tf", "ExperimentalStatsAggregatorHandle", false},
      {"tf", "_MklMatMul", false},
      {"tf", "MatMul", true},
      {"tf", "EagerPyFunc", true},
      {"tf", "InTopKV2", true},
      {"tf", "NonMaxSuppressionV3", true},
      {"tf", "My.Own", true},
      {"onnx", "QLinearConv", false},
      {"onnx", "Unique", false},
      {"onnx", "Tan", false},
      {"onnx", "ai.onnx.ml.TreeEnsembleClassifier", false},
      {"onnx", "com.microsoft.nchwc.Conv", false},
      {"onnx", "com.microsoft.QGemm", false},
      {"onnx", "NonMaxSuppression", true},
      {"onnx", "Tanh", true},
      {"onnx", "com.microsoft.MoE", true},
      {"mlir", "Tan", true},
  };
  const Cluster without_host = {"g",
                                {device("gpu:0", "gpu", false), device("gpu:1", "gpu", false)},
                                {{"*", "*", 1e9, 1, {}}}};
  for (const Case& each : kCases) {
    CAPTURE(each.type);
    const auto graph =
        OneOp{each.type, {tensor({4, 4})}, {tensor({4, 4})}, {}, each.dialect}.graph();
    const auto costs = Costs::roofline(*graph, machine());
    CHECK(costs->can_run(1, kind_of(machine(), "gpu:0")) == each.on_gpus);
    CHECK(costs->can_run(1, kind_of(machine(), "cpu:0")));
    CHECK(Costs::roofline(*graph, without_host)->can_run(1, 0));
  }
}

TEST_CASE("a kernel for GPUs is one of an element type") {
  struct Case {
    const char* dialect;
    const char* type;
    DType first;
    DType output;
    bool on_gpus;
  };
  constexpr Case kCases[] = {
      {"onnx", "MatMul", DType::i64, DType::i64, false},
      {"onnx", "MatMul", DType::f16, DType::f16, true},
      {"onnx", "MatMulInteger", DType::u8, DType::i32, false},
      {"onnx", "MatMulInteger", DType::i8, DType::i32, true},
      {"onnx", "ArgMax", DType::i32, DType::i64, false},
      {"onnx", "ArgMax", DType::f32, DType::i64, true},
      {"onnx", "Pad", DType::i64, DType::i64, false},
      {"onnx", "GridSample", DType::f16, DType::f16, false},
      {"onnx", "com.microsoft.GroupQueryAttention", DType::f32, DType::f32, false},
      {"onnx", "com.microsoft.GroupQueryAttention", DType::f16, DType::f16, true},
      {"onnx", "Where", DType::boolean, DType::i8, false},
      {"onnx", "Where", DType::boolean, DType::i64, true},
      {"onnx", "Gather", DType::i64, DType::i64, true},
      {"tf", "MatMul", DType::i32, DType::i32, false},
      {"tf", "MatMul", DType::f64, DType::f64, true},
      {"tf", "Split", DType::i32, DType::i64, false},
      {"tf", "Split", DType::i32, DType::f32, true},
      {"tf", "Cumsum", DType::i32, DType::i32, true},
      {"tf", "DepthToSpace", DType::f64, DType::f64, false},
      {"tf", "LRN", DType::f16, DType::f16, false},
      {"mlir", "MatMul", DType::i64, DType::i64, true},
  };
  for (const Case& each : kCases) {
    CAPTURE(each.type);
    const auto of = [](DType dtype) { return TensorInfo{dtype, true, {4, 4}, kUnknownBytes}; };
    const auto graph = OneOp{each.type,
                             {of(each.first), of(each.first), of(each.first)},
                             {of(each.output)},
                             {},
                             each.dialect}
                           .graph();
    const auto costs = Costs::roofline(*graph, machine());
    const OpId op = graph->op_count() - 1;
    CHECK(costs->can_run(op, kind_of(machine(), "gpu:0")) == each.on_gpus);
    CHECK(costs->can_run(op, kind_of(machine(), "cpu:0")));
  }
}

TEST_CASE("Costs refuses what is no table of costs") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refuse = [](const std::vector<std::vector<double>>& us,
                         const std::vector<std::int64_t>& workspace,
                         std::initializer_list<std::string_view> parts) {
    expect_error(ErrorCode::invalid_argument, parts, [&] { Costs(us, workspace, "mine"); });
  };
  refuse({}, {}, {"mine", "no device kind"});
  refuse({{1, 2}, {1}}, {}, {"kind 1", "1 ops", "2"});
  refuse({{1, nan}}, {}, {"op 1", "kind 0"});
  refuse({{-1}}, {}, {"op 0", "-1"});
  refuse({{1, 2}}, {5}, {"workspace", "1 ops"});
  refuse({{1, 2}}, {5, -5}, {"op 1", "-5"});
  const Costs good({{1, kCannotRun}}, {5, 0}, "mine");
  CHECK(good.op_us(0, 0) == 1);
  CHECK_FALSE(good.can_run(1, 0));
  CHECK(good.workspace_bytes(0) == 5);
  CHECK(good.source() == "mine");
  CHECK(Costs({{1, 2}}, {}, "mine").workspace_bytes(1) == 0);
}

TEST_CASE("stated costs: a kind's own entry, else the one for any kind, else it cannot run") {
  GraphBuilder builder("g");
  const OpId any = builder.add_op("any", "A");
  const OpId both = builder.add_op("both", "A");
  const OpId gpu = builder.add_op("gpu", "A");
  builder.set_cost(any, "", 3);
  builder.set_cost(both, "gpu", 4);
  builder.set_cost(both, "", 5);
  builder.set_cost(gpu, "gpu", 6);
  const auto graph = builder.build();
  const Cluster cluster = machine();
  const auto costs = Costs::stated(*graph, cluster);
  const KindId on_cpu = kind_of(cluster, "cpu:0"), on_gpu = kind_of(cluster, "gpu:0");
  CHECK(costs->op_us(any, on_cpu) == 3);
  CHECK(costs->op_us(any, on_gpu) == 3);
  CHECK(costs->op_us(both, on_cpu) == 5);
  CHECK(costs->op_us(both, on_gpu) == 4);
  CHECK(costs->op_us(gpu, on_gpu) == 6);
  CHECK_FALSE(costs->can_run(gpu, on_cpu));
  CHECK(costs->source() == "stated");

  GraphBuilder without("h");
  without.add_op("bare", "A");
  const auto bare = without.build();
  expect_error(ErrorCode::invalid_argument, {"'bare'", "'h'", "roofline"},
               [&] { (void)Costs::stated(*bare, cluster); });
}

TEST_CASE("stated or roofline costs: op by op, whatever the graph states") {
  GraphBuilder builder("g");
  TensorInfo info;
  info.bytes = 1 << 20;
  const OpId stated = builder.add_op("stated", "A");
  builder.add_output(stated, info);
  builder.set_cost(stated, "gpu", 6);
  const OpId bare = builder.add_op("bare", "A");
  builder.add_output(bare, info);
  const auto graph = builder.build();
  const Cluster cluster = machine();
  const KindId on_cpu = kind_of(cluster, "cpu:0"), on_gpu = kind_of(cluster, "gpu:0");
  const auto costs = Costs::stated_or_roofline(*graph, cluster);
  CHECK(costs->source() == "stated or roofline");
  CHECK(costs->op_us(stated, on_gpu) == 6);
  CHECK_FALSE(costs->can_run(stated, on_cpu));
  const auto roofline = Costs::roofline(*graph, cluster);
  CHECK(costs->op_us(bare, on_cpu) == roofline->op_us(bare, on_cpu));
  CHECK(costs->op_us(bare, on_gpu) == roofline->op_us(bare, on_gpu));

  // A machine without figures is good enough for a graph that states all.
  const Cluster plain("plain", {{"gpu:0", "gpu"}}, {});
  GraphBuilder all("all");
  all.set_cost(all.add_op("stated", "A"), "", 6);
  const auto stated_graph = all.build();
  CHECK(Costs::stated_or_roofline(*stated_graph, plain)->source() == "stated");
  CHECK(Costs::stated_or_roofline(*stated_graph, plain)->op_us(0, 0) == 6);
  expect_error(ErrorCode::invalid_argument, {"gpu:0", "peak FLOP/s"},
               [&] { (void)Costs::stated_or_roofline(*graph, plain); });
}

TEST_CASE("roofline_us is the larger of compute and memory time") {
  const Device gpu = device("g", "gpu", false);
  const double compute_us = roofline_us({5e9, 0, OpClass::convolution, DType::f32, 1}, gpu);
  CHECK(compute_us > 5e9 / 10e12 * 1e6);  // never above the peak
  CHECK(roofline_us({10e9, 0, OpClass::convolution, DType::f32, 1}, gpu) ==
        doctest::Approx(2 * compute_us));
  CHECK(roofline_us({5e9, 1, OpClass::convolution, DType::f32, 1}, gpu) == compute_us);
  CHECK(roofline_us({1, 750e6, OpClass::elementwise, DType::f32, 1}, gpu) == doctest::Approx(1000));
  CHECK(roofline_us({0, 0, OpClass::other, DType::f32, 1}, gpu) == 0);

  SUBCASE("narrow types are faster in matrix products only") {
    const auto us = [&](OpClass op_class, DType dtype) {
      return roofline_us({1e12, 0, op_class, dtype, 1}, gpu);
    };
    CHECK(us(OpClass::matmul, DType::f16) == doctest::Approx(us(OpClass::matmul, DType::f32) / 4));
    CHECK(us(OpClass::matmul, DType::i8) == us(OpClass::matmul, DType::f32));  // none stated
    CHECK(us(OpClass::matmul, DType::f64) == doctest::Approx(us(OpClass::matmul, DType::f32) * 2));
    CHECK(us(OpClass::elementwise, DType::f16) == us(OpClass::elementwise, DType::f32));
  }
}

/// A product of f32 matrices on the device.
double product_us(const Device& on, double rows, double columns, double inner, double count = 1,
                  OpClass op_class = OpClass::matmul) {
  Work work{2 * rows * columns * inner * count, 0, op_class, DType::f32, 1};
  work.products = {rows, columns, inner, count};
  return roofline_us(work, on);
}

TEST_CASE("kernels on a device of several multiprocessors") {
  Device gpu = device("g", "gpu", false);
  const Device filled = gpu;  // as if every kernel filled it
  gpu.multiprocessors = 80;

  SUBCASE("a large product costs what it does by its FLOPs") {
    const double us = product_us(gpu, 8192, 8192, 4096);
    CHECK(us >= product_us(filled, 8192, 8192, 4096));
    CHECK(us <= product_us(filled, 8192, 8192, 4096) * 1.1);
  }
  SUBCASE("a result of few tiles leaves multiprocessors idle") {
    CHECK(product_us(gpu, 64, 64, 256) > 10 * product_us(filled, 64, 64, 256));
    // Up to a whole wave of the smallest tiles, more products come for nothing.
    CHECK(product_us(gpu, 64, 64, 8, 10) == product_us(gpu, 64, 64, 8, 5));
  }
  SUBCASE("one block more than fits takes another wave") {
    const double wave_us = product_us(gpu, 256, 128, 4096, 80);
    const double next_us = product_us(gpu, 256, 128, 4096, 81);
    CHECK(next_us > wave_us * 1.05);
    CHECK(product_us(filled, 256, 128, 4096, 81) < product_us(filled, 256, 128, 4096, 80) * 1.05);
  }
  SUBCASE("a part of a tile costs a whole one") {
    CHECK(product_us(gpu, 1024 * 64, 33, 1024) > 1.3 * product_us(gpu, 1024 * 64, 32, 1024));
  }
  SUBCASE("a long inner dimension is split, where that keeps more of them busy") {
    // One tile of a result, as in gradients of small filters. One multiprocessor would take 80
    // times as long as all.
    CHECK(product_us(gpu, 64, 64, 1 << 20) < 20 * product_us(filled, 64, 64, 1 << 20));
  }
  SUBCASE("a short inner dimension wastes the fill") {
    const auto rate = [&](double inner) { return inner / product_us(gpu, 8192, 8192, inner); };
    CHECK(rate(16) < 0.9 * rate(256));
    CHECK(rate(256) < rate(4096));
  }
  SUBCASE("no kernel is shorter than its fill, and what does nothing costs nothing") {
    const double tiny_us = roofline_us({16, 64, OpClass::elementwise, DType::f32, 1}, gpu);
    CHECK(tiny_us > 0.5);
    CHECK(product_us(gpu, 1, 1, 1) >= tiny_us);
    CHECK(roofline_us({0, 0, OpClass::none, DType::f32, 1}, gpu) == 0);
    CHECK(roofline_us({16, 64, OpClass::elementwise, DType::f32, 1}, filled) < 0.01);
  }
  SUBCASE("depthwise kernels have no tiles, and take many times what their FLOPs say") {
    const double depthwise_us =
        product_us(filled, 1 << 20, 64, 9, 1, OpClass::depthwise_convolution);
    CHECK(depthwise_us > 10 * product_us(filled, 1 << 20, 64, 9, 1, OpClass::convolution));
    CHECK(product_us(gpu, 1 << 20, 64, 9, 1, OpClass::depthwise_convolution) == depthwise_us);
  }
}

TEST_CASE("gradients of 3 x 3 filters: minimal filtering where it pays and libraries have it") {
  Device plain = device("g", "gpu", false);
  plain.multiprocessors = 80;
  plain.flops_16 = 0;
  Device packed = plain;
  packed.flops_16 = 2 * plain.flops;
  Device tensor_cores = plain;
  tensor_cores.flops_16 = 8 * plain.flops;
  /// Against the products themselves, which is what it costs without.
  const auto share = [](const Device& on, std::int64_t window, std::int64_t channels,
                        std::int64_t stride, DType dtype) {
    const test::Shape image = {32, 28, 28, channels}, filter = {window, window, channels, channels};
    OneOp op{"Conv2DBackpropFilterV2",
             {tensor(image, dtype), tensor(filter, dtype),
              tensor({32, 28 / stride, 28 / stride, channels}, dtype)},
             {tensor(filter, dtype)}};
    op.dialect = "tf";
    op.attributes = {{"strides", std::vector<std::int64_t>{1, stride, stride, 1}}};
    const auto graph = op.graph();
    const auto costs = Costs::roofline(*graph, {"m", {on}, {}});
    return costs->op_us(graph->op_count() - 1, 0) / roofline_us(op.work(), on);
  };
  CHECK(share(tensor_cores, 3, 512, 1, DType::f32) < 0.7);
  // With few channels the transforms weigh more than the products.
  CHECK(share(tensor_cores, 3, 16, 1, DType::f32) == 1);
  CHECK(share(tensor_cores, 3, 512, 2, DType::f32) == 1);
  CHECK(share(tensor_cores, 5, 512, 1, DType::f32) == 1);
  CHECK(share(tensor_cores, 3, 512, 1, DType::f16) == 1);
  CHECK(share(packed, 3, 512, 1, DType::f32) == 1);
  CHECK(share(plain, 3, 512, 1, DType::f32) == 1);
}

TEST_CASE("roofline_us: larger matrix products never cost less") {
  for (const char* preset : {"k80x2", "v100x8", "h100x8"}) {
    const auto cluster = Cluster::preset(preset);
    const Device& gpu = cluster->device(*cluster->find_device("gpu:0"));
    for (double a = 1; a < 3e5; a = std::ceil(a * 1.7)) {
      for (const double b : {1.0, 31.0, 200.0, 5000.0}) {
        const double more = a + std::ceil(a / 3);
        for (const double c : {1.0, 60.0, 3000.0}) {
          REQUIRE(product_us(gpu, more, b, c) >= product_us(gpu, a, b, c));
          REQUIRE(product_us(gpu, b, more, c) >= product_us(gpu, b, a, c));
          REQUIRE(product_us(gpu, b, c, more) >= product_us(gpu, b, c, a));
          REQUIRE(product_us(gpu, b, c, 64, more) >= product_us(gpu, b, c, 64, a));
          REQUIRE(std::isfinite(product_us(gpu, more, b, c)));
        }
      }
    }
  }
}

TEST_CASE("roofline_us: more work never costs less") {
  for (const Cluster::PresetInfo& info : Cluster::presets()) {
    const auto cluster = Cluster::preset(info.name);
    for (KindId kind = 0; kind < cluster->kind_count(); ++kind) {
      const Device& on = cluster->kind_device(kind);
      for (int c = 0; c < kOpClassCount; ++c) {
        const auto op_class = static_cast<OpClass>(c);
        for (const DType dtype : {DType::f32, DType::f16, DType::i8, DType::f64, DType::i64}) {
          double last_by_flops = 0, last_by_bytes = 0;
          for (double amount = 1; amount < 1e16; amount *= 7) {
            const double by_flops = roofline_us({amount, 1e6, op_class, dtype, 1}, on);
            const double by_bytes = roofline_us({1e6, amount, op_class, dtype, 1}, on);
            REQUIRE(std::isfinite(by_flops));
            REQUIRE(by_flops >= last_by_flops);
            REQUIRE(by_bytes >= last_by_bytes);
            last_by_flops = by_flops;
            last_by_bytes = by_bytes;
          }
        }
      }
    }
  }
}

TEST_CASE("roofline costs") {
  const Cluster cluster = machine();
  const KindId on_cpu = kind_of(cluster, "cpu:0"), on_gpu = kind_of(cluster, "gpu:0");
  SUBCASE("a body pays the overhead of its launches beyond the first") {
    GraphBuilder builder("g");
    const OpId once = builder.add_op("once", "If");
    const OpId often = builder.add_op("often", "Loop");
    const OpId never = builder.add_op("never", "View");
    builder.set_work(once, {1e9, 1e6, OpClass::matmul, DType::f32, 1});
    builder.set_work(often, {1e9, 1e6, OpClass::matmul, DType::f32, 11});
    builder.set_work(never, {0, 0, OpClass::none, DType::f32, 0});
    const auto costs = Costs::roofline(*builder.build(), cluster);
    CHECK(costs->op_us(often, on_gpu) == doctest::Approx(costs->op_us(once, on_gpu) + 10 * 5));
    CHECK(costs->op_us(often, on_cpu) == doctest::Approx(costs->op_us(once, on_cpu) + 10 * 2));
    CHECK(costs->op_us(never, on_gpu) == 0);
    CHECK(costs->source() == "roofline");
  }
  SUBCASE("ops on text or opaque values run on the host only") {
    for (const DType dtype : {DType::string, DType::opaque}) {
      const auto graph = OneOp{"LabelEncoder", {tensor({5}, dtype)}, {tensor({5})}}.graph();
      const auto costs = Costs::roofline(*graph, cluster);
      CHECK(costs->can_run(1, on_cpu));
      CHECK_FALSE(costs->can_run(1, on_gpu));
      CHECK_FALSE(costs->can_run(0, on_gpu));  // the op that makes them
    }
  }
  SUBCASE("an attention holds its scores while it runs, a convolution nothing") {
    const TensorInfo split = tensor({2, 12, 128, 64});
    const auto attention = OneOp{"Attention", {split, split, split}, {split}}.graph();
    CHECK(Costs::roofline(*attention, cluster)->workspace_bytes(3) == 2 * 12 * 128 * 128 * 4);
    const OneOp conv{"Conv", {tensor({1, 3, 8, 8}), tensor({4, 3, 3, 3})}, {tensor({1, 4, 6, 6})}};
    CHECK(Costs::roofline(*conv.graph(), cluster)->workspace_bytes(2) == 0);
  }
  SUBCASE("a device without its figures is named") {
    Device bare = device("gpu:7", "gpu", false);
    bare.memory_bandwidth = 0;
    const Cluster lacking("c", {bare}, {});
    const auto graph = OneOp{"Relu", {tensor({5})}, {tensor({5})}}.graph();
    expect_error(ErrorCode::invalid_argument, {"'gpu:7'", "memory bandwidth"},
                 [&] { (void)Costs::roofline(*graph, lacking); });
  }
}

}  // namespace
}  // namespace berth
