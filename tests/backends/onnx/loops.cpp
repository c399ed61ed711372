// Kernels that have loops of their own for f32 on a processor, against what ATen's ops compute in f64.
#include <ATen/Functions.h>

#include <cmath>

#include "backends/onnx/values.h"
#include "frontends/onnx/model_text.h"
#include "support/torch_doctest.h"

namespace berth::test {
namespace {

onnx::TensorProto waves(const std::vector<std::int64_t>& shape) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    tensor.add_dims(dim);
    count *= dim;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    tensor.add_float_data(static_cast<float>(3 * std::sin(1.7 * static_cast<double>(i))));
  }
  return tensor;
}

/// The outputs of ops in which $ is f, for f32, and once more d, for f64: by turns. They read $x, and weights by `casts`.
std::vector<runtime::Value> computed(const std::string& ops,
                                     const std::vector<std::string>& outputs,
                                     const std::vector<std::string>& casts,
                                     const std::vector<std::int64_t>& shape) {
  std::string dims, returned, text;
  for (const std::int64_t dim : shape) dims += (dims.empty() ? "" : ",") + std::to_string(dim);
  for (const std::string& output : outputs) {
    for (const char* const name : {"f", "d"})
      returned += (returned.empty() ? "" : ", ") + (name + output);
  }
  text = "fx = Identity(x) dx = Cast<to = 11>(x) ";
  for (const std::string& each : casts) {
    text += "f" + each + " = Identity(" + each + ") d" + each + " = Cast<to = 11>(" + each + ") ";
  }
  for (const char* const name : {"f", "d"}) {
    for (const char letter : ops)
      text += letter == '$' ? std::string(name) : std::string(1, letter);
    text += ' ';
  }
  onnx::ModelProto model =
      parse_graph("g (float[" + dims + "] x) => (" + returned + ") { " + text + "}", 18);
  const std::int64_t n = 19, gates = ops.find("LSTM") != std::string::npos ? 4 : 3;
  for (const std::string& each : casts) {
    if (each == "w") add_weight(model, each, {2, gates * n, shape.back()});
    if (each == "r") add_weight(model, each, {2, gates * n, n});
    if (each == "b") add_weight(model, each, {2, 2 * gates * n});
    if (each == "h" || each == "c") add_weight(model, each, {2, shape[1], n});
  }
  ModelFolder models;
  CpuModel loaded(models.save(model));
  loaded.draw_weights(7);
  return loaded.run({value_of(waves(shape))});
}

void check_same(const std::string& ops, const std::vector<std::int64_t>& shape,
                const std::vector<std::string>& outputs = {"y"},
                const std::vector<std::string>& casts = {}) {
  CAPTURE(ops);
  const auto results = computed(ops, outputs, casts, shape);
  for (std::size_t i = 0; i < results.size(); i += 2) {
    const at::Tensor got = results[i].tensor.to(at::kDouble);
    const at::Tensor wanted = results[i + 1].tensor.to(at::kDouble);
    REQUIRE((got.sizes() == wanted.sizes()));
    CHECK(at::allclose(got, wanted, 2e-6, 2e-6));
  }
}

/// A convolution leaves the channels of i innermost.
const std::string kOfImages =
    "$k = Constant<value = float[3, 3, 1, 1] {1., 0., 0., 0., 1., 0., 0., 0., 1.}>() "
    "$t = Cast<to = 1>($x) $c = Conv($t, $k) $i = CastLike($c, $x) ";

TEST_CASE("LSTM and GRU of a processor are those of ATen's ops, step by step") {
  const std::string lengths = "$l = Constant<value = int32[3] {5, 2, 4}>() ";
  const std::vector<std::string> lstm = {"y", "z", "s"}, gru = {"y", "z"};
  const std::string attributes = "<hidden_size = 19, direction = \"bidirectional\"";
  check_same("$y, $z, $s = LSTM" + attributes + ">($x, $w, $r, $b)", {5, 3, 4}, lstm,
             {"w", "r", "b"});
  check_same("$y, $z, $s = LSTM" + attributes + ">($x, $w, $r)", {9, 1, 4}, lstm, {"w", "r"});
  check_same(lengths + "$y, $z, $s = LSTM" + attributes + ">($x, $w, $r, $b, $l, $h, $c)",
             {5, 3, 4}, lstm, {"w", "r", "b", "h", "c"});
  for (const std::string linear : {"0", "1"}) {
    const std::string gates = attributes + ", linear_before_reset = " + linear;
    check_same("$y, $z = GRU" + gates + ">($x, $w, $r, $b)", {4, 7, 4}, gru, {"w", "r", "b"});
    check_same("$y, $z = GRU" + gates + ">($x, $w, $r)", {4, 7, 4}, gru, {"w", "r"});
    check_same(lengths + "$y, $z = GRU" + gates + ">($x, $w, $r, $b, $l, $h)", {5, 3, 4}, gru,
               {"w", "r", "b", "h"});
  }
}

TEST_CASE("indices of extremes are those of the first of equals, or the last, along any axis") {
  for (const std::string type : {"ArgMax", "ArgMin"}) {
    for (const std::string axis : {"0", "1", "2", "-1"}) {
      for (const std::string last : {"0", "1"}) {
        check_same("$t = Round($x) $y = " + type + "<axis = " + axis + ", select_last_index = " +
                       last + ">($t) $z = " + type + "<axis = " + axis + ", keepdims = 0>($t)",
                   {3, 5, 700}, {"y", "z"});
      }
    }
  }
  // No number counts as the largest.
  check_same("$t = Sqrt($x) $y = ArgMax<axis = 1>($t)", {2, 6, 9});
}

TEST_CASE("resized images are what sums of slices give, wherever their channels are") {
  for (const std::string scales : {"2., 2.", "1.5, 0.6", "1., 3.", "2.5, 1."}) {
    for (const std::string mode :
         {"mode = \"nearest\", coordinate_transformation_mode = \"asymmetric\", nearest_mode = "
          "\"floor\"",
          "mode = \"nearest\"", "mode = \"linear\"",
          "mode = \"linear\", coordinate_transformation_mode = \"align_corners\"",
          "mode = \"linear\", coordinate_transformation_mode = \"half_pixel\", exclude_outside = 1",
          "mode = \"cubic\""}) {
      const std::string resize = "$q = Constant<value = float[4] {1., 1., " + scales +
                                 "}>() $y = Resize<" + mode + ">($x, , $q)";
      check_same(resize, {2, 3, 6, 7});
      check_same(kOfImages + "$q = Constant<value = float[4] {1., 1., " + scales +
                     "}>() $y = Resize<" + mode + ">($i, , $q)",
                 {2, 3, 6, 7});
    }
  }
}

TEST_CASE("means of planes and normalized planes are those of f64") {
  check_same("$y = GlobalAveragePool($x)", {2, 3, 7, 9});
  check_same("$y = GlobalAveragePool($x)", {2, 3, 2, 3, 5});
  check_same(kOfImages + "$y = GlobalAveragePool($i)", {2, 3, 7, 9});
  const std::string scales =
      "$s = Constant<value = float[3] {1., 2., -0.5}>() $a = CastLike($s, $x) ";
  check_same(scales + "$y = InstanceNormalization($x, $a, $a)", {2, 3, 40, 9});
  check_same(scales + "$y = InstanceNormalization($x, $a, $a)", {2, 3, 11});
}

}  // namespace
}  // namespace berth::test
