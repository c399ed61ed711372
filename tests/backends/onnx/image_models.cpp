// Layouts of images, and products of single rows: what is faster computes the same numbers.
#include <ATen/Functions.h>

#include <cstring>
#include <limits>
#include <set>

#include "backends/onnx/images.h"
#include "cpu/cpu_runtime.h"
#include "frontends/onnx/model_text.h"
#include "runtime/fused.h"
#include "runtime/layouts.h"
#include "runtime/products.h"
#include "support/torch_doctest.h"

namespace berth::test {
namespace {

bool same(const TensorContent& got, const at::Tensor& expected) {
  const TensorContent wanted = content_of(expected);
  return got.shape == wanted.shape && got.bytes.size() == wanted.bytes.size() &&
         std::memcmp(got.bytes.data(), wanted.bytes.data(), wanted.bytes.size()) == 0;
}

at::Tensor convolved(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                     std::int64_t padding, std::int64_t groups) {
  const std::vector<std::int64_t> once = {1, 1}, none = {0, 0}, around = {padding, padding};
  return at::convolution(x, weight, bias, once, around, once, /*transposed=*/false, none, groups);
}

TEST_CASE("images that convolutions, poolings and reshapes turn around stay what they are") {
  const at::Tensor x = counted({2, 3, 9, 8}), w = counted({8, 3, 3, 3}), b = counted({8}),
                   grouped = counted({8, 2, 1, 1}), each = counted({8, 1, 3, 3});
  ModelFolder models;
  const auto program = models.frontend()
                           .load_program(models.save(parse_graph(
                                             R"(
      g (float[2, 3, 9, 8] x) => (float[2, 8, 9, 8] c, float[2, 8, 4, 3] p, float[2, 8, 4, 3] q,
                                  float[2, 96] flat, float[2, 8, 9, 8] single,
                                  float[2, 8, 9, 8] shuffled, float[2, 2, 4, 9, 8] parts)
      <float[8, 3, 3, 3] w = {)" + text_of(w) +
                                             R"(},
       float[8] b = {)" + text_of(b) + R"(},
       float[8, 2, 1, 1] grouped = {)" + text_of(grouped) +
                                             R"(},
       float[8, 1, 3, 3] each = {)" + text_of(each) +
                                             R"(},
       int64[2] rows = {2, 96}, int64[5] halves = {2, 2, 4, 9, 8}, int64[4] whole = {0, -1, 9, 8}> {
        c = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, w, b)
        r = Relu(c)
        p = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(r)
        q = Conv<kernel_shape = [1, 1], group = 4>(p, grouped)
        flat = Reshape(q, rows)
        straight = Transpose<perm = [0, 1, 3, 2]>(c)
        back = Transpose<perm = [0, 1, 3, 2]>(straight)
        single = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1], group = 8>(back, each)
        split = Reshape(c, halves)
        swapped = Transpose<perm = [0, 2, 1, 3, 4]>(split)
        shuffled = Reshape(swapped, whole)
        parts = Neg(split)
      })")),
                                         {})
                           .program;
  const auto backend = std::make_unique<cpu::CpuBackend>(two_devices());
  SessionOptions options;
  options.inputs["x"] = content_of(x);
  const auto session = backend->open(program, options);
  Placement placement;
  for (OpId op = 0; op < program->graph->op_count(); ++op) placement.push_back(op % 2);
  const StepResult result = run_whole(*session, placement);
  REQUIRE(result.outputs.size() == 7);
  const at::Tensor c = convolved(x, w, b, 1, 1);
  const at::Tensor p = at::max_pool2d(at::relu(c), {3, 3}, {2, 2}, {0, 0});
  const at::Tensor q = convolved(p, grouped, {}, 0, 4);
  CHECK(same(result.outputs[0], c));
  CHECK(same(result.outputs[1], p));
  CHECK(same(result.outputs[2], q));
  CHECK(same(result.outputs[3], q.reshape({2, 96})));
  CHECK(same(result.outputs[4], convolved(c, each, {}, 1, 8)));
  const at::Tensor split = c.reshape({2, 2, 4, 9, 8});
  CHECK(same(result.outputs[5], split.transpose(1, 2).reshape({2, 8, 9, 8})));
  CHECK(same(result.outputs[6], at::neg(split)));
}

at::Tensor normalized(const at::Tensor& x) {
  const auto each = [](std::vector<double> values) { return at::tensor(values); };
  return at::batch_norm(x, each({1, 2, -1, 0.5}), each({0, 1, 2, -1}), each({1, 0, -2, 3}),
                        each({4, 0.25, 1, 9}), /*training=*/false, 0, 1e-3, false);
}

std::unique_ptr<Backend> with_threads(std::int64_t threads) {
  Options options(cpu::kOptions);
  options.set("backend 'cpu'", "threads", threads);
  return std::make_unique<cpu::CpuBackend>(options);
}

TEST_CASE("channels are dealt out from any number of parts") {
  const at::Tensor x = at::arange(24 * 6, at::kFloat).reshape({1, 24, 3, 2}),
                   ones = at::ones({24, 1, 1, 1}, at::kDouble);
  const auto one = with_threads(1), two = with_threads(2);
  for (const std::int64_t parts : {1, 2, 3, 4, 6, 8, 12, 24}) {
    CAPTURE(parts);
    const std::string split = std::to_string(parts) + ", " + std::to_string(24 / parts);
    ModelFolder models;
    const auto program = models.frontend()
                             .load_program(models.save(parse_graph(R"(
      g (float[1, 24, 3, 2] x) => (float[1, 24, 3, 2] y)
      <float[24, 1, 1, 1] w = {)" + text_of(ones) + R"(}, int64[5] split = {1, )" +
                                                                   split + R"(, 3, 2},
       int64[4] whole = {1, 24, 3, 2}> {
        c = Conv<kernel_shape = [1, 1], group = 24>(x, w)
        s = Reshape(c, split)
        t = Transpose<perm = [0, 2, 1, 3, 4]>(s)
        y = Reshape(t, whole)
      })")),
                                           {})
                             .program;
    SessionOptions options;
    options.inputs["x"] = content_of(x);
    for (Backend* const backend : {one.get(), two.get()}) {
      const auto session = backend->open(program, options);
      const StepResult result =
          run_whole(*session, Placement(static_cast<std::size_t>(program->graph->op_count()), 0));
      CHECK(same(result.outputs[0],
                 x.reshape({1, parts, 24 / parts, 3, 2}).transpose(1, 2).reshape({1, 24, 3, 2})));
    }
  }
}

TEST_CASE("poolings of many channels take the largest of each window, and NaN where there is one") {
  const at::Tensor x = at::sub(counted({2, 19, 7, 6}), 9).to(at::kFloat);
  x[1][17][3][2].fill_(std::numeric_limits<float>::quiet_NaN());
  ModelFolder models;
  const auto program = models.frontend()
                           .load_program(models.save(parse_graph(R"(
      g (float[2, 19, 7, 6] x) => (float[2, 19, 3, 2] plain, float[2, 19, 4, 3] uneven,
                                   float[2, 19, 4, 3] ceiled, float[2, 19, 3, 4] apart, float[2, 19, 1, 1] all,
                                   float[2, 19, 1, 1] means) {
        plain = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(x)
        uneven = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [0, 0, 2, 2]>(x)
        ceiled = MaxPool<kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1>(x)
        apart = MaxPool<kernel_shape = [3, 2], dilations = [2, 2]>(x)
        all = GlobalMaxPool(x)
        means = GlobalAveragePool(x)
      })")),
                                         {})
                           .program;
  SessionOptions options;
  options.inputs["x"] = content_of(x);
  const at::Tensor padded =
      at::constant_pad_nd(x, {0, 2, 0, 2}, -std::numeric_limits<double>::infinity());
  const std::vector<at::Tensor> expected = {
      at::max_pool2d(x, {3, 3}, {2, 2}),
      at::max_pool2d(padded, {3, 3}, {2, 2}),
      at::max_pool2d(x, {2, 2}, {2, 2}, {0, 0}, {1, 1}, /*ceil_mode=*/true),
      at::max_pool2d(x, {3, 2}, {1, 1}, {0, 0}, {2, 2}),
      at::amax(x, {2, 3}, true),
      at::mean(x, {2, 3}, true)};
  for (const std::int64_t threads : {1, 2}) {
    const auto backend = with_threads(threads);
    const auto session = backend->open(program, options);
    const StepResult result =
        run_whole(*session, Placement(static_cast<std::size_t>(program->graph->op_count()), 0));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(program->output_names[i]);
      const at::Tensor got = floats_of(result.outputs[i]);
      REQUIRE((got.sizes() == expected[i].sizes()));
      CHECK(at::allclose(got, expected[i], 1e-6, 0, /*equal_nan=*/true));
    }
  }
  CHECK(at::isnan(expected[0]).any().item<bool>());
}

/// Chains of Conv, BatchNormalization and Relu: whole, with a value between that is read twice, with one that is
/// returned, without normalization, and one that takes its statistics from the batch.
std::shared_ptr<const Program> chains(ModelFolder& models, const at::Tensor& w, const at::Tensor& b,
                                      const at::Tensor& grouped) {
  const std::string weights = "float[4, 4, 3, 3]",
                    normalize = "BatchNormalization<epsilon = 0.001>";
  const auto weight = [&](const std::string& name) {
    return weights + " " + name + " = {" + text_of(w) + "}, ";
  };
  return models.frontend()
      .load_program(models.save(parse_graph(
                        R"(
      g (float[2, 4, 7, 6] x) => (float[2, 4, 7, 6] whole, float[2, 4, 7, 6] twice, float[2, 4, 7, 6] between,
                                  float[2, 4, 7, 6] behind, float[2, 4, 6, 5] plain, float[2, 4, 7, 6] batch)
      <)" + weight("w1") +
                        weight("w2") + weight("w3") + weight("w5") + "float[4] b = {" + text_of(b) +
                        "}, float[4, 2, 2, 2] w4 = {" + text_of(grouped) + R"(},
       float[4] scale = {1., 2., -1., 0.5}, float[4] shift = {0., 1., 2., -1.},
       float[4] mean = {1., 0., -2., 3.}, float[4] variance = {4., 0.25, 1., 9.}> {
        c1 = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, w1, b)
        n1 = )" + normalize +
                        R"((c1, scale, shift, mean, variance)
        whole = Relu(n1)
        c2 = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, w2)
        n2 = )" + normalize +
                        R"((c2, scale, shift, mean, variance)
        r2 = Relu(n2)
        twice = Add(n2, r2)
        between = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, w3, b)
        behind = Relu(between)
        c4 = Conv<kernel_shape = [2, 2], pads = [1, 0, 0, 0], group = 2>(x, w4)
        plain = Relu(c4)
        c5 = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, w5)
        batch, m5, v5 = BatchNormalization<training_mode = 1>(c5, scale, shift, mean, variance)
      })")),
                    {})
      .program;
}

