// Indices of rows and of elements, for what picks them out and what puts them in.
#pragma once

#include "runtime/tf/support.h"

namespace berth::runtime::tf {

/// As one row, beside the tensor they point into: that may be one of the host's.
[[nodiscard]] Tensor flat_indices(const Tensor& indices, const Tensor& target);
/// Indices of `depth` dimensions each, as indices of rows of what those dimensions make up. Throws
/// Error(invalid_argument) if they are more than the shape has.
[[nodiscard]] Tensor linear_indices(const Tensor& indices, const Ints& shape);
/// `shape` with its first dimensions, as many as an index has, made one.
[[nodiscard]] Ints merged_shape(const Tensor& indices, const Ints& shape);

}  // namespace berth::runtime::tf
