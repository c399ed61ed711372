// Extremes over dimensions for the kernels of all dialects.
#pragma once

#include "runtime/support.h"

namespace berth::runtime {

/// Over `axes`, which are distinct. Of no elements the extreme is the type's own: at::amax and at::amin refuse that.
[[nodiscard]] Tensor largest(const Tensor& x, const Ints& axes, bool keep);
[[nodiscard]] Tensor smallest(const Tensor& x, const Ints& axes, bool keep);

}  // namespace berth::runtime
