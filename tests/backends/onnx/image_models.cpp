// Layouts of images, and products of single rows: what is faster computes the same numbers.
#include <ATen/Functions.h>
#undef CHECK  // LibTorch's own; the tests mean doctest's
#include <doctest/doctest.h>

#include <cstring>
#include <numeric>

#include "cpu/backend.h"
#include "frontends/onnx/model_text.h"
#include "runtime/layouts.h"
#include "runtime/products.h"

namespace berth::test {
namespace {

/// Integers, which are exact in any order of summation.
at::Tensor counted(at::IntArrayRef shape) {
  const std::int64_t count =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return at::sub(at::remainder(at::mul(at::arange(count, at::kDouble), 5), 7), 3).reshape(shape);
}

std::string text_of(const at::Tensor& numbers) {
  std::string text;
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(numbers.reshape({-1})[i].item<double>());
  }
  return text;
}

TensorContent content_of(const at::Tensor& tensor) {
  TensorContent content;
  content.dtype = DType::f32;
  content.shape = tensor.sizes().vec();
  const auto owner = std::make_shared<at::Tensor>(tensor.to(at::kFloat).contiguous());
  content.bytes = {static_cast<const std::byte*>(owner->data_ptr()), owner->nbytes()};
  content.owner = owner;
  return content;
}

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
                                  float[2, 96] flat, float[2, 8, 9, 8] single)
      <float[8, 3, 3, 3] w = {)" + text_of(w) +
                                             R"(},
       float[8] b = {)" + text_of(b) + R"(},
       float[8, 2, 1, 1] grouped = {)" + text_of(grouped) +
                                             R"(},
       float[8, 1, 3, 3] each = {)" + text_of(each) +
                                             R"(},
       int64[2] rows = {2, 96}> {
        c = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, w, b)
        r = Relu(c)
        p = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(r)
        q = Conv<kernel_shape = [1, 1], group = 4>(p, grouped)
        flat = Reshape(q, rows)
        straight = Transpose<perm = [0, 1, 3, 2]>(c)
        back = Transpose<perm = [0, 1, 3, 2]>(straight)
        single = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1], group = 8>(back, each)
      })")),
                                         {})
                           .program;
  Options two(cpu::kOptions);
  two.set("backend 'cpu'", "devices", std::int64_t{2});
  const auto backend = std::make_unique<cpu::CpuBackend>(two);
  SessionOptions options;
  options.inputs["x"] = content_of(x);
  const auto session = backend->open(program, options);
  Placement placement;
  for (OpId op = 0; op < program->graph->op_count(); ++op) placement.push_back(op % 2);
  StepOptions step;
  step.outputs = true;
  const StepResult result = session->run(placement, step);
  REQUIRE(result.outputs.size() == 5);
  const at::Tensor c = convolved(x, w, b, 1, 1);
  const at::Tensor p = at::max_pool2d(at::relu(c), {3, 3}, {2, 2}, {0, 0});
  const at::Tensor q = convolved(p, grouped, {}, 0, 4);
  CHECK(same(result.outputs[0], c));
  CHECK(same(result.outputs[1], p));
  CHECK(same(result.outputs[2], q));
  CHECK(same(result.outputs[3], q.reshape({2, 96})));
  CHECK(same(result.outputs[4], convolved(c, each, {}, 1, 8)));
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
