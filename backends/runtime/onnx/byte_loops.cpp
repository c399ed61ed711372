#include "runtime/onnx/byte_loops.h"

#include <ATen/Functions.h>

#include <cmath>
#include <limits>

#include "runtime/every_machine.h"
#include "runtime/parallel.h"

namespace berth::runtime::onnx {
namespace {

constexpr std::int64_t kGrain = 1 << 15;  // numbers of a thread, at least

struct Target {
  float scale, zero;
};

template <class T>
[[gnu::always_inline]] inline T saturated(float x, const Target& target) {
  constexpr float kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
  const float shifted = std::rint(x / target.scale) + target.zero;
  const float held = shifted < kLeast ? kLeast : shifted > kMost ? kMost : shifted;
  return static_cast<T>(static_cast<std::int32_t>(held));
}

template <class T>
[[gnu::always_inline]] inline void each_real(const T* x, float scale, float zero,
                                             std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = (static_cast<float>(x[i]) - zero) * scale;
}
template <class T>
[[gnu::always_inline]] inline void each_byte(const float* x, Target target, std::int64_t count,
                                             T* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = saturated<T>(x[i], target);
}
template <class T>
[[gnu::always_inline]] inline void each_sum(const std::int32_t* sums, double factor, double summand,
                                            Target target, std::int64_t count, T* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] =
        saturated<T>(static_cast<float>((static_cast<double>(sums[i]) + summand) * factor), target);
  }
}
template <class T>
[[gnu::always_inline]] inline void each_sum(const std::int32_t* sums, const double* factors,
                                            const double* summands, Target target,
                                            std::int64_t count, T* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = saturated<T>(
        static_cast<float>((static_cast<double>(sums[i]) + summands[i]) * factors[i]), target);
  }
}

// Compilers make no clones of templates.
using U8 = std::uint8_t;
using I8 = std::int8_t;
BERTH_EVERY_MACHINE void reals(const U8* x, float scale, float zero, std::int64_t n, float* to) {
  each_real(x, scale, zero, n, to);
}
BERTH_EVERY_MACHINE void reals(const I8* x, float scale, float zero, std::int64_t n, float* to) {
  each_real(x, scale, zero, n, to);
}
BERTH_EVERY_MACHINE void bytes(const float* x, Target target, std::int64_t n, U8* to) {
  each_byte(x, target, n, to);
}
BERTH_EVERY_MACHINE void bytes(const float* x, Target target, std::int64_t n, I8* to) {
  each_byte(x, target, n, to);
}
BERTH_EVERY_MACHINE void bytes_of_sums(const std::int32_t* sums, double factor, double summand,
                                       Target target, std::int64_t n, U8* to) {
  each_sum(sums, factor, summand, target, n, to);
}
BERTH_EVERY_MACHINE void bytes_of_sums(const std::int32_t* sums, double factor, double summand,
                                       Target target, std::int64_t n, I8* to) {
  each_sum(sums, factor, summand, target, n, to);
}
BERTH_EVERY_MACHINE void bytes_of_sums(const std::int32_t* sums, const double* factors,
                                       const double* summands, Target target, std::int64_t n,
                                       U8* to) {
  each_sum(sums, factors, summands, target, n, to);
}
BERTH_EVERY_MACHINE void bytes_of_sums(const std::int32_t* sums, const double* factors,
                                       const double* summands, Target target, std::int64_t n,
                                       I8* to) {
  each_sum(sums, factors, summands, target, n, to);
}

bool is_byte(at::ScalarType type) {
  return type == at::kByte || type == at::kChar;
}
/// Calls with_type(a pointer of the type's) for the type, which has 8 bits.
template <class WithType>
void for_type(at::ScalarType type, const WithType& with_type) {
  type == at::kByte ? with_type(static_cast<U8*>(nullptr)) : with_type(static_cast<I8*>(nullptr));
}

/// Its numbers follow each other in memory, in some order.
bool is_dense(const Tensor& x) {
  return x.is_cpu() && x.is_non_overlapping_and_dense();
}
/// Undefined: there is none, or it is 0.
bool is_one_on_host(const Tensor& number) {
  return !number.defined() || (number.is_cpu() && number.numel() == 1);
}
float number_of(const Tensor& one) {
  return one.defined() ? one.to(at::kFloat).item<float>() : 0;
}

/// Whether the numbers, which line up with x, differ along this axis alone.
bool by_axis(const Tensor& numbers, const Tensor& x, std::int64_t axis) {
  const std::int64_t of_numbers = axis - (x.dim() - numbers.dim());
  const bool has_axis = of_numbers >= 0 && numbers.size(of_numbers) == x.size(axis);
  return numbers.numel() == 1 || (has_axis && numbers.numel() == x.size(axis));
}

