#include "runtime/onnx/whole_products.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>

#include "runtime/every_machine.h"
#include "runtime/onnx/byte_loops.h"
#include "runtime/parallel.h"
#include "runtime/products.h"

namespace berth::runtime::onnx {
namespace {

// Whole numbers up to 2^24 are exact in f32, in sums of any order. A number of 8 bits is at most 255 from its zero point.
constexpr float kMost = 0x1p24F / 255;  // of the magnitudes that one sum multiplies such numbers by

bool has_bytes(const Tensor& x) {
  return x.is_cpu() && (x.scalar_type() == at::kByte || x.scalar_type() == at::kChar);
}

Tensor centred(const Quantized& x, at::ScalarType type) {
  const Tensor wide = x.values.to(type);
  return x.zero.defined() ? at::sub(wide, x.zero.to(type)) : wide;
}
Tensor centred_bytes(const Quantized& x) {
  const Tensor bytes = dequantized_bytes(x.values, at::ones({}), x.zero);
  return bytes.defined() ? bytes : centred(x, at::kFloat);
}

/// How many sums are now too large.
BERTH_EVERY_MACHINE std::int64_t add_magnitudes(const float* x, std::int64_t count, float* sums) {
  std::int32_t over = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    sums[i] += std::abs(x[i]);
    over += sums[i] > kMost ? 1 : 0;
  }
  return over;
}

/// The ends of parts of the rows of `factors`, in each of which no column's magnitudes sum up to more than kMost. Empty where
/// a single row holds more.
Ints exact_parts(const Tensor& factors) {
  const std::int64_t rows = factors.size(0), columns = factors.size(1);
  const Tensor ordered = factors.contiguous();
  const float* const numbers = ordered.data_ptr<float>();
  std::vector<float> sums(static_cast<std::size_t>(columns));
  const auto add = [&](std::int64_t row) {
    return add_magnitudes(numbers + row * columns, columns, sums.data()) == 0;
  };
  Ints ends;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (add(row)) continue;
    ends.push_back(row);
    std::ranges::fill(sums, 0.0F);
    if (!add(row)) return {};
  }
  ends.push_back(rows);
  return ends;
}

/// The sum of part(first, count) over all parts.
template <class Part>
Tensor sum_of_parts(const Ints& ends, const Part& part) {
  Tensor sum = part(0, ends.front());
  for (std::size_t i = 1; i < ends.size(); ++i) {
    if (i == 1) sum = sum.to(at::kDouble);
    sum.add_(part(ends[i - 1], ends[i] - ends[i - 1]));
  }
  return sum;
}

// Unsigned: sums of more than 2^31 wrap around, as ONNX Runtime's do.
using Sum = std::uint32_t;
constexpr std::int64_t kRowsAtOnce = 4;
template <class T>
[[gnu::always_inline]] inline void add_each(const T* rows, std::int64_t stride,
                                            const std::int32_t* factors, std::int64_t count,
                                            Sum* sums) {
  const auto term = [&](std::int64_t row, std::int64_t i) {
    return static_cast<Sum>(factors[row] * static_cast<std::int32_t>(rows[row * stride + i]));
  };
  for (std::int64_t i = 0; i < count; ++i) {
    sums[i] += term(0, i) + term(1, i) + term(2, i) + term(3, i);
  }
}
/// kRowsAtOnce rows, each by its factor.
BERTH_EVERY_MACHINE void add_rows(const std::uint8_t* rows, std::int64_t stride,
                                  const std::int32_t* factors, std::int64_t count, Sum* sums) {
  add_each(rows, stride, factors, count, sums);
}
BERTH_EVERY_MACHINE void add_rows(const std::int8_t* rows, std::int64_t stride,
                                  const std::int32_t* factors, std::int64_t count, Sum* sums) {
  add_each(rows, stride, factors, count, sums);
}

