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
[[gnu::always_inline]] inline void each_real(const T* x, const float* scales, const float* zeros,
                                             std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = (static_cast<float>(x[i]) - zeros[i]) * scales[i];
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
BERTH_EVERY_MACHINE void reals(const U8* x, const float* scales, const float* zeros, std::int64_t n,
                               float* to) {
  each_real(x, scales, zeros, n, to);
}
BERTH_EVERY_MACHINE void reals(const I8* x, const float* scales, const float* zeros, std::int64_t n,
                               float* to) {
  each_real(x, scales, zeros, n, to);
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

/// A tensor as [rows, channels, count], in this order.
struct Channels {
  std::int64_t rows, channels, count;

  /// Calls row(where it begins) where channels are innermost, else run(channel, where it begins).
  template <class OnRow, class OnRun>
  void visit(const OnRow& row, const OnRun& run) const {
    const bool are_innermost = count == 1;
    const std::int64_t size = are_innermost ? channels : count;
    in_parallel(0, are_innermost ? rows : rows * channels, std::max<std::int64_t>(1, kGrain / size),
                [&](std::int64_t begin, std::int64_t end) {
                  for (std::int64_t i = begin; i < end; ++i) {
                    if (are_innermost) {
                      row(i * size);
                    } else {
                      run(static_cast<std::size_t>(i % channels), i * size);
                    }
                  }
                });
  }
};

/// The places of dense x in memory, seen from an axis; absent if neither in order nor with that axis innermost.
std::optional<Channels> channels_of(const Tensor& x, std::int64_t axis) {
  const std::int64_t size = x.size(axis);
  if (x.is_contiguous()) {
    const std::int64_t inside = c10::multiply_integers(x.sizes().slice(axis + 1));
    return Channels{x.numel() / (size * inside), size, inside};
  }
  if (x.stride(axis) != 1) return std::nullopt;
  return Channels{x.numel() / size, size, 1};
}

/// The numbers for each channel; 0 if undefined.
template <class T>
std::vector<T> each_of(const Tensor& numbers, const Channels& channels) {
  const std::vector<double> given = numbers.defined() ? numbers_of(numbers) : std::vector{0.0};
  std::vector<T> made(given.begin(), given.end());
  if (made.size() == 1) made.resize(static_cast<std::size_t>(channels.channels), made.front());
  return made;
}

/// The axis of x along which these numbers, which line up with it, differ; absent if they do along several.
std::optional<std::int64_t> axis_of(const Tensor& numbers, const Tensor& x) {
  for (std::int64_t axis = std::max<std::int64_t>(0, x.dim() - numbers.dim()); axis < x.dim();
       ++axis) {
    if (by_axis(numbers, x, axis)) return axis;
  }
  return std::nullopt;
}

/// dequantized_bytes with a scale for each index of an axis.
Tensor dequantized_channels(const Tensor& x, const Tensor& scale, const Tensor& zero) {
  const std::optional<std::int64_t> axis = axis_of(scale, x);
  if (!axis || x.numel() == 0 || (zero.defined() && !by_axis(zero, x, *axis))) return {};
  const std::optional<Channels> channels = channels_of(x, *axis);
  if (!channels) return {};
  const auto scales = each_of<float>(scale, *channels), zeros = each_of<float>(zero, *channels);
  const Tensor y = at::empty_like(x, x.options().dtype(at::kFloat));
  float* const to = y.data_ptr<float>();
  for_type(x.scalar_type(), [&]<class T>(T*) {
    const T* const from = x.data_ptr<T>();
    channels->visit(
        [&](std::int64_t begin) {
          reals(from + begin, scales.data(), zeros.data(), channels->channels, to + begin);
        },
        [&](std::size_t channel, std::int64_t begin) {
          reals(from + begin, scales[channel], zeros[channel], channels->count, to + begin);
        });
  });
  return y;
}

}  // namespace

Tensor dequantized_bytes(const Tensor& x, const Tensor& scale, const Tensor& zero) {
  if (!is_byte(x.scalar_type()) || !is_dense(x) || scale.scalar_type() != at::kFloat) return {};
  if (!is_one_on_host(scale) || !is_one_on_host(zero)) return dequantized_channels(x, scale, zero);
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
  const std::optional<Channels> channels = channels_of(sums, real.axis);
  if (!channels || !by_axis(real.factor, sums, real.axis) ||
      (real.summand.defined() && !by_axis(real.summand, sums, real.axis))) {
    return {};
  }
  const auto factors = each_of<double>(real.factor, *channels),
             summands = each_of<double>(real.summand, *channels);
  const Tensor y = at::empty_like(sums, sums.options().dtype(type));
  const std::int32_t* const from = sums.data_ptr<std::int32_t>();
  const Target target{number_of(scale), number_of(zero)};
  for_type(type, [&]<class T>(T*) {
    T* const to = y.data_ptr<T>();
    channels->visit(
        [&](std::int64_t begin) {
          bytes_of_sums(from + begin, factors.data(), summands.data(), target, channels->channels,
                        to + begin);
        },
        [&](std::size_t channel, std::int64_t begin) {
          bytes_of_sums(from + begin, factors[channel], summands[channel], target, channels->count,
                        to + begin);
        });
  });
  return y;
}

}  // namespace berth::runtime::onnx
