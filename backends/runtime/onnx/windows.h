// The positions of the windows of convolutions and poolings.
#pragma once

#include <string>

#include "runtime/onnx/support.h"

namespace berth::runtime::onnx {

/// The attributes of a window, `rank` spatial dimensions each once the kernel's shape is known.
struct WindowAttributes {
  enum class AutoPad { none, same_upper, same_lower, valid };
  Ints kernel;  ///< empty where the weight tells
  Ints strides;
  Ints dilations;
  Ints pads;  ///< begins, then ends
  AutoPad auto_pad = AutoPad::none;
  bool ceil = false;
};

/// Throws Error(unsupported) for an auto_pad that is not known.
[[nodiscard]] WindowAttributes window_attributes(const Instruction& op);

/// The attribute `group`. Throws Error(unsupported) where it is below 1.
[[nodiscard]] std::int64_t groups_of(const Instruction& convolution);

/// The windows over an input of `spatial` sizes.
struct Windows {
  Ints kernel;
  Ints strides;
  Ints dilations;
  Ints before;  ///< padding
  Ints after;
  /// More padding at the end that no pads ask for, so that the last window of ceil_mode is whole.
  Ints beyond;
  Ints counts;  ///< windows per dimension
  [[nodiscard]] bool symmetric() const noexcept { return before == after; }
};
/// Throws Error(invalid_argument) where attributes do not fit each other.
[[nodiscard]] Windows windows_over(const WindowAttributes& attributes, const Ints& kernel,
                                   at::IntArrayRef spatial);

/// Paddings of the spatial dimensions as at::constant_pad_nd takes them.
[[nodiscard]] Ints as_paddings(const Ints& before, const Ints& after);

}  // namespace berth::runtime::onnx
