// The kernels, for the instruction set of the file that includes this. No inline function of the
// standard library may be used here: a linker would merge it with copies that other machines run.
#include "kernels.h"

namespace berth::placeto {
namespace {

using Vector =
    float __attribute__((vector_size(kLane * sizeof(float)), aligned(sizeof(float)), may_alias));

inline Vector load(const float* p) {
  return *reinterpret_cast<const Vector*>(p);
}
inline void store(float* p, Vector v) {
  *reinterpret_cast<Vector*>(p) = v;
}
inline Vector positive(Vector v) {
  return v > 0.0F ? v : Vector{};
}

/// One block of 16 outputs, four rows at a time so that a weight loaded once serves four.
inline void dense_block(const float* x, std::size_t x_stride, std::size_t rows, std::size_t in,
                        const float* weights, Vector bias, std::size_t width, bool relu, float* y) {
  std::size_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const float* x0 = x + r * x_stride;
    const float* x1 = x0 + x_stride;
    const float* x2 = x1 + x_stride;
    const float* x3 = x2 + x_stride;
    Vector a0 = bias, a1 = bias, a2 = bias, a3 = bias;
    for (std::size_t i = 0; i < in; ++i) {
      const Vector w = load(weights + i * width);
      a0 += x0[i] * w;
      a1 += x1[i] * w;
      a2 += x2[i] * w;
      a3 += x3[i] * w;
    }
    float* out = y + r * width;
    store(out, relu ? positive(a0) : a0);
    store(out + width, relu ? positive(a1) : a1);
    store(out + 2 * width, relu ? positive(a2) : a2);
    store(out + 3 * width, relu ? positive(a3) : a3);
  }
  for (; r < rows; ++r) {
    const float* row = x + r * x_stride;
    Vector sum = bias;
    for (std::size_t i = 0; i < in; ++i) sum += row[i] * load(weights + i * width);
    store(y + r * width, relu ? positive(sum) : sum);
  }
}

void dense(const float* x, std::size_t x_stride, std::size_t rows, std::size_t in,
           const float* weights, const float* bias, std::size_t width, bool relu, float* y) {
  for (std::size_t block = 0; block < width; block += kLane) {
    dense_block(x, x_stride, rows, in, weights + block, bias ? load(bias + block) : Vector{}, width,
                relu, y + block);
  }
}

void dense_gradient(const float* x, std::size_t x_stride, const float* dy, std::size_t rows,
                    std::size_t in, std::size_t width, float* weights_gradient,
                    float* bias_gradient) {
  for (std::size_t block = 0; block < width; block += kLane) {
    Vector bias{};
    for (std::size_t r = 0; r < rows; ++r) bias += load(dy + r * width + block);
    store(bias_gradient + block, load(bias_gradient + block) + bias);
    std::size_t i = 0;
    for (; i + 4 <= in; i += 4) {
      Vector a0{}, a1{}, a2{}, a3{};
      for (std::size_t r = 0; r < rows; ++r) {
        const Vector d = load(dy + r * width + block);
        const float* row = x + r * x_stride + i;
        a0 += row[0] * d;
        a1 += row[1] * d;
        a2 += row[2] * d;
        a3 += row[3] * d;
      }
      float* out = weights_gradient + i * width + block;
      store(out, load(out) + a0);
      store(out + width, load(out + width) + a1);
      store(out + 2 * width, load(out + 2 * width) + a2);
      store(out + 3 * width, load(out + 3 * width) + a3);
    }
    for (; i < in; ++i) {
      Vector sum{};
      for (std::size_t r = 0; r < rows; ++r) {
        sum += x[r * x_stride + i] * load(dy + r * width + block);
      }
      float* out = weights_gradient + i * width + block;
      store(out, load(out) + sum);
    }
  }
}

void gather_sum(const std::int32_t* begin, const std::int32_t* to, const float* scale,
                std::size_t rows, const float* x, std::size_t width, float* y) {
  for (std::size_t v = 0; v < rows; ++v) {
    for (std::size_t block = 0; block < width; block += kLane) {
      Vector sum{};
      for (std::int32_t e = begin[v]; e < begin[v + 1]; ++e) {
        sum += load(x + static_cast<std::size_t>(to[e]) * width + block);
      }
      store(y + v * width + block, scale != nullptr ? scale[v] * sum : sum);
    }
  }
}

void mask(const float* y, std::size_t count, float* dy) {
  for (std::size_t i = 0; i < count; i += kLane) {
    store(dy + i, load(y + i) > 0.0F ? load(dy + i) : Vector{});
  }
}

void add(const float* x, std::size_t count, float* y) {
  for (std::size_t i = 0; i < count; i += kLane) store(y + i, load(y + i) + load(x + i));
}

void sum(const float* a, const float* b, std::size_t count, float* y) {
  for (std::size_t i = 0; i < count; i += kLane) store(y + i, load(a + i) + load(b + i));
}

constexpr Kernels kKernels{&dense, &dense_gradient, &gather_sum, &mask, &add, &sum};

}  // namespace
}  // namespace berth::placeto