TEST_CASE("a convolution does the work of what follows it where both are and nobody else reads") {
  const at::Tensor x = counted({2, 4, 7, 6}), w = counted({4, 4, 3, 3}), b = counted({4}),
                   grouped = counted({4, 2, 2, 2});
  ModelFolder models;
  const auto program = chains(models, w, b, grouped);
  const Graph& graph = *program->graph;
  const auto backend = std::make_unique<cpu::CpuBackend>(two_devices());
  SessionOptions options;
  options.inputs["x"] = content_of(x);
  const auto session = backend->open(program, options);

  const at::Tensor with_bias = convolved(x, w, b, 1, 1), without = convolved(x, w, {}, 1, 1);
  const at::Tensor twice = normalized(without);
  const at::Tensor padded = at::constant_pad_nd(x, {0, 0, 1, 0});
  const auto [variance, mean] = at::var_mean(without, {0, 2, 3}, /*unbiased=*/false,
                                             /*keepdim=*/true);
  const at::Tensor batch =
      at::add(at::mul(at::div(at::sub(without, mean), at::sqrt(at::add(variance, 1e-5))),
                      at::tensor({1.0, 2.0, -1.0, 0.5}).reshape({4, 1, 1})),
              at::tensor({0.0, 1.0, 2.0, -1.0}).reshape({4, 1, 1}));
  const std::vector<at::Tensor> expected = {at::relu(normalized(with_bias)),
                                            at::add(twice, at::relu(twice)),
                                            with_bias,
                                            at::relu(with_bias),
                                            at::relu(convolved(padded, grouped, {}, 0, 2)),
                                            batch};
  // All together, then every second op elsewhere, then each of the normalizations and activations.
  for (std::uint32_t mask = 0; mask < 6; ++mask) {
    CAPTURE(mask);
    Placement placement;
    for (OpId op = 0; op < graph.op_count(); ++op) {
      const std::string& type = graph.op_type(op);
      const bool away = mask == 1   ? op % 2 == 1
                        : mask == 2 ? type == "BatchNormalization"
                        : mask == 3 ? type == "Relu"
                        : mask == 4 ? type != "Conv"
                                    : mask == 5;
      placement.push_back(away ? 1 : 0);
    }
    const StepResult result = run_whole(*session, placement);
    REQUIRE(result.outputs.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(program->output_names[i]);
      const at::Tensor got = floats_of(result.outputs[i]);
      const at::Tensor wanted = expected[i].to(at::kDouble);
      REQUIRE((got.sizes() == wanted.sizes()));
      const double error = at::sub(got, wanted).abs().max().item<double>();
      CHECK(error <= 1e-6 * wanted.abs().max().item<double>());
    }
  }
}

