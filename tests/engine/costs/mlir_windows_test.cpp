// Convolutions and pools of MLIR's dialects.
#include "mlir_op.h"

namespace berth::test {
namespace {

TEST_CASE("a convolution's work and kind follow from its layout and its groups") {
  const std::vector<std::pair<std::string, Numbers>> hwio = {{"output_features", {3}},
                                                             {"input_features", {2}}};
  const auto grouped = [&hwio](std::int64_t groups) {
    auto attributes = hwio;
    attributes.emplace_back("groups", Numbers{groups});
    return attributes;
  };
  const Case cases[] = {
      {"tosa.conv2d",
       {{1, 8, 8, 16}, {32, 1, 1, 16}, {32}},
       {1, 8, 8, 32},
       {},
       2.0 * 64 * 32 * 16,
       OpClass::pointwise_convolution},
      {"linalg.conv_2d_nhwc_fhwc",
       {{1, 8, 8, 16}, {32, 1, 1, 16}},
       {1, 8, 8, 32},
       {},
       2.0 * 64 * 32 * 16,
       OpClass::pointwise_convolution},
      {"linalg.conv_2d", {{10, 10}, {3, 3}}, {8, 8}, {}, 2.0 * 64 * 9, OpClass::convolution},
      {"linalg.conv_2d_ngchw_fgchw",
       {{1, 2, 4, 10, 10}, {8, 2, 4, 3, 3}},
       {1, 2, 8, 8, 8},
       {},
       2.0 * 2 * 8 * 64 * 4 * 9,
       OpClass::grouped_convolution},
      {"linalg.conv_2d_ngchw_gfchw",
       {{1, 2, 4, 10, 10}, {2, 8, 4, 3, 3}},
       {1, 2, 8, 8, 8},
       {},
       2.0 * 2 * 8 * 64 * 4 * 9,
       OpClass::grouped_convolution},
      {"linalg.conv_2d_nhwgc_gfhwc",
       {{1, 10, 10, 2, 4}, {2, 8, 3, 3, 4}},
       {1, 8, 8, 2, 8},
       {},
       2.0 * 2 * 8 * 64 * 4 * 9,
       OpClass::grouped_convolution},
      {"linalg.depthwise_conv_1d_nwc_wc",
       {{1, 10, 8}, {3, 8}},
       {1, 8, 8},
       {},
       2.0 * 64 * 3,
       OpClass::depthwise_convolution},
      {"linalg.depthwise_conv_2d_nchw_chw",
       {{1, 8, 10, 10}, {8, 3, 3}},
       {1, 8, 8, 8},
       {},
       2.0 * 8 * 64 * 9,
       OpClass::depthwise_convolution},
      {"linalg.depthwise_conv_3d_ndhwc_dhwcm",
       {{1, 6, 6, 6, 8}, {3, 3, 3, 8, 2}},
       {1, 4, 4, 4, 8, 2},
       {},
       2.0 * 64 * 16 * 27,
       OpClass::depthwise_convolution},
      {"stablehlo.convolution",
       {{1, 10, 10, 8}, {3, 3, 1, 8}},
       {1, 8, 8, 8},
       grouped(8),
       2.0 * 64 * 8 * 9,
       OpClass::depthwise_convolution},
      {"stablehlo.convolution",
       {{1, 10, 10, 8}, {3, 3, 4, 8}},
       {1, 8, 8, 8},
       grouped(2),
       2.0 * 64 * 8 * 4 * 9,
       OpClass::grouped_convolution},
      {"torch.aten.convolution",
       {{1, 8, 10, 10}, {8, 1, 3, 3}},
       {1, 8, 8, 8},
       {},
       2.0 * 64 * 8 * 9,
       OpClass::depthwise_convolution},
      {"torch.aten.conv1d",
       {{8, 10}, {8, 4, 3}},
       {8, 8},
       {},
       2.0 * 64 * 4 * 3,
       OpClass::grouped_convolution},
      // The gradient of a filter with a group for each channel: the batch is spread over the groups.
      {"stablehlo.convolution",
       {{8, 10, 10, 5}, {8, 8, 5, 8}},
       {1, 3, 3, 8},
       {{"output_features", {3}},
        {"input_features", {2}},
        {"output_batch", {0}},
        {"batch_groups", {8}}},
       2.0 * 9 * 8 * 64 * 5,
       OpClass::depthwise_convolution},
  };
  for (const Case& each : cases) {
    CAPTURE(each.type);
    CAPTURE(each.inputs[1].size());
    const Work work = work_of(each);
    CHECK(work.flops == doctest::Approx(each.flops));
    CHECK(work.op_class == each.op_class);
  }
  check_products(work_of({"stablehlo.convolution",
                          {{1, 10, 10, 8}, {3, 3, 4, 8}},
                          {1, 8, 8, 8},
                          grouped(2),
                          0,
                          {}}),
                 {64, 4, 36, 2});
}

TEST_CASE("a transposed convolution multiplies every input with the weights of its channel") {
  constexpr double kFlops = 2.0 * 32 * 32 * 64 * 32 * 4 * 4;
  const Shape nchw = {1, 64, 32, 32}, weights = {64, 32, 4, 4}, result = {1, 32, 66, 66};
  const Case cases[] = {
      {"tosa.transpose_conv2d",
       {{1, 32, 32, 64}, {32, 4, 4, 64}, {32}},
       {1, 66, 66, 32},
       {},
       kFlops,
       OpClass::convolution},
      {"torch.aten.conv_transpose2d.input",
       {nchw, weights},
       result,
       {},
       kFlops,
       OpClass::convolution},
      {"torch.aten.convolution",
       {nchw, weights},
       result,
       {{"transposed", {1}}},
       kFlops,
       OpClass::convolution},
      {"torch.aten.convolution",
       {nchw, {64, 1, 4, 4}},
       {1, 64, 66, 66},
       {{"transposed", {1}}},
       kFlops / 32,
       OpClass::depthwise_convolution},
  };
  for (const Case& each : cases) {
    CAPTURE(each.type);
    const Work work = work_of(each);
    CHECK(work.flops == doctest::Approx(each.flops));
    CHECK(work.op_class == each.op_class);
  }
}

TEST_CASE("pools count their windows") {
  for (const std::string type : {"tosa.max_pool2d", "tosa.avg_pool2d", "torch.aten.max_pool2d",
                                 "torch.aten.max_pool2d_with_indices", "torch.aten.avg_pool2d"}) {
    CAPTURE(type);
    const Case pool = {type, {{1, 64, 64, 8}}, {1, 64, 64, 8}, {{"window", {7, 7}}}, 0, {}};
    CHECK(work_of(pool).flops == doctest::Approx(64.0 * 64 * 8 * 49));
    CHECK(work_of(pool).op_class == OpClass::pooling);
  }
}

TEST_CASE("pools whose window is an operand count it too") {
  const Case pool = {"linalg.pooling_nhwc_max",
                     {{1, 8, 8, 4}, {3, 2}, {1, 6, 7, 4}},
                     {1, 6, 7, 4},
                     {},
                     6 * 7 * 4 * (3 * 2),
                     OpClass::pooling};
  CHECK(work_of(pool).flops == pool.flops);
  CHECK(work_of(pool).op_class == pool.op_class);
}

}  // namespace
}  // namespace berth::test
