// The first of a sorted dimension, for the kernels of all dialects.
#pragma once

#include "runtime/support.h"

namespace berth::runtime {

struct Best {
  Tensor values;
  Tensor indices;  ///< i64
};

/// The `count` largest, or smallest, along `axis`, best first; among equals the one at the smaller index, which at::topk
/// does not promise. NaN is larger than all. Throws Error(invalid_argument) where there are fewer.
[[nodiscard]] Best best(const Tensor& x, std::int64_t count, std::int64_t axis, bool largest);

}  // namespace berth::runtime