TEST_CASE("what is between two devices, read twice or returned is computed by its own op") {
  ModelFolder models;
  const auto program = chains(models, counted({4, 4, 3, 3}), counted({4}), counted({4, 2, 2, 2}));
  const Graph& graph = *program->graph;
  const cpu::CpuBackend backend(two_devices());
  cpu::CpuRuntime runtime(*backend.cluster(), {0}, 1, {});
  const at::Tensor ones = at::ones({4, 4, 3, 3}), grouped = at::ones({4, 2, 2, 2}),
                   four = at::ones({4});
  const auto parameter = [&, values = std::vector<runtime::Value>(3)](
                             TensorId tensor) mutable -> const runtime::Value& {
    const auto shape = graph.shape(tensor);
    runtime::Value& value = values[shape.size() == 1 ? 0 : shape[1] == 2 ? 1 : 2];
    value.tensor = shape.size() == 1 ? four : shape[1] == 2 ? grouped : ones;
    return value;
  };
  using Names = std::set<std::string>;
  Names held;
  /// What the ops make that got kernels of their convolution's chain, where these are on the second device.
  const auto replaced = [&](const Names& away) {
    Placement placement;
    for (OpId op = 0; op < graph.op_count(); ++op) {
      placement.push_back(away.contains(graph.tensor_name(graph.outputs(op)[0])) ? 1 : 0);
    }
    runtime::FusedOps fused(*program);
    std::vector<runtime::Kernel> kernels(static_cast<std::size_t>(graph.op_count()));
    fused.place(placement, runtime, parameter, kernels);
    Names names;
    for (OpId op = 0; op < graph.op_count(); ++op) {
      if (kernels[static_cast<std::size_t>(op)] == nullptr) continue;
      names.insert(graph.tensor_name(graph.outputs(op)[0]));
    }
    for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
      if (fused.holds(tensor)) held.insert(graph.tensor_name(tensor));
    }
    return names;
  };
  CHECK(replaced({}) == Names{"c1", "n1", "whole", "c2", "n2", "between", "c4", "plain", "c5"});
  CHECK(held == Names{"w1", "w2", "w3", "w4", "w5"});
  CHECK(replaced({"n1"}) == Names{"c1", "c2", "n2", "between", "c4", "plain", "c5"});
  CHECK(replaced({"n1", "whole"}) == replaced({"n1"}));
  CHECK(replaced({"whole", "plain"}) == Names{"c1", "n1", "c2", "n2", "between", "c4", "c5"});
  CHECK(replaced({"c1", "n1", "whole"}) == replaced({}));
}