template <class T>
void multiply(const Tensor& a, const Tensor& b, const Tensor& y) {
  const std::int64_t terms = b.size(0), columns = b.size(1),
                     whole = terms / kRowsAtOnce * kRowsAtOnce;
  constexpr std::int64_t kProducts = 1 << 16;  // of a thread, at least
  in_parallel(0, columns, std::max<std::int64_t>(64, kProducts / terms),
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t row = 0; row < a.size(0); ++row) {
                  const std::int32_t* const factors = a.data_ptr<std::int32_t>() + row * terms;
                  Sum* const sums =
                      reinterpret_cast<Sum*>(y.data_ptr<std::int32_t>()) + row * columns + begin;
                  const T* const numbers = b.data_ptr<T>() + begin;
                  for (std::int64_t k = 0; k < whole; k += kRowsAtOnce) {
                    add_rows(numbers + k * columns, columns, factors + k, end - begin, sums);
                  }
                  for (std::int64_t k = whole; k < terms; ++k) {
                    for (std::int64_t i = 0; i < end - begin; ++i) {
                      sums[i] += static_cast<Sum>(
                          factors[k] * static_cast<std::int32_t>(numbers[k * columns + i]));
                    }
                  }
                }
              });
}

/// A product of few rows, from the bytes of b: in f32 it would be written and read again for them.
Tensor product_of_few(const Quantized& a, const Quantized& b) {
  const Tensor rows = centred(a, at::kInt).reshape({-1, b.values.size(0)}).contiguous();
  const Tensor matrix = b.values.contiguous();
  const Tensor y = at::zeros({rows.size(0), matrix.size(1)}, rows.options());
  matrix.scalar_type() == at::kByte ? multiply<std::uint8_t>(rows, matrix, y)
                                    : multiply<std::int8_t>(rows, matrix, y);
  Ints shape = a.values.sizes().vec();
  shape.back() = matrix.size(1);
  if (!b.zero.defined()) return y.reshape(shape);
  const Tensor sums = at::sum(rows, {1}, /*keepdim=*/true, at::kInt);
  return at::sub(y, at::mul(sums, b.zero.to(at::kInt))).reshape(shape);
}

}  // namespace

Tensor whole_product(const Quantized& a, const Quantized& b) {
  const bool is_plain = has_bytes(a.values) && has_bytes(b.values) && a.values.dim() > 0 &&
                        b.values.dim() == 2 && a.values.size(-1) == b.values.size(0) &&
                        b.values.size(0) > 0;
  constexpr std::int64_t kFew = 4;
  if (is_plain && a.values.numel() <= kFew * a.values.size(-1)) return product_of_few(a, b);
  if (is_plain) {
    const Tensor left = centred_bytes(a), right = centred_bytes(b);
    const Ints ends = exact_parts(right);
    return sum_of_parts(ends, [&](std::int64_t first, std::int64_t count) {
      return product(left.narrow(-1, first, count), right.narrow(0, first, count));
    });
  }
  return at::matmul(centred(a, at::kDouble), centred(b, at::kDouble));
}

Tensor whole_convolution(const Kernel& convolution, KernelContext& context, const Quantized& images,
                         const Quantized& weight, std::int64_t groups) {
  const auto result = [&](const Tensor& x, const Tensor& w) {
    const Value inputs[] = {{x, nullptr}, {w, nullptr}};
    Value output;
    convolution(context, inputs, std::span(&output, 1));
    return output.tensor;
  };
  if (has_bytes(images.values) && has_bytes(weight.values) && weight.values.dim() > 2 &&
      weight.values.numel() > 0) {
    const Tensor x = centred_bytes(images), w = centred_bytes(weight);
    // Channels that are read by filters.
    const Ints ends = exact_parts(at::abs(w).flatten(2).sum(-1).t());
    if (ends.size() == 1) return result(x, w);
    if (!ends.empty() && groups == 1) {
      return sum_of_parts(ends, [&](std::int64_t first, std::int64_t count) {
        return result(x.narrow(1, first, count), w.narrow(1, first, count));
      });
    }
  }
  return result(centred(images, at::kDouble), centred(weight, at::kDouble));
}

}  // namespace berth::runtime::onnx
