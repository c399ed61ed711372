#include "runtime/onnx/slices.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <limits>

#include "berth/error.h"

namespace berth::runtime::onnx {

Tensor from_front(const Tensor& index, std::int64_t length) {
  const Tensor wide = index.to(at::kLong);
  return at::where(at::lt(wide, 0), at::add(wide, length), wide);
}

Tensor slice_axis(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t end,
                  std::int64_t step) {
  // ATen's slices go forwards: backwards is a forward slice, flipped.
  const std::int64_t length = x.size(axis);
  if (step == 0) throw Error(ErrorCode::invalid_argument, "a slice has step 0");
  const auto from_front = [&](std::int64_t at) { return at < 0 ? at + length : at; };
  if (step > 0) {
    const std::int64_t first = std::clamp<std::int64_t>(from_front(start), 0, length);
    const std::int64_t last = std::clamp<std::int64_t>(from_front(end), first, length);
    // No longer than the axis: ATen adds to it.
    return at::slice(x, axis, first, last, std::min(step, std::max<std::int64_t>(length, 1)));
  }
  const std::int64_t first = std::clamp<std::int64_t>(from_front(start), -1, length - 1);
  // An end far below 0 is beyond the front, not counted from the back.
  const std::int64_t last =
      end < -length ? -1 : std::clamp<std::int64_t>(from_front(end), -1, length - 1);
  if (first <= last) return at::slice(x, axis, 0, 0);
  const std::int64_t back = step == std::numeric_limits<std::int64_t>::min() ? length : -step;
  const std::int64_t count = (first - last - 1) / back + 1;
  const std::int64_t lowest = first - (count - 1) * back;
  return at::flip(at::slice(x, axis, lowest, first + 1, back), axis);
}

}  // namespace berth::runtime::onnx