TEST_CASE("a convolution does the work of a factor and a summand for each channel") {
  const at::Tensor x = counted({1, 4, 5, 6}), w = counted({4, 4, 1, 1}), b = counted({4}),
                   factor = at::sub(counted({4}), 0.5), summand = at::add(counted({4}), 0.25);
  const auto weight = [&](const std::string& name) {
    return "float[4, 4, 1, 1] " + name + " = {" + text_of(w) + "}, ";
  };
  ModelFolder models;
  const auto program = models.frontend()
                           .load_program(models.save(parse_graph(
                                             R"(
      g (float[1, 4, 5, 6] x) => (float[1, 4, 5, 6] all, float[1, 4, 5, 6] whole, float[1, 4, 5, 6] plain,
                                  float[1, 4, 5, 6] columns)
      <)" + weight("w1") + weight("w2") + weight("w3") +
                                             weight("w4") + "float[4] b = {" + text_of(b) +
                                             "}, float[4, 1, 1] f = {" + text_of(factor) +
                                             "}, float[1, 4, 1, 1] s = {" + text_of(summand) +
                                             R"(}, float[6] row = {1., 2., 3., 4., 5., 6.},
       float[4] scale = {1., 2., -1., 0.5}, float[4] shift = {0., 1., 2., -1.},
       float[4] mean = {1., 0., -2., 3.}, float[4] variance = {4., 0.25, 1., 9.}> {
        c1 = Conv(x, w1, b)
        n1 = BatchNormalization<epsilon = 0.001>(c1, scale, shift, mean, variance)
        m1 = Mul(n1, f)
        a1 = Add(m1, s)
        all = Relu(a1)
        c2 = Conv(x, w2)
        m2 = Mul(c2, f)
        whole = Relu(m2)
        c3 = Conv(x, w3)
        plain = Add(c3, s)
        c4 = Conv(x, w4)
        columns = Add(c4, row)
      })")),
                                         {})
                           .program;
  const Graph& graph = *program->graph;
  const auto backend = std::make_unique<cpu::CpuBackend>(two_devices());
  SessionOptions options;
  options.inputs["x"] = content_of(x);
  const auto session = backend->open(program, options);
  CHECK(session->joined().size() == 7);
  const auto by_channel = [](const at::Tensor& numbers) { return numbers.reshape({4, 1, 1}); };
  const at::Tensor c = convolved(x, w, {}, 0, 1);
  const std::vector<at::Tensor> expected = {
      at::relu(at::add(at::mul(normalized(convolved(x, w, b, 0, 1)), by_channel(factor)),
                       by_channel(summand))),
      at::relu(at::mul(c, by_channel(factor))), at::add(c, by_channel(summand)),
      at::add(c, at::arange(1, 7, at::kDouble))};
  // All together, then the ops of each kind away from the others.
  for (const std::string away : {"", "BatchNormalization", "Mul", "Add", "Relu", "Conv"}) {
    CAPTURE(away);
    Placement placement;
    for (OpId op = 0; op < graph.op_count(); ++op) {
      placement.push_back(graph.op_type(op) == away ? 1 : 0);
    }
    const StepResult result = run_whole(*session, placement);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(program->output_names[i]);
      const at::Tensor got = floats_of(result.outputs[i]);
      const double error = at::sub(got, expected[i]).abs().max().item<double>();
      CHECK(error <= 1e-6 * expected[i].abs().max().item<double>());
    }
  }
}

