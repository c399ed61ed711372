// Loops over the planes of images on a processor, where chains of ATen's ops go over them several times.
#pragma once

#include <vector>

#include "runtime/onnx/support.h"

namespace berth::runtime::onnx {

/// Sources of the places of one axis of a resized image.
struct Sources {
  Ints first;                     ///< empty: the axis stays as it is
  Ints second;                    ///< empty: each place is a copy of its first source
  std::vector<float> of_first{};  ///< weights
  std::vector<float> of_second{};
};

/// Whether `resampled` takes the images: on a CPU, with rows and columns as their last axes and channels, if any, around
/// or within these. Where sources have weights, in f32.
[[nodiscard]] bool resamples(const Tensor& images, bool with_weights);
/// The images with other rows and columns, laid out as they were. Columns are summed up first.
[[nodiscard]] Tensor resampled(const Tensor& images, const Sources& rows, const Sources& columns);

/// The means of all axes behind the second, which are kept, with sums in f64: they do not depend on the order in which
/// planes lie, and are added.
[[nodiscard]] Tensor global_average(const Tensor& x);

/// The indices of the largest along the axis, or the smallest; the first of equals, or the last.
[[nodiscard]] Tensor index_of_extreme(const Tensor& x, std::int64_t axis, bool keep, bool largest,
                                      bool last);

}  // namespace berth::runtime::onnx
