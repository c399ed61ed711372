// Products of few rows, as in each step of a decoder.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "berth/costs.h"
#include "berth/machines.h"
#include "one_op.h"

namespace berth::test {
namespace {

constexpr std::int64_t kInner = 4096, kColumns = 14336;

/// `rows` times weights of so many bits.
Work product(std::int64_t rows, std::int64_t bits) {
  const TensorInfo left = tensor({rows, kInner}, DType::f16),
                   result = tensor({rows, kColumns}, DType::f16);
  if (bits == 16)
    return OneOp{"MatMul", {left, tensor({kInner, kColumns}, DType::f16)}, {result}}.work();
  return OneOp{"com.microsoft.MatMulNBits",
               {left, tensor({kColumns, kInner / 32, 32 * bits / 8}, DType::u8),
                tensor({kColumns, kInner / 32}, DType::f16)},
               {result},
               {{"bits", bits}, {"N", kColumns}, {"K", kInner}}}
      .work();
}

std::shared_ptr<const Cluster> machine_with(const KnownDevice& known) {
  return machine_of_words(known.device.name + (known.device.memory_bytes > 0 ? "" : ":32GiB"));
}

/// Runs `check` on each known GPU and its host.
template <typename Check>
void on_each_gpu(Check check) {
  for (const KnownDevice& known : known_devices()) {
    if (known.device.host) continue;
    CAPTURE(known.device.name);
    const auto cluster = machine_with(known);
    check(cluster->device(*cluster->find_device("gpu:0")),
          cluster->device(*cluster->find_device("cpu:0")));
  }
}

TEST_CASE("one row waits for the bytes of the weights, whatever their bits are") {
  on_each_gpu([](const Device& gpu, const Device&) {
    double last_us = 0;
    for (const std::int64_t bits : {4, 8, 16}) {
      CAPTURE(bits);
      const Work work = product(1, bits);
      const double us = roofline_us(work, gpu);
      // 0.73 to 0.88 of the bandwidth was measured (thread_blocks.cpp); beside that there is the fill.
      CHECK(us > work.bytes / (0.88 * gpu.memory_bandwidth) * 1e6);
      CHECK(us < work.bytes / (0.73 * gpu.memory_bandwidth) * 1e6 + 2);
      CHECK(us > last_us);
      last_us = us;
    }
  });
}

TEST_CASE(
    "a processor's few rows read the weights at 0.8 of the bandwidth, and many at half of it") {
  Device host;
  host.name = host.kind = "cpu";
  host.host = true;
  host.flops = 1e15;
  host.memory_bandwidth = 50e9;
  for (const std::int64_t bits : {4, 8, 16}) {
    CAPTURE(bits);
    // Counted by hand, of 16 bits: (4096 * 14336 + rows * (4096 + 14336)) * 2 bytes.
    const auto reads_us = [&](std::int64_t rows) { return product(rows, bits).bytes / 50e9 * 1e6; };
    if (bits == 16) CHECK(reads_us(1) == doctest::Approx(2349.5475));
    CHECK(roofline_us(product(1, bits), host) == doctest::Approx(reads_us(1) / 0.8));
    CHECK(roofline_us(product(8, bits), host) == doctest::Approx(reads_us(8) / 0.8));
    // A second pass takes longer than a kernel with tiles.
    CHECK(roofline_us(product(9, bits), host) == doctest::Approx(reads_us(9) / 0.5));
  }
  // Arithmetic, where that is longer: 0.40 of the peak.
  host.flops = 1e9;
  CHECK(roofline_us(product(1, 4), host) == doctest::Approx(2.0 * 4096 * 14336 / 0.4e9 * 1e6));
}

TEST_CASE("a GPU is never behind a host with the same memory where one row waits for it") {
  on_each_gpu([](const Device& gpu, const Device& host) {
    if (doctest::Approx(0.6 * gpu.memory_bandwidth) != host.memory_bandwidth) return;
    for (const std::int64_t bits : {4, 8, 16}) {
      const Work work = product(1, bits);
      CHECK(roofline_us(work, gpu) + gpu.op_overhead_us <
            roofline_us(work, host) + host.op_overhead_us);
    }
  });
}

TEST_CASE("more rows never take less time, and a few more take not much more") {
  on_each_gpu([](const Device& gpu, const Device&) {
    for (const std::int64_t bits : {4, 8, 16}) {
      double last_us = 0;
      for (std::int64_t rows = 1; rows <= 300; ++rows) {
        CAPTURE(rows);
        const double us = roofline_us(product(rows, bits), gpu);
        REQUIRE(us >= last_us);
        if (rows > 1) REQUIRE(us <= 2.2 * last_us);  // a second tile, or pass
        last_us = us;
      }
    }
  });
}

TEST_CASE("few columns are as few rows, and only matrix products have such a kernel") {
  const Device gpu = find_known_device("m2")->device;
  const auto us = [&](double rows, double columns, OpClass op_class) {
    Work work{2 * rows * columns * 4096, 4 * 4096 * (rows + columns), op_class, DType::f32, 1};
    work.products = {rows, columns, 4096, 1};
    return roofline_us(work, gpu);
  };
  CHECK(us(1, 8192, OpClass::matmul) == us(8192, 1, OpClass::matmul));
  CHECK(us(1, 8192, OpClass::matmul) < us(1, 8192, OpClass::pointwise_convolution));
  CHECK(us(9, 8192, OpClass::matmul) > us(8, 8192, OpClass::matmul));
}

}  // namespace
}  // namespace berth::test
