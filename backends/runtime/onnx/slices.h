#pragma once

#include "runtime/onnx/support.h"

namespace berth::runtime::onnx {

/// Indices as i64, counted from the front: negative ones count from the end.
[[nodiscard]] Tensor from_front(const Tensor& index, std::int64_t length);

/// Elements `start`, `start + step`, ... before `end` of `axis`, as ONNX's Slice counts: from the
/// end where negative, cut to what is there, backwards where the step is negative. Forwards it is a
/// view of x. Throws Error(invalid_argument) for step 0.
[[nodiscard]] Tensor slice_axis(const Tensor& x, std::int64_t axis, std::int64_t start,
                                std::int64_t end, std::int64_t step);

}  // namespace berth::runtime::onnx
