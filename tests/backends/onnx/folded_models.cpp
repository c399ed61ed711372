// Models with constants of the step: executed as loaded and as written, they compute the same.
#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "berth/error.h"
#include "berth/sdk/ops/constants.h"
#include "berth/support/text.h"
#include "cpu/backend.h"
#include "frontends/onnx/model_text.h"
#include "support/data.h"
#include "support/torch_doctest.h"

namespace berth::test {
namespace {

std::shared_ptr<const Program> folded(const Program& program) {
  auto made = std::make_shared<Program>(program);
  made->graph = ops::fold_constants(program.graph);
  return made;
}

std::unique_ptr<Backend> two_devices() {
  Options options(cpu::kOptions);
  options.set("backend 'cpu'", "devices", std::int64_t{2});
  return std::make_unique<cpu::CpuBackend>(options);
}

/// Every op anywhere, but for those that belong together.
Placement scattered(const Graph& graph) {
  Placement placement;
  std::map<std::string, DeviceId> of_class;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const DeviceId any = op * 7 / 3 % 2;
    const std::string& name = graph.colocation(op);
    placement.push_back(name.empty() ? any : of_class.try_emplace(name, any).first->second);
  }
  return placement;
}

StepResult run(Backend& backend, const std::shared_ptr<const Program>& program) {
  const auto session = backend.open(program, {});
  StepOptions options;
  options.outputs = true;
  options.trace = true;
  return session->run(scattered(*program->graph), options);
}

/// Whether both steps return the same bytes.
bool same(const StepResult& a, const StepResult& b) {
  return std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(),
                    [](const TensorContent& x, const TensorContent& y) {
                      return x.dtype == y.dtype && x.shape == y.shape && x.texts == y.texts &&
                             std::ranges::equal(x.bytes, y.bytes);
                    });
}

/// The largest difference of two results as a share of the largest number of that output; 0 for the same bytes,
/// infinity for types, shapes or texts that differ.
double apart(const StepResult& a, const StepResult& b) {
  if (same(a, b)) return 0;
  double most = 0;
  for (std::size_t i = 0; i < std::max(a.outputs.size(), b.outputs.size()); ++i) {
    if (i >= a.outputs.size() || i >= b.outputs.size()) return kCannotRun;
    const TensorContent &x = a.outputs[i], &y = b.outputs[i];
    if (std::ranges::equal(x.bytes, y.bytes) && x.shape == y.shape && x.texts == y.texts) continue;
    if (x.dtype != DType::f32 || y.dtype != DType::f32 || x.shape != y.shape) return kCannotRun;
    std::vector<float> p(x.bytes.size() / sizeof(float)), q(p.size());
    std::memcpy(p.data(), x.bytes.data(), p.size() * sizeof(float));
    std::memcpy(q.data(), y.bytes.data(), q.size() * sizeof(float));
    double difference = 0, largest = 0;
    for (std::size_t n = 0; n < p.size(); ++n) {
      difference = std::max(difference, std::abs(double{p[n]} - double{q[n]}));
      largest = std::max(largest, std::abs(double{q[n]}));
    }
    most = std::max(most, difference / largest);
  }
  return most;
}

TEST_CASE("a model computes the same, whether its constants are computed once or in every step") {
  onnx::ModelProto model = parse_graph(R"(
      g (float[3, 4] x) => (float[3, 4] y, float[4, 4] again)
      <float[4, 4] w = {1., 2., 3., 4., 5., 6., 7., 8., 1., 3., 5., 7., 2., 4., 6., 8.},
       int8[4, 4] q = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16},
       float s = {0.5}, int8 z = {2}, int64[2] shape = {3, 4}> {
        t = Transpose<perm = [1, 0]>(w)
        again = Identity(t)
        a0 = MatMul(x, t)
        u = Transpose<perm = [1, 0]>(w)
        a = MatMul(a0, u)
        same = Identity(w)
        b = MatMul(a, same)
        d = DequantizeLinear(q, s, z)
        dt = Transpose<perm = [1, 0]>(d)
        c = MatMul(b, dt)
        d2 = DequantizeLinear(q, s, z)
        e = MatMul(c, d2)
        zeros = ConstantOfShape(shape)
        half = Cast<to = 10>(zeros)
        back = Cast<to = 1>(half)
        f = Add(e, back)
        y = Add(f, x)
      })");
  ModelFolder folder;
  const auto program = folder.frontend().load_program(folder.save(model), {}).program;
  const auto once = folded(*program);
  const Graph& graph = *once->graph;
  CHECK(graph.constant_count() == 10);
  CHECK(graph.kept_for(graph.outputs(op(graph, "u"))[0])[0] == graph.outputs(op(graph, "t"))[0]);
  const auto backend = two_devices();
  const StepResult unfolded_step = run(*backend, program);
  const StepResult folded_step = run(*backend, once);
  CHECK(same(unfolded_step, folded_step));
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const auto i = static_cast<std::size_t>(op);
    const bool ran = folded_step.trace.op_end_us[i] > folded_step.trace.op_start_us[i];
    if (graph.is_constant(op)) CHECK_FALSE(ran);
  }
}

