// Steps in which ops write over what they read, against the same arithmetic out of place, and against simulated memory.
#include <ATen/Functions.h>

#include <memory>
#include <vector>

#include "backends/onnx/images.h"
#include "berth/sdk/random.h"
#include "berth/simulator.h"
#include "frontends/onnx/model_text.h"
#include "support/torch_doctest.h"

namespace berth::test {
namespace {

std::shared_ptr<const Program> loaded(ModelFolder& models, const std::string& graph) {
  return models.frontend().load_program(models.save(parse_graph(graph)), {}).program;
}

TEST_CASE("a chain of functions is computed in one place, as simulated") {
  ModelFolder models;
  const auto program = loaded(models, R"(
      g (float[64, 8] q, float[8, 64] k, float[64, 8] v) => (float[64, 8] y)
      <int64[3] wide = {1, 64, 64}, int64[2] flat = {64, 64}> {
        scores = MatMul(q, k)
        gate = Sigmoid(scores)
        turned = Reshape(gate, wide)
        bent = Tanh(turned)
        rows = Reshape(bent, flat)
        chances = Softmax<axis = -1>(rows)
        y = MatMul(chances, v)
      })");
  const auto backend = std::make_unique<cpu::CpuBackend>(two_devices());
  const auto session = backend->open(program, {});
  const auto ops = static_cast<std::size_t>(program->graph->op_count());
  const auto& cluster = backend->cluster();
  const auto costs = std::make_shared<const Costs>(
      std::vector<std::vector<double>>(static_cast<std::size_t>(cluster->kind_count()),
                                       std::vector<double>(ops, 1.0)),
      std::vector<std::int64_t>(ops), "one each");
  const Simulator simulator(std::make_shared<const Problem>(program->graph, cluster, costs));
  // Three inputs and the result of 2048 bytes each, the scores, and two shapes.
  constexpr std::int64_t kWide = 24, kFlat = 16;
  Placement placement(ops, 0);
  const StepResult here = run_whole(*session, placement);
  CHECK(here.peak_bytes == std::vector<std::int64_t>{4 * 2048 + 16384 + kWide + kFlat, 0});
  CHECK(simulator.trace(placement).devices[0].peak_bytes == here.peak_bytes[0]);
  // What arrives is written over as well: q, k and the scores; the scores, v and y.
  for (const char* const name : {"bent", "rows", "chances", "y", "v"}) {
    const auto tensor = find_tensor(*program->graph, name);
    REQUIRE(tensor);
    placement[static_cast<std::size_t>(program->graph->producer(*tensor))] = 1;
  }
  const StepResult apart = run_whole(*session, placement);
  CHECK(apart.peak_bytes ==
        std::vector<std::int64_t>{2 * 2048 + 16384 + kWide, 2 * 2048 + 16384 + kFlat});
  const StepTrace trace = simulator.trace(placement);
  for (std::size_t d = 0; d < 2; ++d) CHECK(trace.devices[d].peak_bytes == apart.peak_bytes[d]);
}

TEST_CASE("what others read, views, results, inputs and loops keep their numbers, on any devices") {
  ModelFolder models;
  const auto program = loaded(models, R"(
      g (float[4, 4] x) => (float[4, 4] y, float[4, 4] z, float[2, 8] e, float[4, 4] l)
      <int64[2] shape = {2, 8}, int64 trips = {3}, bool go = {1}> {
        a = MatMul(x, x)
        b = Sigmoid(a)
        c = Tanh(b)
        d = Add(a, c)
        z = Sigmoid(d)
        f = MatMul(x, d)
        v = Reshape(f, shape)
        bent = Tanh(v)
        e = Reshape(bent, shape)
        h = MatMul(f, x)
        i = Sigmoid(x)
        j = Tanh(i)
        k = Elu(h)
        y = Sum(j, k)
        m = MatMul(x, x)
        p = Sigmoid(m)
        l = Loop (trips, go, p) <body = b (int64 n, bool on, float[4, 4] acc) => (bool still, float[4, 4] next) {
          still = Identity(on)
          t = Tanh(acc)
          next = Add(t, p)
        }>
      })");
  const at::Tensor x = at::div(counted({4, 4}), 4);
  const at::Tensor a = at::matmul(x, x);
  const at::Tensor d = at::add(a, at::tanh(at::sigmoid(a)));
  const at::Tensor f = at::matmul(x, d);
  const at::Tensor p = at::sigmoid(a);
  at::Tensor l = p;
  for (int trip = 0; trip < 3; ++trip) l = at::add(at::tanh(l), p);
  const std::vector<at::Tensor> expected = {
      at::add(at::tanh(at::sigmoid(x)), at::elu(at::matmul(f, x))), at::sigmoid(d),
      at::tanh(f).reshape({2, 8}), l};

  const auto backend = std::make_unique<cpu::CpuBackend>(two_devices());
  SessionOptions options;
  options.inputs["x"] = content_of(x);
  const auto session = backend->open(program, options);
  Random random(1);
  for (int i = 0; i < 40; ++i) {
    CAPTURE(i);
    Placement placement(static_cast<std::size_t>(program->graph->op_count()), 0);
    if (i > 0) {
      for (DeviceId& device : placement) device = static_cast<DeviceId>(random.below(2));
    }
    for (int step = 0; step < 2; ++step) {
      const StepResult result = run_whole(*session, placement);
      REQUIRE(result.outputs.size() == expected.size());
      for (std::size_t o = 0; o < expected.size(); ++o) {
        const at::Tensor got = floats_of(result.outputs[o]).to(at::kDouble);
        REQUIRE((got.sizes() == expected[o].sizes()));
        CHECK(at::sub(got, expected[o]).abs().max().item<double>() < 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace berth::test
