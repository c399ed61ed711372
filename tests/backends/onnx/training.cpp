// Kernels that training artefacts need.
#include <ATen/Functions.h>

#include "backends/onnx/values.h"
#include "frontends/onnx/model_text.h"
#include "support/torch_doctest.h"

namespace berth::test {
namespace {

runtime::Value value(const at::Tensor& tensor) {
  return {tensor, nullptr};
}

/// A model with the text's one node, whose inputs stay inputs.
CpuModel model_of(ModelFolder& models, const std::string& graph) {
  return CpuModel(models.save(parse_graph(graph)));
}

TEST_CASE("a buffer of gradients has the sum, or the gradient alone where it is reset") {
  ModelFolder models;
  const CpuModel model =
      model_of(models,
               "g (float[2,3] b, float[2,3] d, bool[1] reset) => (done, sum) { done, sum = "
               "com.microsoft.InPlaceAccumulatorV2(b, d, reset) }");
  const at::Tensor buffer = at::full({2, 3}, 2), gradient = at::arange(6, at::kFloat).view({2, 3});
  for (const bool resets : {false, true}) {
    const auto outputs =
        model.run({value(buffer), value(gradient), value(at::full({1}, resets, at::kBool))});
    CHECK(outputs.at(0).tensor.item().toBool());
    CHECK(at::equal(outputs.at(1).tensor, resets ? gradient : at::add(buffer, gradient)));
    CHECK(at::equal(buffer, at::full({2, 3}, 2)));
  }
}

TEST_CASE("the gradient of a mean loss of classes is chances, less one at the label, by samples") {
  ModelFolder models;
  const CpuModel model = model_of(
      models,
      "g (float dy, float[4,3] logs, int64[4] labels) => (dx) { dx = "
      "com.microsoft.SoftmaxCrossEntropyLossGrad<reduction = \"mean\", ignore_index = 1>(dy, "
      "logs, labels) }");
  const at::Tensor logs = at::log_softmax(at::arange(12, at::kFloat).view({4, 3}).sin(), 1);
  const at::Tensor labels = at::tensor(std::vector<std::int64_t>{0, 1, 2, 2}, at::kLong);
  const auto outputs =
      model.run({value(at::scalar_tensor(2, at::kFloat)), value(logs), value(labels)});
  at::Tensor expected = logs.exp();
  for (const std::int64_t i : {0, 2, 3}) expected[i][labels[i].item().toLong()].sub_(1);
  expected[1].zero_();  // its class is ignored
  CHECK(at::allclose(outputs.at(0).tensor, at::mul(expected, 2.0 / 3)));
}

TEST_CASE("Scale multiplies by a number of another type, or divides") {
  ModelFolder models;
  const CpuModel model =
      model_of(models,
               "g (float[3] x, int64 n) => (y, z) { y = com.microsoft.Scale(x, n) z = "
               "com.microsoft.Scale<scale_down = 1>(x, n) }");
  const at::Tensor x = at::arange(3, at::kFloat);
  const auto outputs = model.run({value(x), value(at::scalar_tensor(4, at::kLong))});
  CHECK(at::equal(outputs.at(0).tensor, at::mul(x, 4)));
  CHECK(at::equal(outputs.at(1).tensor, at::div(x, 4)));
}

}  // namespace
}  // namespace berth::test
