// Proportions between op classes, between processor and GPU, and between ways of computing, as their
// sources have them. Shares that are estimates of no source are not held to a value.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "berth/cluster.h"
#include "berth/costs.h"
#include "one_op.h"

namespace berth::test {
namespace {

/// It has no multiprocessors, so that every kernel fills it.
Device plain(bool host) {
  Device device;
  device.name = device.kind = host ? "cpu" : "gpu";
  device.host = host;
  device.flops = 10e12;
  device.memory_bandwidth = 1e12;
  return device;
}

/// The share of the peak that a class reaches.
double peak_share(OpClass op_class, bool host) {
  return 1e12 / plain(host).flops * 1e6 /
         roofline_us({1e12, 0, op_class, DType::f32, 1}, plain(host));
}
double bandwidth_share(OpClass op_class, bool host) {
  return 1e12 / plain(host).memory_bandwidth * 1e6 /
         roofline_us({0, 1e12, op_class, DType::f32, 1}, plain(host));
}

TEST_CASE("a processor's convolutions take as many times a GPU's as in the papers' tables") {
  // Inception-V3 takes 5.7 times as long on the CPU in Mirhoseini et al., ICML 2017 (table 2), 4.1 in ICLR 2018
  // (table 1), and 8.0 in Addanki et al., NeurIPS 2019 (table 1).
  const auto cluster = Cluster::preset("k80x4");
  const auto times = [&](const Work& work) {
    const auto us = [&](const char* name) {
      return roofline_us(work, cluster->device(*cluster->find_device(name)));
    };
    return us("cpu:0") / us("gpu:0");
  };
  CHECK(times({1e13, 0, OpClass::convolution, DType::f32, 1}) ==
        doctest::Approx(5.7).epsilon(0.02).scale(0));
  const double streaming = times({0, 1e12, OpClass::elementwise, DType::f32, 1});
  CHECK(streaming > 4.1);
  CHECK(streaming < 8.0);
}

TEST_CASE("op classes come as near to the peaks as was measured, or nearer than others") {
  // Dao, arXiv 2307.08691: 0.25 to 0.40 of an A100's peak, and 0.50 to 0.73 by its second version.
  CHECK(peak_share(OpClass::attention, false) >= 0.25);
  CHECK(peak_share(OpClass::attention, false) <= 0.73);
  // TensorFlow issue 12132 and PyTorch issue 18631.
  CHECK(peak_share(OpClass::depthwise_convolution, false) >= 0.0199);
  CHECK(peak_share(OpClass::depthwise_convolution, false) <= 0.0251);
  // DeepBench: large products of M40 to 1080 Ti.
  CHECK(peak_share(OpClass::matmul, false) >= 0.67);
  CHECK(peak_share(OpClass::matmul, false) <= 0.95);
  for (const bool host : {false, true}) {
    CAPTURE(host);
    const double large = peak_share(OpClass::matmul, host);
    CHECK(peak_share(OpClass::convolution, host) <= large);
    CHECK(peak_share(OpClass::recurrent, host) <=
          large);  // thin products, one step after the other
    CHECK(2 * peak_share(OpClass::depthwise_convolution, host) <
          peak_share(OpClass::convolution, host));
    // A kernel that passes over its data twice, or strides: less than streaming, but no less than half.
    const double streaming = bandwidth_share(OpClass::elementwise, host);
    for (const OpClass twice :
         {OpClass::normalization, OpClass::pooling, OpClass::reduction, OpClass::data_movement}) {
      CAPTURE(op_class_name(twice));
      CHECK(bandwidth_share(twice, host) <= streaming);
      CHECK(bandwidth_share(twice, host) >= streaming / 2);
    }
  }
}

TEST_CASE("operands come from the second-level cache 2.2 to 2.4 times as fast as from memory") {
  // Jia et al., arXiv 1804.06826, on P100 and V100. Arithmetic takes no time; each multiprocessor has one tile
  // of 256 x 128, which reads a column of one operand and a row of the other for each step.
  Device gpu = plain(false);
  gpu.multiprocessors = 80;
  gpu.flops = 1e21;
  constexpr double kInner = 1e6;
  Work work{2 * 80 * 256 * 128 * kInner, 0, OpClass::matmul, DType::f32, 1};
  work.products = {80 * 256, 128, kInner, 1};
  const double bytes = 80 * (256 + 128) * 4 * kInner;
  const double rate = bytes / (roofline_us(work, gpu) * 1e-6) / gpu.memory_bandwidth;
  CHECK(rate > 2.2 * 0.999);
  CHECK(rate < 2.4 * 1.001);
}

/// The gradient of a 3 x 3 filter from 512 to 512 channels, on 32 images of 28 x 28.
struct FilterGradient {
  static constexpr double kElements = 32.0 * 28 * 28 * 512;  // of the image, and of its gradient

  static Device gpu(double bandwidth) {
    Device device = plain(false);
    device.flops_16 = 8 * device.flops;  // tensor cores, and so a library that has it
    device.multiprocessors = 64;         // a power of two, as all sizes, so that waves are whole
    device.memory_bandwidth = bandwidth;
    return device;
  }
  static double us(double bandwidth) {
    const TensorInfo image = tensor({32, 28, 28, 512}), filter = tensor({3, 3, 512, 512});
    OneOp op{"Conv2DBackpropFilterV2", {image, filter, image}, {filter}};
    op.dialect = "tf";
    op.attributes = {{"strides", std::vector<std::int64_t>{1, 1, 1, 1}}};
    const auto graph = op.graph();
    return Costs::roofline(*graph, {"m", {gpu(bandwidth)}, {}})->op_us(graph->op_count() - 1, 0);
  }
};

TEST_CASE("minimal filtering of a gradient takes 2.25 times fewer multiplications") {
  // Lavin and Gray, CVPR 2016: F(3 x 3, 2 x 2), 36 of them become 16. Transforms take nothing at this bandwidth.
  const double flops = 2 * FilterGradient::kElements * 512 * 9;
  const double fewer_us =
      roofline_us({flops * 16 / 36, 0, OpClass::matmul, DType::f32, 1}, plain(false));
  CHECK(FilterGradient::us(1e16) == doctest::Approx(fewer_us).epsilon(0.05).scale(0));
}

TEST_CASE(
    "minimal filtering reads image and gradient, then writes and reads them at four times their "
    "size") {
  const double bytes = 2 * FilterGradient::kElements * 4 * (1 + 4 + 4);
  const auto streaming_us = [&](double bandwidth) {
    return roofline_us({0, bytes, OpClass::elementwise, DType::f32, 1},
                       FilterGradient::gpu(bandwidth));
  };
  CHECK(FilterGradient::us(1e12) - FilterGradient::us(4e12) ==
        doctest::Approx(streaming_us(1e12) - streaming_us(4e12)).epsilon(0.01).scale(0));
}

}  // namespace
}  // namespace berth::test
