// Functions of single numbers. On a CPU they are computed in one pass, which LibTorch's own take several of or do slowly.
#pragma once

#include <cstdint>

#include "runtime/support.h"

namespace berth::runtime {

struct Pointwise {
  enum class Kind : std::uint8_t {
    relu,
    clip,        ///< between alpha and beta
    leaky_relu,  ///< below 0 it is alpha x
    sigmoid,
    swish,       ///< x sigmoid(alpha x)
    hard_swish,  ///< x clip(x + 3, 0, 6) / 6
    erf,
    gelu,  ///< x (1 + erf(x / sqrt(2))) / 2
  };

  Kind kind = Kind::relu;
  double alpha = 0;
  double beta = 0;

  /// A new tensor, laid out as x is where that has no gaps.
  [[nodiscard]] Tensor operator()(const Tensor& x) const;
  /// The function of a + b. A new tensor, or written over one of them: `over`, of the sum's type and shape.
  [[nodiscard]] Tensor of_sum(const Tensor& a, const Tensor& b, Tensor over = {}) const;
  /// Writes the function of x over x, which nobody else may have.
  void overwrite(const Tensor& x) const;
};

/// For tables of kernels.
template <Pointwise::Kind kind>
[[nodiscard]] Tensor pointwise(const Tensor& x) {
  return Pointwise{kind, 1, 0}(x);
}

}  // namespace berth::runtime
