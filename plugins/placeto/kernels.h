// The inner loops of the message passing, compiled once per instruction set.
//
// Rows are padded to a multiple of 16 floats, and padding is 0 wherever it is read: a row of the
// network's few features is then one or two vector registers, and a dense layer over it a handful
// of multiply-adds, where a general matrix product spends its time on packing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::placeto {

inline constexpr std::size_t kLane = 16;

/// `count` floats rounded up to whole lanes.
[[nodiscard]] inline constexpr std::size_t padded(std::size_t count) {
  return (count + kLane - 1) / kLane * kLane;
}

struct Kernels {
  /// y[r] = bias + sum over i < in of x[r][i] * weights[i], for rows of `width` floats; with `relu`
  /// negative values become 0. `bias` may be null. x has rows of `x_stride` floats.
  void (*dense)(const float* x, std::size_t x_stride, std::size_t rows, std::size_t in,
                const float* weights, const float* bias, std::size_t width, bool relu, float* y);
  /// weights_gradient[i] += sum over r of x[r][i] * dy[r]; bias_gradient += sum over r of dy[r].
  void (*dense_gradient)(const float* x, std::size_t x_stride, const float* dy, std::size_t rows,
                         std::size_t in, std::size_t width, float* weights_gradient,
                         float* bias_gradient);
  /// y[v] = scale[v] * sum of x[u] over u in to[begin[v], begin[v + 1]), for v in [0, rows);
  /// `scale` may be null.
  void (*gather_sum)(const std::int32_t* begin, const std::int32_t* to, const float* scale,
                     std::size_t rows, const float* x, std::size_t width, float* y);
  /// dy[i] = 0 where y[i] is not positive.
  void (*mask)(const float* y, std::size_t count, float* dy);
  /// y[i] += x[i].
  void (*add)(const float* x, std::size_t count, float* y);
  /// y[i] = a[i] + b[i].
  void (*sum)(const float* a, const float* b, std::size_t count, float* y);
};

/// The best that this machine runs.
[[nodiscard]] const Kernels& kernels();

}  // namespace berth::placeto
