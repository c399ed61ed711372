// Layers that do the work of the functions behind them.
#include <ATen/Functions.h>

#include <set>

#include "backends/onnx/images.h"
#include "frontends/onnx/model_text.h"
#include "support/torch_doctest.h"

namespace berth::test {
namespace {

/// Runs a model with all its ops on one device, and with the ops of each type away from the others.
void check_everywhere(const Program& program, Session& session, const at::Tensor& expected) {
  const Graph& graph = *program.graph;
  std::set<std::string> types = {""};
  for (OpId op = 0; op < graph.op_count(); ++op) types.insert(graph.op_type(op));
  for (const std::string& away : types) {
    CAPTURE(away);
    Placement placement;
    for (OpId op = 0; op < graph.op_count(); ++op) {
      placement.push_back(graph.op_type(op) == away ? 1 : 0);
    }
    const StepResult result = run_whole(session, placement);
    const at::Tensor got = floats_of(result.outputs[0]).to(at::kDouble);
    REQUIRE((got.sizes() == expected.sizes()));
    const double error = at::sub(got, expected).abs().max().item<double>();
    CHECK(error <= 2e-6 * expected.abs().max().item<double>());
  }
}

struct Case {
  const char* ops;  ///< from y, the layer's, to z
  std::size_t joined;
  at::Tensor (*function)(const at::Tensor& y);
};

at::Tensor swish(const at::Tensor& y) {
  return at::mul(y, at::sigmoid(y));
}
at::Tensor hard_swish(const at::Tensor& y) {
  return at::div(at::mul(y, at::clamp(at::add(y, 3), 0, 6)), 6);
}
at::Tensor gelu(const at::Tensor& y) {
  return at::gelu(y);
}

const std::vector<Case> kCases = {
    {"z = Relu(y)", 1, [](const at::Tensor& y) { return at::relu(y); }},
    {"z = Clip(y, low, high)", 1, [](const at::Tensor& y) { return at::clamp(y, 0, 6); }},
    {"z = Clip(y, low)", 1, [](const at::Tensor& y) { return at::relu(y); }},
    {"z = LeakyRelu<alpha = 0.25>(y)", 1,
     [](const at::Tensor& y) { return at::leaky_relu(y, 0.25); }},
    {"z = HardSwish(y)", 1, hard_swish},
    {"s = Sigmoid(y) z = Mul(y, s)", 2, swish},
    {"s = Sigmoid(y) z = Mul(s, y)", 2, swish},
    {"s = HardSigmoid<alpha = 0.16666667, beta = 0.5>(y) z = Mul(y, s)", 2, hard_swish},
    {"d = Div(y, root) e = Erf(d) p = Add(e, one) m = Mul(y, p) z = Mul(m, half)", 5, gelu},
    {"h = Mul(y, half) d = Div(y, root) e = Erf(d) p = Add(one, e) z = Mul(h, p)", 5, gelu},
    {"z = Gelu(y)", 1, gelu},
    // A gate of another slope, what is read again, other numbers.
    {"s = HardSigmoid(y) z = Mul(y, s)", 0,
     [](const at::Tensor& y) {
       return at::mul(y, at::clamp(at::add(at::mul(y, 0.2), 0.5), 0, 1));
     }},
    {"s = Sigmoid(y) m = Mul(y, s) z = Add(m, s)", 0,
     [](const at::Tensor& y) { return at::add(swish(y), at::sigmoid(y)); }},
    {"s = Sigmoid(y) m = Mul(y, s) z = Add(m, y)", 0,
     [](const at::Tensor& y) { return at::add(swish(y), y); }},
    {"s = Sigmoid(y) z = Sub(y, s)", 0,
     [](const at::Tensor& y) { return at::sub(y, at::sigmoid(y)); }},
    {"d = Div(y, high) e = Erf(d) p = Add(e, one) m = Mul(y, p) z = Mul(m, half)", 0,
     [](const at::Tensor& y) {
       return at::mul(at::mul(y, at::add(at::erf(at::div(y, 6)), 1)), 0.5);
     }},
    {"d = Div(root, y) e = Erf(d) p = Add(e, one) m = Mul(y, p) z = Mul(m, half)", 0,
     [](const at::Tensor& y) {
       return at::mul(
           at::mul(y, at::add(at::erf(at::mul(at::reciprocal(y), 1.4142135623730951)), 1)), 0.5);
     }},
};

TEST_CASE("layers do the work of the functions behind them, where all is on one device") {
  const at::Tensor x = counted({1, 4, 5, 6}), w = at::mul(counted({4, 4, 1, 1}), 0.125);
  const at::Tensor sum = at::add(x, 0.5);
  const std::vector<std::pair<std::string, at::Tensor>> layers = {
      {"y = Conv(x, w) ", at::conv2d(x, w)},
      {"y = ConvTranspose(x, w) ", at::conv2d(x, w.transpose(0, 1))},
      {"y = Add(x, b) ", sum},
      {"t = Neg(x) u = Neg(t) v = Add(u, b) y = Add(v, b) ", at::add(sum, 0.5)},
      {"y = Sum(x, x, x) ", at::mul(x, 3)},
  };
  ModelFolder models;
  for (const auto& [layer, y] : layers) {
    for (const Case& one : kCases) {
      CAPTURE(layer);
      CAPTURE(one.ops);
      const std::string text =
          "g (float[1, 4, 5, 6] x) => (float[1, 4, 5, 6] z) "
          "<float[4, 4, 1, 1] w = {" +
          text_of(w) + "}, float[4, 5, 6] b = {" + text_of(at::full({4, 5, 6}, 0.5)) +
          "}, float low = {0.}, float high = {6.}, float root = {1.41421356}, "
          "float one = {1.}, float half = {0.5}> { " +
          layer + one.ops + " }";
      const auto program =
          models.frontend().load_program(models.save(parse_graph(text, 20)), {}).program;
      const auto backend = std::make_unique<cpu::CpuBackend>(two_devices());
      SessionOptions options;
      options.inputs["x"] = content_of(x);
      const auto session = backend->open(program, options);
      CHECK(session->joined().size() == one.joined);
      check_everywhere(*program, *session, one.function(y));
    }
  }
}

TEST_CASE(
    "a convolution of volumes does the work of a normalization behind it, and of no factor of "
    "planes") {
  const at::Tensor x = counted({2, 3, 4, 5, 6}), w = counted({4, 3, 2, 3, 1}), b = counted({4});
  ModelFolder models;
  const auto program =
      models.frontend()
          .load_program(
              models.save(parse_graph(
                  "g (float[2, 3, 4, 5, 6] x) => (float[2, 4, 4, 5, 6] z) "
                  "<float[4, 3, 2, 3, 1] w = {" +
                  text_of(w) + "}, float[4] b = {" + text_of(b) +
                  R"(}, float[4] scale = {1., 2., -1., 0.5}, float[4] shift = {0., 1., 2., -1.},
                                                float[4] mean = {1., 0., -2., 3.}, float[4] variance = {4., 0.25, 1., 9.},
                                                float[4, 1, 1] f = {1., 2., 3., 4.}> {
             c = Conv<kernel_shape = [2, 3, 1], pads = [1, 1, 0, 0, 1, 0]>(x, w, b)
             n = BatchNormalization(c, scale, shift, mean, variance)
             m = Mul(n, f)
             z = Relu(m)
           })")),
              {})
          .program;
  const auto backend = std::make_unique<cpu::CpuBackend>(two_devices());
  SessionOptions options;
  options.inputs["x"] = content_of(x);
  const auto session = backend->open(program, options);
  CHECK(session->joined().size() == 2);
  const at::Tensor padded = at::constant_pad_nd(x, {0, 0, 1, 1, 1, 0});
  const auto each = [](std::vector<double> values) { return at::tensor(values); };
  const at::Tensor normal =
      at::batch_norm(at::conv3d(padded, w, b), each({1, 2, -1, 0.5}), each({0, 1, 2, -1}),
                     each({1, 0, -2, 3}), each({4, 0.25, 1, 9}), false, 0, 1e-5, false);
  check_everywhere(*program, *session,
                   at::relu(at::mul(normal, each({1, 2, 3, 4}).reshape({4, 1, 1}))));
}

}  // namespace
}  // namespace berth::test