TEST_CASE("a sum does the work of a Relu behind it, and leaves what it adds and what others read") {
  ModelFolder models;
  const auto program = models.frontend()
                           .load_program(models.save(parse_graph(R"(
      g (float[2, 3] x, float[2, 3] z) => (float[2, 3] pair, float[2, 3] all, float[2, 3] both,
                                           float[2, 3] one, float[2, 3] minus) {
        s = Add(x, z)
        pair = Relu(s)
        t = Sum(x, z, x)
        all = Relu(t)
        u = Add(x, z)
        v = Relu(u)
        both = Sub(u, v)
        w = Sum(x)
        one = Relu(w)
        minus = Neg(x)
      })")),
                                         {})
                           .program;
  const at::Tensor x = at::sub(counted({2, 3}), 4), z = at::full({2, 3}, 1.5);
  const auto backend = std::make_unique<cpu::CpuBackend>(two_devices());
  SessionOptions options;
  options.inputs["x"] = content_of(x);
  options.inputs["z"] = content_of(z);
  const auto session = backend->open(program, options);
  CHECK(session->joined().size() == 2);
  const at::Tensor sum = at::add(x, z);
  const std::vector<at::Tensor> expected = {at::relu(sum), at::relu(at::add(sum, x)),
                                            at::sub(sum, at::relu(sum)), at::relu(x), at::neg(x)};
  const Graph& graph = *program->graph;
  for (const bool apart : {false, true}) {
    Placement placement;
    for (OpId op = 0; op < graph.op_count(); ++op) {
      placement.push_back(apart && graph.op_type(op) == "Relu" ? 1 : 0);
    }
    const StepResult result = run_whole(*session, placement);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(program->output_names[i]);
      const at::Tensor got = floats_of(result.outputs[i]);
      CHECK(at::equal(got, expected[i]));
    }
  }
}

