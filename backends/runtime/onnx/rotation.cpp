#include "runtime/onnx/rotation.h"

#include <ATen/Functions.h>

#include <algorithm>

#include "runtime/every_machine.h"
#include "runtime/parallel.h"

namespace berth::runtime::onnx {
namespace {

Tensor composed(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleaved) {
  const std::int64_t half = cos.size(-1);
  const Tensor turned = x.narrow(-1, 0, 2 * half);
  const Tensor a = interleaved ? at::slice(turned, -1, 0, 2 * half, 2) : turned.narrow(-1, 0, half);
  const Tensor b =
      interleaved ? at::slice(turned, -1, 1, 2 * half, 2) : turned.narrow(-1, half, half);
  const Tensor real = at::sub(at::mul(a, cos), at::mul(b, sin));
  const Tensor imaginary = at::add(at::mul(a, sin), at::mul(b, cos));
  const Tensor y = interleaved ? at::stack({real, imaginary}, -1).reshape(turned.sizes())
                               : at::cat({real, imaginary}, -1);
  return at::cat({y, x.narrow(-1, 2 * half, x.size(-1) - 2 * half)}, -1);
}

/// Whether the loop can have it: what is wrong is left to ATen, which says so.
bool is_plain(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  for (const Tensor* const each : {&x, &cos, &sin}) {
    if (!each->is_cpu() || each->scalar_type() != at::kFloat || each->dim() != 4 ||
        (each->size(3) > 1 && each->stride(3) != 1)) {
      return false;
    }
  }
  return cos.sizes() == sin.sizes() && (cos.size(0) == 1 || cos.size(0) == x.size(0)) &&
         cos.size(1) == 1 && cos.size(2) == x.size(2) && 2 * cos.size(3) <= x.size(3);
}

BERTH_EVERY_MACHINE void turn_pairs(const float* __restrict x, const float* __restrict cos,
                                    const float* __restrict sin, float* __restrict y,
                                    std::int64_t half) {
  for (std::int64_t j = 0; j < half; ++j) {
    const float a = x[2 * j], b = x[2 * j + 1];
    y[2 * j] = a * cos[j] - b * sin[j];
    y[2 * j + 1] = a * sin[j] + b * cos[j];
  }
}
BERTH_EVERY_MACHINE void turn_halves(const float* __restrict x, const float* __restrict cos,
                                     const float* __restrict sin, float* __restrict y,
                                     float* __restrict other, std::int64_t half) {
  for (std::int64_t j = 0; j < half; ++j) {
    const float a = x[j], b = x[half + j];
    y[j] = a * cos[j] - b * sin[j];
    other[j] = a * sin[j] + b * cos[j];
  }
}

}  // namespace

Tensor rotated(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleaved) {
  if (!is_plain(x, cos, sin)) return composed(x, cos, sin, interleaved);
  const Tensor y = at::empty_like(x);
  if (y.numel() == 0) return y;
  const std::int64_t half = cos.size(3), length = x.size(2);
  const auto row_of = [](const Tensor& of, std::int64_t b, std::int64_t h, std::int64_t i) {
    return of.data_ptr<float>() + (of.size(0) == 1 ? 0 : b) * of.stride(0) + h * of.stride(1) +
           i * of.stride(2);
  };
  constexpr std::int64_t kWorthAThread = 1 << 15;
  const std::int64_t grain = 1 + kWorthAThread / (1 + x.size(1) * x.size(3));
  in_parallel(0, x.size(0) * length, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t place = begin; place < end; ++place) {
      const std::int64_t b = place / length, i = place % length;
      const float* const c = row_of(cos, b, 0, i);
      const float* const s = row_of(sin, b, 0, i);
      for (std::int64_t h = 0; h < x.size(1); ++h) {
        const float* const from = row_of(x, b, h, i);
        float* const to = row_of(y, b, h, i);
        if (interleaved) {
          turn_pairs(from, c, s, to, half);
        } else {
          turn_halves(from, c, s, to, to + half, half);
        }
        std::copy(from + 2 * half, from + x.size(3), to + 2 * half);
      }
    }
  });
  return y;
}

}  // namespace berth::runtime::onnx
