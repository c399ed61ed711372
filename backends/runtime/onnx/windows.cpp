#include "runtime/onnx/windows.h"

#include <algorithm>

#include "berth/error.h"
#include "runtime/integers.h"

namespace berth::runtime::onnx {

WindowAttributes window_attributes(const Instruction& op) {
  WindowAttributes made;
  made.kernel = ints_attribute(op, "kernel_shape").value_or(Ints{});
  made.strides = ints_attribute(op, "strides").value_or(Ints{});
  made.dilations = ints_attribute(op, "dilations").value_or(Ints{});
  made.pads = ints_attribute(op, "pads").value_or(Ints{});
  made.ceil = int_attribute(op, "ceil_mode", 0) != 0;
  const std::string pad = text_attribute(op, "auto_pad", "NOTSET");
  if (pad == "SAME_UPPER") {
    made.auto_pad = WindowAttributes::AutoPad::same_upper;
  } else if (pad == "SAME_LOWER") {
    made.auto_pad = WindowAttributes::AutoPad::same_lower;
  } else if (pad == "VALID") {
    made.auto_pad = WindowAttributes::AutoPad::valid;
  } else if (pad != "NOTSET" && !pad.empty()) {
    refuse_attribute("auto_pad", pad);
  }
  return made;
}

std::int64_t groups_of(const Instruction& convolution) {
  return count_attribute(convolution, "group", 1);
}

Windows windows_over(const WindowAttributes& attributes, const Ints& kernel,
                     at::IntArrayRef spatial) {
  using AutoPad = WindowAttributes::AutoPad;
  const std::size_t rank = spatial.size();
  const auto sized = [rank](Ints values, std::size_t size, std::int64_t fallback) {
    if (values.empty()) values.assign(size, fallback);
    if (values.size() != size) {
      throw Error(ErrorCode::invalid_argument, "its attributes do not fit an input of " +
                                                   std::to_string(rank) + " spatial dimensions");
    }
    return values;
  };
  Windows made;
  made.kernel = sized(kernel, rank, 1);
  made.strides = sized(attributes.strides, rank, 1);
  made.dilations = sized(attributes.dilations, rank, 1);
  const Ints pads = sized(attributes.pads, 2 * rank, 0);
  made.beyond.assign(rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t stride = made.strides[i];
    if (stride < 1) throw Error(ErrorCode::invalid_argument, "a stride is less than 1");
    if (made.kernel[i] < 1) throw Error(ErrorCode::invalid_argument, "a window is less than 1");
    const std::int64_t extent = (made.kernel[i] - 1) * made.dilations[i] + 1;
    std::int64_t before = pads[i], after = pads[i + rank];
    if (attributes.auto_pad == AutoPad::valid) before = after = 0;
    if (attributes.auto_pad == AutoPad::same_upper || attributes.auto_pad == AutoPad::same_lower) {
      const std::int64_t count = (spatial[i] + stride - 1) / stride;
      const std::int64_t total =
          std::max<std::int64_t>((count - 1) * stride + extent - spatial[i], 0);
      const std::int64_t less = total / 2;
      before = attributes.auto_pad == AutoPad::same_upper ? less : total - less;
      after = total - before;
    }
    const std::int64_t room = spatial[i] + before + after - extent;
    if (room < 0) {
      throw Error(ErrorCode::invalid_argument,
                  "its window of " + std::to_string(extent) + " is larger than the padded input");
    }
    std::int64_t count = room / stride + 1;
    if (attributes.ceil && room % stride != 0) {
      // A window that would begin in the padding at the end does not count.
      if (count * stride < spatial[i] + before) {
        made.beyond[i] = stride - room % stride;
        ++count;
      }
    }
    made.before.push_back(before);
    made.after.push_back(after);
    made.counts.push_back(count);
  }
  return made;
}

Ints as_paddings(const Ints& before, const Ints& after) {
  Ints paddings;
  for (std::size_t i = before.size(); i > 0; --i) {
    paddings.push_back(before[i - 1]);
    paddings.push_back(after[i - 1]);
  }
  return paddings;
}

}  // namespace berth::runtime::onnx