/// The model up to the softmax that it ends with, if it does: of weights that are all alike it has a thousand equal
/// inputs of 1e10, and tells which of them rounding made largest.
std::shared_ptr<const Program> before_softmax(onnx_frontend::OnnxFrontend& frontend,
                                              const std::filesystem::path& path) {
  const auto program = frontend.load_program(path, {}).program;
  const Graph& graph = *program->graph;
  LoadOptions options;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (graph.op_type(op) != "Softmax" || !graph.out_edges(op).empty()) continue;
    options.fetches.push_back(graph.op_name(graph.in_edges(op)[0].src));
  }
  return options.fetches.empty() ? program : frontend.load_program(path, options).program;
}

TEST_CASE("shared models compute the same") {
  if (!have_shared_data("folding real ONNX files")) return;
  constexpr std::int64_t kLarge = 120'000'000;  // bytes; what is larger takes too long
  onnx_frontend::OnnxFrontend frontend{Options{}};
  const auto backend = two_devices();
  int compared = 0, constants = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shared_path("models/onnx"))) {
    if (entry.path().extension() != ".onnx") continue;
    CAPTURE(entry.path().filename().string());
    const auto program = before_softmax(frontend, entry.path());
    const auto once = folded(*program);
    if (once->graph->constant_count() == 0 || once->graph->total_param_bytes() > kLarge) continue;
    StepResult expected;
    try {
      expected = run(*backend, program);
    } catch (const Error& error) {
      // Without a kernel or a shape, or given inputs at random that it cannot compute with.
      continue;
    }
    // oneDNN packs a convolution's constant weights, and may sum their products in another order: it does
    // on processors without AVX-512.
    CHECK(apart(run(*backend, once), expected) < 1e-5);
    ++compared;
    constants += once->graph->constant_count();
  }
  MESSAGE(compared, " models, ", constants, " constants of the step");
  CHECK(compared >= 10);
}

TEST_CASE("sizes of tensors that the step makes are computed before it") {
  ModelFolder models;
  const auto program =
      models
          .load_program(
              parse_graph(
                  "g (float[3,4] x) => (float[3,4] y, int64[1] n) { h = Relu(x) "
                  "s = Shape<start = 0, end = 1>(h) c = Size(h) d = Cast<to = 1>(c) "
                  "z = Mul(h, d) f = ConstantOfShape(s) n = Abs(s) "
                  "e = Unsqueeze(f, i) i = Constant<value = int64[1] {1}>() y = Add(z, e) }",
                  19)
                  .SerializeAsString(),
              {})
          .program;
  const auto once = folded(*program);
  CHECK(once->graph->constant_count() == 6);
  const auto backend = two_devices();
  CHECK(same(run(*backend, once), run(*backend, program)));
}

TEST_CASE("a step that decides how large a tensor is measures it") {
  const auto backend = two_devices();
  for (const char* const branches : {"then_branch = t () => (a) { a = Relu(x) }, "
                                     "else_branch = e () => (b) { b = Concat<axis = 0>(x, x) }",
                                     "then_branch = t () => (a) { a = Concat<axis = 0>(x, x) }, "
                                     "else_branch = e () => (b) { b = Relu(x) }"}) {
    CAPTURE(branches);
    ModelFolder models;
    const onnx::ModelProto model =
        parse_graph(cat("g (float[3,4] x, bool c) => (y, int64[2] s) { y = If(c) <", branches,
                        "> h = Exp(y) s = Shape(h) }"),
                    19);
    const auto program = models.load_program(model.SerializeAsString(), {}).program;
    CHECK(same(run(*backend, folded(*program)), run(*backend, program)));
  }
}

TEST_CASE("numbers that ATen has no type for are told before a step is tried") {
  ModelFolder models;
  onnx::ModelProto proto =
      parse_graph("g (float[2] x) => (float[2] y) { v = Cast<to = 1>(w) y = Mul(x, v) }", 19);
  add_weight(proto, "w", {2}, 17);  // FLOAT8E4M3FN
  proto.mutable_graph()->mutable_initializer(0)->set_raw_data("ab");
  const auto program = models.load_program(proto.SerializeAsString(), {}).program;
  const auto obstacles = two_devices()->cannot_run(*program);
  REQUIRE(obstacles.size() == 1);
  CHECK(obstacles[0].reason.find("tensors of type f8 are not computed with") != std::string::npos);
}

}  // namespace
}  // namespace berth::test