/// Sums as [rows, channels, count], in this order.
struct Channels {
  std::int64_t rows, channels, count;
  std::vector<double> factors, summands;  // by channel
};

template <class T>
void requantize(const Channels& c, const std::int32_t* sums, Target target, T* to) {
  const std::int64_t row_size = c.channels * c.count;
  in_parallel(0, c.rows, std::max<std::int64_t>(1, kGrain / row_size),
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t row = begin; row < end; ++row) {
                  const std::int32_t* const from = sums + row * row_size;
                  T* const made = to + row * row_size;
                  if (c.count == 1) {
                    bytes_of_sums(from, c.factors.data(), c.summands.data(), target, c.channels,
                                  made);
                    continue;
                  }
                  for (std::int64_t i = 0; i < c.channels; ++i) {
                    const auto channel = static_cast<std::size_t>(i);
                    bytes_of_sums(from + i * c.count, c.factors[channel], c.summands[channel],
                                  target, c.count, made + i * c.count);
                  }
                }
              });
}

/// How the numbers of dense `sums` lie in memory, seen from an axis; absent if neither in order nor with that axis
/// innermost.
std::optional<Channels> channels_of(const Tensor& sums, std::int64_t axis) {
  const std::int64_t size = sums.size(axis);
  if (sums.is_contiguous()) {
    const std::int64_t inside = c10::multiply_integers(sums.sizes().slice(axis + 1));
    return Channels{sums.numel() / (size * inside), size, inside, {}, {}};
  }
  if (sums.stride(axis) != 1) return std::nullopt;
  return Channels{sums.numel() / size, size, 1, {}, {}};
}

}  // namespace

Tensor dequantized_bytes(const Tensor& x, const Tensor& scale, const Tensor& zero) {
  if (!is_byte(x.scalar_type()) || !is_dense(x) || scale.scalar_type() != at::kFloat ||
      !is_one_on_host(scale) || !is_one_on_host(zero)) {
    return {};
  }
  const float factor = number_of(scale), shift = number_of(zero);
  const Tensor y = at::empty_like(x, x.options().dtype(at::kFloat));
  float* const to = y.data_ptr<float>();
  for_type(x.scalar_type(), [&]<class T>(T*) {
    const T* const from = x.data_ptr<T>();
    in_parallel(0, x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      reals(from + begin, factor, shift, end - begin, to + begin);
    });
  });
  return y;
}

Tensor quantized_bytes(const Tensor& x, const Tensor& scale, const Tensor& zero,
                       at::ScalarType type) {
  if (!is_byte(type) || x.scalar_type() != at::kFloat || !is_dense(x) || !is_one_on_host(scale) ||
      !is_one_on_host(zero)) {
    return {};
  }
  const Target target{number_of(scale), number_of(zero)};
  const Tensor y = at::empty_like(x, x.options().dtype(type));
  const float* const from = x.data_ptr<float>();
  for_type(type, [&]<class T>(T*) {
    T* const to = y.data_ptr<T>();
    in_parallel(0, x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      bytes(from + begin, target, end - begin, to + begin);
    });
  });
  return y;
}

Tensor requantized_bytes(const Tensor& sums, const Rescaling& real, const Tensor& scale,
                         const Tensor& zero, at::ScalarType type) {
  if (!is_byte(type) || sums.scalar_type() != at::kInt || !is_dense(sums) ||
      sums.dim() <= real.axis || sums.numel() == 0 || !is_one_on_host(scale) ||
      !is_one_on_host(zero)) {
    return {};
  }
  std::optional<Channels> channels = channels_of(sums, real.axis);
  if (!channels || !by_axis(real.factor, sums, real.axis) ||
      (real.summand.defined() && !by_axis(real.summand, sums, real.axis))) {
    return {};
  }
  const auto count = static_cast<std::size_t>(channels->channels);
  channels->factors = numbers_of(real.factor);
  channels->summands = real.summand.defined() ? numbers_of(real.summand) : std::vector{0.0};
  for (auto* const numbers : {&channels->factors, &channels->summands}) {
    if (numbers->size() == 1) numbers->resize(count, numbers->front());
  }
  const Tensor y = at::empty_like(sums, sums.options().dtype(type));
  const std::int32_t* const from = sums.data_ptr<std::int32_t>();
  const Target target{number_of(scale), number_of(zero)};
  for_type(type, [&]<class T>(T*) { requantize(*channels, from, target, y.data_ptr<T>()); });
  return y;
}

}  // namespace berth::runtime::onnx