TEST_CASE("weights that are packed are held once") {
  onnx::ModelProto model = parse_graph(R"(
      g (float[1, 64, 2, 2] x) => (float[1, 64, 2, 2] y) {
        c = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, w)
        y = Relu(c)
      })");
  add_weight(model, "w", {64, 64, 3, 3});
  ModelFolder models;
  const auto program = models.frontend().load_program(models.save(model), {}).program;
  const cpu::CpuBackend backend(two_devices());
  cpu::CpuRuntime runtime(*backend.cluster(), {0}, 1, {});
  const runtime::Value weight{at::ones({64, 64, 3, 3}), nullptr};
  const auto bytes = static_cast<std::int64_t>(weight.tensor.nbytes());
  const auto ops = static_cast<std::size_t>(program->graph->op_count());
  std::vector<runtime::Kernel> kernels(ops);
  runtime::FusedOps fused(*program);
  for (const DeviceId device : {0, 1, 0}) {
    fused.place(
        Placement(ops, device), runtime, [&](TensorId) -> const runtime::Value& { return weight; },
        kernels);
    kernels.assign(ops, nullptr);
    CHECK(runtime.meter(device).held_bytes() >= bytes);
    CHECK(runtime.meter(device).held_bytes() < bytes * 5 / 4);
    CHECK(runtime.meter(1 - device).held_bytes() == 0);
  }
}

TEST_CASE("a product with packed weights holds none of them in f32, or few at a time") {
  for (const std::int64_t rows : {1, 64}) {
    onnx::ModelProto model = parse_graph("g (float[" + std::to_string(rows) +
                                         ", 512] x) => (float[" + std::to_string(rows) +
                                         ", 4096] y) { y = com.microsoft.MatMulNBits<K = 512, N = "
                                         "4096, bits = 4, block_size = 32>(x, w, s) }");
    add_weight(model, "w", {4096, 16, 16}, onnx::TensorProto::UINT8);
    add_weight(model, "s", {4096, 16});
    ModelFolder models;
    const auto program = models.load_program(model.SerializeAsString(), {}).program;
    const auto backend = with_threads(1);
    const auto session = backend->open(program, {});
    const StepResult result =
        run_whole(*session, Placement(static_cast<std::size_t>(program->graph->op_count()), 0));
    constexpr std::int64_t kInF32 = 4096 * 512 * 4;
    CHECK(result.peak_bytes.at(0) < kInF32 / 2);
  }
}

TEST_CASE("weights are turned around where convolutions alone read them") {
  ModelFolder models;
  const auto program = models.frontend()
                           .load_program(models.save(parse_graph(R"(
      g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y, float[2, 2, 1, 1] kept)
      <float[2, 2, 1, 1] plain = {1., 2., 3., 4.}, float[2, 2, 1, 1] shared = {1., 2., 3., 4.},
       float[2, 2, 1, 1] kept = {1., 2., 3., 4.}, float[2, 1, 1, 1] grouped = {1., 2.}> {
        a = Conv(x, plain)
        b = Conv(a, plain)
        c = Conv(b, shared)
        d = Conv(c, kept)
        e = Conv<group = 2>(d, grouped)
        s = ReduceSum<keepdims = 0>(shared)
        y = Mul(e, s)
      })")),
                                         {})
                           .program;
  const Graph& graph = *program->graph;
  const std::vector<bool> turned = runtime::weights_of_images(*program);
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    CAPTURE(graph.tensor_name(tensor));
    CHECK(turned[static_cast<std::size_t>(tensor)] == (graph.tensor_name(tensor) == "plain"));
  }
}

TEST_CASE("a row by a matrix is their product") {
  const at::Tensor matrix = counted({5, 6});
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kInt}) {
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{
             {5}, {1, 5}, {1, 1, 1, 5}, {2, 5}, {3, 1, 5}, {0, 5}}) {
      const at::Tensor a = counted(shape).to(type), b = matrix.to(type);
      const at::Tensor expected = at::matmul(a, b);
      for (const at::Tensor& same_matrix : {b, b.t().contiguous().t()}) {
        const at::Tensor got = runtime::product(a, same_matrix);
        CHECK((got.sizes() == expected.sizes()));
        CHECK((got.scalar_type() == type));
        CHECK(at::equal(got, expected));
      }
    }
  }
  const at::Tensor row = counted({1, 6}), bias = counted({5});
  CHECK(at::equal(runtime::linear(row, matrix, bias), at::linear(row, matrix, bias)));
  CHECK(at::equal(runtime::linear(row, matrix, {}), at::linear(row, matrix)));
}

}  // namespace
}  // namespace berth::test
