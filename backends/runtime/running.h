// Sums and the like of all elements up to each along a dimension, for the kernels of all dialects.
#pragma once

#include <cstdint>

#include "runtime/support.h"

namespace berth::runtime {

struct Running {
  enum class Kind : std::uint8_t {
    sum,
    product,
    log_sum,  ///< the logarithm of the sum of exponentials
  };

  Kind kind = Kind::sum;
  bool exclusive = false;  ///< without the element itself: the first is what changes nothing
  bool reverse = false;    ///< from the end

  /// Along `axis`, which counts from the front. The type stays.
  [[nodiscard]] Tensor operator()(const Tensor& x, std::int64_t axis) const;
};

}  // namespace berth::runtime
