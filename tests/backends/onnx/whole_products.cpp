// Products of quantized numbers, against f64, which holds them all.
#include "runtime/onnx/whole_products.h"

#include <ATen/Functions.h>

#include "support/torch_doctest.h"

namespace berth::test {
namespace {

using runtime::onnx::Quantized;
using runtime::onnx::whole_convolution;
using runtime::onnx::whole_product;

/// All of a type, most of them at an end of its range if `extreme`.
at::Tensor eight_bits(at::IntArrayRef shape, at::ScalarType type, bool extreme) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  const at::Tensor mixed = at::remainder(at::mul(at::arange(count, at::kLong), 7919), 256);
  const at::Tensor numbers =
      extreme ? at::where(at::gt(mixed, 3), at::full_like(mixed, 255), mixed) : mixed;
  return at::sub(numbers, type == at::kChar ? 128 : 0).reshape(shape).to(type);
}
at::Tensor in_f64(const Quantized& x) {
  const at::Tensor wide = x.values.to(at::kDouble);
  return x.zero.defined() ? at::sub(wide, x.zero.to(at::kDouble)) : wide;
}
at::Tensor zero_point(double value, at::ScalarType type) {
  return at::full({}, value, at::TensorOptions(type));
}

TEST_CASE("products of 8 bits are exact, however many are added up") {
  for (const at::ScalarType type : {at::kByte, at::kChar}) {
    for (const bool extreme : {false, true}) {
      for (const std::int64_t terms : {1, 60, 300, 5000}) {
        CAPTURE(terms);
        const Quantized a{eight_bits({2, 3, terms}, at::kByte, extreme), zero_point(3, at::kByte)};
        const Quantized b{eight_bits({terms, 5}, type, extreme),
                          type == at::kChar ? at::Tensor() : zero_point(0, type)};
        const at::Tensor wanted = at::matmul(in_f64(a), in_f64(b));
        CHECK(whole_product(a, b).to(at::kDouble).equal(wanted));
        const Quantized row{a.values.select(0, 0).select(0, 0), a.zero};
        CHECK(whole_product(row, b).to(at::kDouble).equal(wanted.select(0, 0).select(0, 0)));
      }
    }
  }
  const Quantized by_row{eight_bits({4, 600}, at::kChar, true),
                         at::tensor({1, 2, -3, 4}, at::kChar).unsqueeze(-1)};
  const Quantized batches{eight_bits({2, 600, 3}, at::kChar, true), at::Tensor()};
  CHECK(whole_product(by_row, batches)
            .to(at::kDouble)
            .equal(at::matmul(in_f64(by_row), in_f64(batches))));
}

TEST_CASE("convolutions of 8 bits are exact, however many channels they read") {
  for (const std::int64_t groups : {1, 2}) {
    const runtime::Kernel convolution = [groups](runtime::KernelContext&, runtime::Inputs in,
                                                 runtime::Outputs out) {
      const std::vector<std::int64_t> ones = {1, 1}, zeros = {0, 0};
      out[0].tensor = at::convolution(in[0].tensor, in[1].tensor, {}, ones, ones, ones,
                                      /*transposed=*/false, zeros, groups);
    };
    for (const std::int64_t channels : {4, 200}) {
      CAPTURE(channels);
      const Quantized images{eight_bits({2, channels, 6, 5}, at::kByte, true),
                             zero_point(7, at::kByte)};
      const Quantized weight{eight_bits({6, channels / groups, 3, 3}, at::kChar, true),
                             at::tensor({0, 1, -1, 5, 0, 0}, at::kChar).reshape({6, 1, 1, 1})};
      runtime::KernelContext context;
      runtime::Value expected;
      const runtime::Value wide[] = {{in_f64(images), nullptr}, {in_f64(weight), nullptr}};
      convolution(context, wide, std::span(&expected, 1));
      CHECK(whole_convolution(convolution, context, images, weight, groups)
                .to(at::kDouble)
                .equal(expected.tensor));
    }
  }
}

}  // namespace
}  // namespace berth::test
