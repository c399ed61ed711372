// How pixels of a resized axis lie in the axis.
#pragma once

#include "runtime/tf/support.h"

namespace berth::runtime::tf {

struct Scaling {
  explicit Scaling(const Instruction& op)
      : corners(int_attribute(op, "align_corners", 0) != 0),
        centers(int_attribute(op, "half_pixel_centers", 0) != 0) {}

  [[nodiscard]] float scale(std::int64_t from, std::int64_t to) const {
    return corners && to > 1 ? static_cast<float>(from - 1) / static_cast<float>(to - 1)
                             : static_cast<float>(from) / static_cast<float>(to);
  }

  bool corners, centers;
};

}  // namespace berth::runtime::tf
