// Rates that products reach, by element type, maker and program.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "berth/costs.h"
#include "berth/machines.h"
#include "one_op.h"
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
  // Few units beside those of f32, half of which are shared with integers: 0.62 of f32, 0.80 of TF32.
  gpu.flops_tf32 = 20e12;
  CHECK(ms(OpClass::matmul, Tf32::none) == doctest::Approx(1e3 / 6.2));
  CHECK(ms(OpClass::matmul, Tf32::all) == doctest::Approx(62.5));
  CHECK(ms(OpClass::convolution, Tf32::none) == doctest::Approx(1e3 / 6));
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

TEST_CASE("products reach the share of the peak that their maker's libraries do") {
  struct Case {
    const char* word;
    double f32, f16;
  };
  constexpr Case kCases[] = {{"v100", 0.80, 0.80},      {"a100", 0.80, 0.80},
                             {"rtx4090", 0.62, 0.80},   {"a40", 0.62, 0.80},
                             {"rx7900xtx", 0.80, 0.80}, {"arca770", 0.80, 0.43},
                             {"m2", 0.80, 0.80}};
  for (const Case& each : kCases) {
    CAPTURE(each.word);
    const KnownDevice* const known = find_known_device(each.word);
    REQUIRE(known != nullptr);
    const Device& on = known->device;
    const auto ms = [&](OpClass op_class, DType dtype) {
      return roofline_us({1e15, 0, op_class, dtype, 1}, on, {Tf32::none}) / 1e3;
    };
    CHECK(ms(OpClass::matmul, DType::f32) == doctest::Approx(1e18 / (each.f32 * on.flops)));
    CHECK(ms(OpClass::matmul, DType::bf16) ==
          doctest::Approx(1e18 / (each.f16 * std::max(on.flops, on.flops_16))));
    CHECK(ms(OpClass::convolution, DType::f16) ==
          doctest::Approx(1e18 / (std::min(0.60, each.f16) * std::max(on.flops, on.flops_16))));
  }
}

TEST_CASE("products with narrow weights are of 8-bit integers where the program has them so") {
  const auto ms = [](const char* word, bool narrow, bool as_integers, double rows = 0) {
    Work work{1e15, 0, OpClass::matmul, DType::f16, 1};
    work.narrow_weights = narrow;
    if (rows > 0) work.products = {rows, 4096, 1e15 / (2 * rows * 4096), 1};
    return roofline_us(work, find_known_device(word)->device, {Tf32::all, as_integers}) / 1e3;
  };
  const auto flops_8 = [](const char* word) { return find_known_device(word)->device.flops_8; };
  CHECK(ms("rtx4090", true, true) == doctest::Approx(1e18 / (0.30 * flops_8("rtx4090"))));
  CHECK(ms("p40", true, true) == doctest::Approx(1e18 / (0.30 * flops_8("p40"))));
  CHECK(ms("rx7900xtx", true, true) == doctest::Approx(1e18 / (0.45 * flops_8("rx7900xtx"))));
  for (const char* const word : {"rtx4090", "p40", "rx7900xtx"}) {
    CAPTURE(word);
    CHECK(ms(word, false, true) == ms(word, true, false));
    CHECK(ms(word, true, true) != ms(word, true, false));
    CHECK(ms(word, true, true, 1) == ms(word, true, false, 1));  // few rows wait for memory
  }
  // Volta's 16 bits are faster; Intel's and Apple's have no such kernels.
  for (const char* const word : {"v100", "arca770", "m2", "host"}) {
    CAPTURE(word);
    CHECK(ms(word, true, true) == ms(word, true, false));
  }
}

TEST_CASE("weights of 8 bits or fewer are narrow, whatever the product computes in") {
  const auto narrow = [](DType stored) {
    GraphBuilder builder("g", "onnx");
    const TensorId x =
        builder.add_output(builder.add_op("x", "Input"), tensor({4, 64}, DType::f16));
    const OpId op =
        builder.add_op("op", stored == DType::f16 ? "MatMul" : "com.microsoft.MatMulNBits");
    builder.add_input(op, x);
    if (stored == DType::f16) {
      builder.add_input(op, builder.add_parameter(tensor({64, 32}, stored), "w"));
    } else {
      builder.add_input(op, builder.add_parameter(tensor({32, 2, 16}, stored), "w"));
      builder.add_input(op, builder.add_parameter(tensor({32, 2}, DType::f16), "scales"));
      for (const auto& [key, value] : {std::pair{"bits", 4}, {"N", 32}, {"K", 64}}) {
        builder.set_attribute(op, key, std::int64_t{value});
      }
    }
    builder.add_output(op, tensor({4, 32}, DType::f16));
    const auto graph = builder.build();
    const Work work = op_work(*graph, op);
    CHECK(work.dtype == DType::f16);
    const OpId both[] = {op};
    CHECK(work_in_turn(*graph, both).narrow_weights == work.narrow_weights);
    return work.narrow_weights;
  };
  CHECK(narrow(DType::u8));
  CHECK_FALSE(narrow(DType::f16));
}

}  // namespace
}  // namespace berth::test
