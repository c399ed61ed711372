// Products of quantized numbers, against f64, which holds them all.
#include "runtime/onnx/whole_products.h"

#include <ATen/Functions.h>

#include "support/torch_doctest.h"

namespace berth::test {
namespace {

using runtime::onnx::Quantized;
using runtime::onnx::whole_product;
using runtime::onnx::WholeConvolution;

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
      for (const std::int64_t terms : {1, 61, 300, 5000}) {
        CAPTURE(terms);
        const Quantized a{eight_bits({2, 3, terms}, at::kByte, extreme), zero_point(3, at::kByte)};
        const Quantized b{eight_bits({terms, 37}, type, extreme),
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

TEST_CASE("products of 8 bits are exact for any number of rows and columns, in any order") {
  for (const at::ScalarType type : {at::kByte, at::kChar}) {
    for (const std::int64_t rows : {1, 2, 7, 16, 17}) {
      for (const std::int64_t columns : {1, 15, 16, 90, 2100}) {
        for (const std::int64_t terms : {1, 8, 31, 48}) {
          CAPTURE(rows);
          CAPTURE(columns);
          CAPTURE(terms);
          const Quantized a{eight_bits({rows, terms}, at::kByte, false), zero_point(9, at::kByte)};
          const Quantized b{eight_bits({terms, columns}, type, false), zero_point(5, type)};
          const at::Tensor wanted = at::matmul(in_f64(a), in_f64(b));
          CHECK(whole_product(a, b).to(at::kDouble).equal(wanted));
          const Quantized turned{b.values.t().contiguous().t(), b.zero};
          CHECK(whole_product(a, turned).to(at::kDouble).equal(wanted));
        }
      }
    }
  }
}

struct ConvolutionCase {
  std::int64_t groups, channels, width, stride, dilation;
};

TEST_CASE("convolutions of 8 bits are exact, however many channels they read") {
  // Windows that follow each other in memory, and others; an odd number of terms; more than f32 holds; channels by themselves.
  for (const ConvolutionCase& each : {ConvolutionCase{1, 4, 5, 1, 1},
                                      {1, 200, 5, 1, 1},
                                      {1, 3, 40, 1, 1},
                                      {1, 3, 40, 2, 1},
                                      {1, 5, 9, 1, 2},
                                      {2, 4, 5, 1, 1},
                                      {2, 200, 5, 2, 1},
                                      {6, 6, 5, 1, 1},
                                      {6, 6, 40, 2, 1},
                                      {3, 3, 23, 1, 2},
                                      {3, 3, 23, 3, 1}}) {
    CAPTURE(each.groups);
    CAPTURE(each.channels);
    CAPTURE(each.width);
    const std::vector<std::int64_t> strides(2, each.stride), dilations(2, each.dilation),
        none = {0, 0};
    const runtime::Kernel plain = [&](runtime::KernelContext&, runtime::Inputs in,
                                      runtime::Outputs out) {
      out[0].tensor = at::convolution(at::constant_pad_nd(in[0].tensor, {0, 2, 1, 1}), in[1].tensor,
                                      {}, strides, none, dilations,
                                      /*transposed=*/false, none, each.groups);
    };
    const Quantized images{eight_bits({2, each.channels, 6, each.width}, at::kByte, true),
                           zero_point(7, at::kByte)};
    const Quantized weight{eight_bits({6, each.channels / each.groups, 3, 3}, at::kChar, true),
                           at::tensor({0, 1, -1, 5, 0, 0}, at::kChar).reshape({6, 1, 1, 1})};
    runtime::onnx::WindowAttributes windows;
    windows.strides = strides;
    windows.dilations = dilations;
    windows.pads = {1, 0, 1, 2};
    runtime::KernelContext context;
    runtime::Value expected;
    const runtime::Value wide[] = {{in_f64(images), nullptr}, {in_f64(weight), nullptr}};
    plain(context, wide, std::span(&expected, 1));
    const WholeConvolution convolution{plain, windows, each.groups};
    const at::Tensor sums = convolution.of(context, images, weight);
    CHECK((sums.scalar_type() == at::kInt));
    CHECK(sums.to(at::kDouble).equal(expected.tensor));
    const Quantized turned{images.values.contiguous(at::MemoryFormat::ChannelsLast), images.zero};
    CHECK(convolution.of(context, turned, weight).equal(sums));
  }
}

}  // namespace
}  // namespace berth::test
