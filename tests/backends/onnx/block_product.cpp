// Products with packed numbers, against the same in f64, one number after the other.
#include "runtime/onnx/block_product.h"

#include <ATen/Functions.h>

#include <algorithm>

#include "support/torch_doctest.h"

namespace berth::test {
namespace {

using runtime::onnx::block_product;
using runtime::onnx::BlockMatrix;

at::Tensor bytes(at::IntArrayRef shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  return at::remainder(at::mul(at::arange(count, at::kLong), 7919), 251)
      .reshape(shape)
      .to(at::kByte);
}
at::Tensor waves(at::IntArrayRef shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  return at::sin(at::mul(at::arange(count, at::kFloat), 0.7)).reshape(shape);
}

/// `packed` has [rows, bytes].
double packed_number(const at::Tensor& packed, std::int64_t row, std::int64_t i,
                     std::int64_t bits) {
  const std::int64_t in_byte = 8 / bits;
  const auto byte = packed.data_ptr<std::uint8_t>()[row * packed.size(1) + i / in_byte];
  return (byte >> (i % in_byte * bits)) & ((1 << bits) - 1);
}

at::Tensor expected_product(const at::Tensor& x, const BlockMatrix& matrix) {
  const std::int64_t rows = matrix.packed.size(0), columns = x.size(-1);
  const at::Tensor weight = at::zeros({rows, columns}, at::kDouble);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) {
      const std::int64_t block = i / matrix.block;
      double zero = matrix.usual_zero;
      if (matrix.zeros.defined()) {
        zero = matrix.zeros.scalar_type() == at::kByte
                   ? packed_number(matrix.zeros, row, block, matrix.bits)
                   : matrix.zeros[row][block].item<double>();
      }
      weight[row][i] = (packed_number(matrix.packed, row, i, matrix.bits) - zero) *
                       matrix.scales[row][block].item<double>();
    }
  }
  return at::matmul(x.to(at::kDouble), weight.t());
}

TEST_CASE("rows times packed numbers are what the numbers give, in blocks of any size") {
  struct Case {
    std::int64_t bits, block, blocks, columns;
  };
  // The last group of words is not full, nor is the last block.
  const Case cases[] = {{4, 16, 7, 109}, {4, 32, 3, 80},  {4, 64, 2, 128}, {4, 128, 3, 300},
                        {4, 8, 5, 40},   {2, 16, 9, 140}, {2, 64, 3, 192}, {2, 256, 2, 500},
                        {8, 16, 5, 77},  {8, 32, 3, 96},  {8, 128, 2, 200}};
  constexpr std::int64_t kRows = 11;
  for (const Case& each : cases) {
    CAPTURE(each.bits);
    CAPTURE(each.block);
    const std::int64_t row_bytes = each.blocks * each.block * each.bits / 8;
    const at::Tensor zeros[] = {
        {}, bytes({kRows, (each.blocks * each.bits + 7) / 8}), waves({kRows, each.blocks})};
    for (const at::Tensor& zero : zeros) {
      const BlockMatrix matrix{
          bytes({kRows, row_bytes}), waves({kRows, each.blocks}), zero, each.bits, each.block, 3};
      for (const std::int64_t count : {1, 3, 9}) {
        const at::Tensor x = waves({1, count, each.columns});
        const at::Tensor y = block_product(x, matrix);
        REQUIRE(y.defined());
        CHECK(y.sizes() == at::IntArrayRef({1, count, kRows}));
        const at::Tensor wanted = expected_product(x, matrix);
        CHECK(at::allclose(y.to(at::kDouble), wanted, 1e-5,
                           1e-5 * wanted.abs().max().item<double>()));
      }
    }
  }
}

TEST_CASE("blocks that are no words, and numbers that do not fit together, are left to ATen") {
  const at::Tensor x = waves({2, 24}), scales = waves({4, 2});
  CHECK_FALSE(block_product(x, {bytes({4, 12}), scales, {}, 4, 12, 8}).defined());
  CHECK_FALSE(block_product(x, {bytes({4, 16}), scales.narrow(0, 0, 3), {}, 4, 16, 8}).defined());
  CHECK_FALSE(block_product(x, {bytes({4, 16}), scales, bytes({4, 2}), 4, 16, 8}).defined());
  CHECK_FALSE(block_product(x.to(at::kDouble), {bytes({4, 16}), scales, {}, 4, 16, 8}).defined());
}

}  // namespace
}  // namespace berth::test
