// What products reach, by element type and program.
#include <doctest/doctest.h>

#include <string>

#include "berth/costs.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

/// 10 TFLOP/s in f32, 40 in 16 bits, and so much in TF32. It has no multiprocessors, so that every kernel fills
/// it.
Device card(double flops_tf32) {
  Device made;
  made.name = "gpu:0";
  made.kind = "gpu";
  made.flops = 10e12;
  made.flops_16 = 40e12;
  made.flops_tf32 = flops_tf32;
  made.memory_bandwidth = 1e12;
  return made;
}

TEST_CASE(
    "f32 in TF32: products and convolutions take the device's peak of it where they are let") {
  Device gpu = card(40e12);
  const auto ms = [&](OpClass op_class, Tf32 tf32, DType dtype = DType::f32) {
    return roofline_us({1e12, 0, op_class, dtype, 1}, gpu, {tf32}) / 1e3;
  };
  struct Case {
    OpClass op_class;
    double none, convolutions, all;
  };
  const Case cases[] = {
      {OpClass::matmul, 125, 125, 31.25},                   // 0.80
      {OpClass::convolution, 1e3 / 6, 1e3 / 24, 1e3 / 24},  // 0.60
      {OpClass::grouped_convolution, 1e3 / 6, 1e3 / 24, 1e3 / 24},
      {OpClass::attention, 250, 250, 62.5},               // 0.40
      {OpClass::recurrent, 1e3 / 3, 1e3 / 12, 1e3 / 12},  // 0.30
      {OpClass::depthwise_convolution, 4e3, 4e3, 4e3},    // no product
      {OpClass::elementwise, 200, 200, 200},
  };
  for (const Case& each : cases) {
    CAPTURE(op_class_name(each.op_class));
    CHECK(ms(each.op_class, Tf32::none) == doctest::Approx(each.none));
    CHECK(ms(each.op_class, Tf32::convolutions) == doctest::Approx(each.convolutions));
    CHECK(ms(each.op_class, Tf32::all) == doctest::Approx(each.all));
  }
  CHECK(ms(OpClass::matmul, Tf32::all, DType::f64) == doctest::Approx(250));
  CHECK(ms(OpClass::matmul, Tf32::all, DType::f16) == doctest::Approx(31.25));  // 40 of its own
}

TEST_CASE(
    "TF32 is as the runtime of the graph's dialect has it, unless costs are asked otherwise") {
  const Cluster cluster("m", {card(40e12)}, {});
  for (const char* const dialect : {"onnx", "tf", "berth"}) {
    CAPTURE(dialect);
    GraphBuilder builder("g", dialect);
    builder.set_work(builder.add_op("product", "Some"), {1e12, 0, OpClass::matmul, DType::f32, 1});
    builder.set_work(builder.add_op("window", "Some"),
                     {1e12, 0, OpClass::convolution, DType::f32, 1});
    const auto graph = builder.build();
    const double product_ms = std::string(dialect) == "berth" ? 125 : 31.25;
    const auto usual = Costs::roofline(*graph, cluster);
    CHECK(usual->op_us(0, 0) / 1e3 == doctest::Approx(product_ms));
    CHECK(usual->op_us(1, 0) / 1e3 == doctest::Approx(1e3 / 24));
    CHECK(Costs::stated_or_roofline(*graph, cluster)->op_us(0, 0) == usual->op_us(0, 0));
    const Arithmetic plain{Tf32::none};
    CHECK(Costs::roofline(*graph, cluster, plain)->op_us(0, 0) / 1e3 == doctest::Approx(125));
    CHECK(Costs::stated_or_roofline(*graph, cluster, plain)->op_us(1, 0) / 1e3 ==
          doctest::Approx(1e3 / 6));
  }
}

TEST_CASE("names of TF32's settings") {
  for (const Tf32 tf32 : {Tf32::none, Tf32::convolutions, Tf32::all}) {
    CHECK(tf32_from_name(tf32_name(tf32)) == tf32);
  }
  expect_error(ErrorCode::invalid_argument, {"'on'", "none, convolutions or all"},
               [] { (void)tf32_from_name("on"); });
}

}  // namespace
}  // namespace berth::test
