// The distinct elements of a tensor, for the kernels of all dialects.
#pragma once

#include "runtime/support.h"

namespace berth::runtime {

struct Distinct {
  Tensor values;
  // i64
  Tensor firsts;  ///< where each value occurs first
  Tensor places;  ///< which value each element is
  Tensor counts;
};

/// Finds those of x, which has one dimension. The values ascend, or are in the order in which they first occur. No NaN
/// equals another.
[[nodiscard]] Distinct distinct(const Tensor& x, bool ascending);

}  // namespace berth::runtime
