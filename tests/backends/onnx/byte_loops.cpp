// Tensors of 8 bits in one pass, against ATen's steps.
#include "runtime/onnx/byte_loops.h"

#include <ATen/Functions.h>

#include "support/torch_doctest.h"

namespace berth::test {
namespace {

using namespace runtime::onnx;

at::Tensor spread_numbers(at::IntArrayRef shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  // Halves, which are rounded to even, and what lies beyond a byte.
  return at::mul(at::sub(at::remainder(at::mul(at::arange(count, at::kFloat), 37), 1601), 800), 0.5)
      .reshape(shape);
}
at::Tensor stepwise(const at::Tensor& x, const at::Tensor& scale, double zero,
                    at::ScalarType type) {
  const at::Tensor rounded = at::round(at::div(x.to(at::kFloat), scale));
  const bool is_signed = type == at::kChar;
  return at::clamp(at::add(rounded, zero), is_signed ? -128 : 0, is_signed ? 127 : 255).to(type);
}

TEST_CASE("bytes are quantized and dequantized as step by step, in any layout") {
  const at::Tensor scale = at::full({}, 0.7F), one = at::ones({});
  for (const at::ScalarType type : {at::kByte, at::kChar}) {
    const at::Tensor zero = at::full({}, 5, at::TensorOptions(type));
    for (const at::Tensor& x :
         {spread_numbers({1601}), spread_numbers({2, 3, 7, 5}).permute({0, 2, 3, 1})}) {
      const at::Tensor bytes = quantized_bytes(x, scale, zero, type);
      REQUIRE(bytes.defined());
      CHECK(bytes.strides() == x.strides());
      CHECK(bytes.equal(stepwise(x, scale, 5, type)));
      CHECK(quantized_bytes(x, one, {}, type).equal(stepwise(x, one, 0, type)));
      const at::Tensor reals = dequantized_bytes(bytes, scale, zero);
      CHECK(reals.equal(at::mul(at::sub(bytes.to(at::kFloat), 5), scale)));
    }
  }
  CHECK_FALSE(quantized_bytes(spread_numbers({2, 3}), at::ones({3}), {}, at::kByte).defined());
  CHECK_FALSE(quantized_bytes(spread_numbers({2, 3}), one, {}, at::kInt).defined());
}

TEST_CASE("bytes are dequantized as step by step, with a scale for each index of an axis") {
  const at::Tensor in_order = spread_numbers({3, 4, 5, 2}).to(at::kChar);
  for (const at::Tensor& x : {in_order, in_order.contiguous(at::MemoryFormat::ChannelsLast),
                              spread_numbers({6, 4}).to(at::kChar)}) {
    for (std::int64_t axis = 0; axis < x.dim(); ++axis) {
      if (!x.is_contiguous() && axis != 1) continue;
      CAPTURE(axis);
      std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
      shape[static_cast<std::size_t>(axis)] = x.size(axis);
      const at::Tensor scale = at::add(at::arange(x.size(axis), at::kFloat), 0.3).reshape(shape);
      const at::Tensor zero =
          at::sub(at::arange(x.size(axis), at::kLong), 2).reshape(shape).to(at::kChar);
      const at::Tensor expected = at::mul(at::sub(x.to(at::kFloat), zero.to(at::kFloat)), scale);
      const at::Tensor reals = dequantized_bytes(x, scale, zero);
      REQUIRE(reals.defined());
      CHECK(reals.equal(expected));
      CHECK(dequantized_bytes(x, scale, {}).equal(at::mul(x.to(at::kFloat), scale)));
    }
  }
  CHECK_FALSE(dequantized_bytes(in_order, at::ones({3, 4, 5, 2}), {}).defined());
}

TEST_CASE("sums become bytes as step by step, with a scale for all or for each channel") {
  const at::Tensor step = at::full({}, 3.0F),
                   zero = at::full({}, 100, at::TensorOptions(at::kByte));
  const at::Tensor each = at::tensor({0.5, 2.0, 0.3}, at::kDouble).reshape({1, 3, 1, 1});
  const at::Tensor in_order = spread_numbers({2, 3, 5, 4}).to(at::kInt);
  for (const at::Tensor& sums : {in_order, in_order.contiguous(at::MemoryFormat::ChannelsLast)}) {
    for (const at::Tensor& factor : {each, at::full({}, 0.9, at::kDouble)}) {
      for (const at::Tensor& summand : {at::Tensor(), at::mul(each, 10)}) {
        const at::Tensor bytes =
            requantized_bytes(sums, {factor, summand, 1}, step, zero, at::kByte);
        REQUIRE(bytes.defined());
        const at::Tensor wide = sums.to(at::kDouble);
        const at::Tensor shifted = summand.defined() ? at::add(wide, summand) : wide;
        CHECK(bytes.equal(stepwise(at::mul(shifted, factor), step, 100, at::kByte)));
      }
    }
  }
  const at::Tensor by_row = at::tensor({0.5, 2.0}, at::kDouble).reshape({2, 1, 1, 1});
  CHECK_FALSE(requantized_bytes(in_order, {by_row, {}, 1}, step, zero, at::kByte).defined());
}

}  // namespace
}  // namespace berth::test
