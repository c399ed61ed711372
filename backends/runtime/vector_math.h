// Functions of one f32 number without branches or calls, so that a compiler computes many at once. Errors are 2.5 ulp
// at most.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace berth::runtime::vectors {

/// One of two numbers by a mask: compilers turn conditional expressions back into branches.
[[gnu::always_inline]] inline float chosen(bool condition, float one, float other) {
  const auto mask = 0U - static_cast<std::uint32_t>(condition);
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(one) & mask) |
                              (std::bit_cast<std::uint32_t>(other) & ~mask));
}

/// e^x; at the ends of the range, what is next to them. Cephes' polynomial, on [-ln 2 / 2, ln 2 / 2].
[[gnu::always_inline]] inline float exp(float x) {
  constexpr float kLeast = -87.3F, kMost = 88.3F;
  x = chosen(x < kLeast, kLeast, x);
  x = chosen(x > kMost, kMost, x);
  // Whole numbers are in the last bits of a sum with this.
  constexpr float kWhole = 12582912.0F;
  const float shifted = x * 1.44269504088896341F + kWhole;
  const float n = shifted - kWhole;
  float r = x - n * 0.693359375F;
  r = r - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1;
  const auto power = (std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3F800000U;
  return p * std::bit_cast<float>(power);
}

[[gnu::always_inline]] inline float sigmoid(float x) {
  return 1 / (1 + exp(-x));
}

[[gnu::always_inline]] inline float tanh(float x) {
  const float size = std::fabs(x);
  const float far = std::copysign(1 - 2 / (exp(2 * size) + 1), x);
  const float s = x * x;
  float p = -5.70498872745e-3F;
  p = p * s + 2.06390887954e-2F;
  p = p * s - 5.37397155531e-2F;
  p = p * s + 1.33314422036e-1F;
  p = p * s - 3.33332819422e-1F;
  const float near = p * s * x + x;
  return chosen(size < 0.625F, near, far);
}

/// The error function, by polynomials of Norbert Juffa's.
[[gnu::always_inline]] inline float erf(float x) {
  const float size = std::fabs(x);
  const float s = x * x;
  float r = -1.72853470e-5F * size + 3.83197126e-4F;
  const float u = -3.88396438e-3F * size + 2.42546219e-2F;
  r = r * s + u;
  r = r * size - 1.06777877e-1F;
  r = r * size - 6.34846687e-1F;
  r = r * size - 1.28717512e-1F;
  r = r * size - size;
  // The polynomial turns around far out.
  const float far = std::copysign(1 - exp(chosen(size > 4, -87, r)), x);
  float p = -5.96761703e-4F;
  p = p * s + 4.99119423e-3F;
  p = p * s - 2.67681349e-2F;
  p = p * s + 1.12819925e-1F;
  p = p * s - 3.76125336e-1F;
  p = p * s + 1.28379166e-1F;
  const float near = p * x + x;
  return chosen(size > 0.927734375F, far, near);
}

}  // namespace berth::runtime::vectors
