#include "sampling.h"

#include <cmath>
#include <numbers>

namespace berth::learning {

std::size_t draw(const float* log_pi, std::size_t count, double uniform) {
  double total = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double p = std::exp(static_cast<double>(log_pi[i]));
    if (p <= 0) continue;
    last = i;
    total += p;
    if (uniform < total) return i;
  }
  return last;
}

std::size_t draw_allowed(const std::uint8_t* allowed, std::size_t count, Random& random) {
  std::size_t able = 0;
  for (std::size_t i = 0; i < count; ++i) able += allowed[i];
  std::size_t chosen = random.below(able);
  for (std::size_t i = 0;; ++i) {
    if (allowed[i] != 0 && chosen-- == 0) return i;
  }
}

double entropy_of(const float* log_pi, std::size_t count) {
  double entropy = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double p = std::exp(static_cast<double>(log_pi[i]));
    if (p > 0) entropy -= p * static_cast<double>(log_pi[i]);
  }
  return entropy;
}

double draw_normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

}  // namespace berth::learning
