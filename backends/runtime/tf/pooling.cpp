// Largest and mean elements under a sliding window, and their gradients.
#include <ATen/Functions.h>

#include <algorithm>
#include <limits>

#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

struct Pooling {
  explicit Pooling(const Instruction& op) : sliding(op) {
    sliding.read_spatial(ints_attribute(op, "ksize").value_or(Ints{}), "ksize", window);
  }

  [[nodiscard]] Ints size() const { return {window[0], window[1]}; }
  [[nodiscard]] Ints stride() const { return {sliding.stride[0], sliding.stride[1]}; }
  [[nodiscard]] Margins margins(const Ints& planes) const {
    return {sliding, planes[2], planes[3], window[0], window[1]};
  }

  Sliding sliding;
  std::int64_t window[2];
};

constexpr double kLowest = -std::numeric_limits<double>::infinity();

Kernel make_max_pool(const KernelRequest& request) {
  return [pooling = Pooling(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor planes = pooling.sliding.to_planes(tensor_at(in, 0));
    const Margins margins = pooling.margins(planes.sizes().vec());
    out[0].tensor = pooling.sliding.from_planes(std::get<0>(
        at::max_pool2d_with_indices(margins.pad(planes, kLowest), pooling.size(), pooling.stride(),
                                    margins.both_sides(), {1, 1}, false)));
  };
}

/// (input, output, gradient). Of equal largest elements the first gets the gradient.
Kernel make_max_pool_gradient(const KernelRequest& request) {
  return [pooling = Pooling(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor planes = pooling.sliding.to_planes(tensor_at(in, 0));
    const Margins margins = pooling.margins(planes.sizes().vec());
    const Tensor padded = margins.pad(planes, kLowest);
    const Ints both = margins.both_sides();
    const Tensor indices = std::get<1>(
        at::max_pool2d_with_indices(padded, pooling.size(), pooling.stride(), both, {1, 1}, false));
    const Tensor gradient = pooling.sliding.to_planes(tensor_at(in, 2));
    out[0].tensor = pooling.sliding.from_planes(margins.crop(at::max_pool2d_with_indices_backward(
        gradient, padded, pooling.size(), pooling.stride(), both, {1, 1}, false, indices)));
  };
}

/// How many elements of an image lie under each window, margins not counted. [1, 1, rows, columns]
Tensor coverage(const Pooling& pooling, const Ints& planes, const Margins& margins,
                std::int64_t rows, std::int64_t columns, const at::TensorOptions& options) {
  const auto covered = [&](int axis, std::int64_t position) {
    const std::int64_t begin = position * pooling.sliding.stride[axis] - margins.before[axis];
    const std::int64_t end =
        std::min(begin + pooling.window[axis], planes[static_cast<std::size_t>(2 + axis)]);
    return end - std::max<std::int64_t>(begin, 0);
  };
  Tensor counts = at::empty({1, 1, rows, columns}, at::kFloat);
  float* const out = counts.data_ptr<float>();
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      out[row * columns + column] = static_cast<float>(covered(0, row) * covered(1, column));
    }
  }
  return counts.to(options);
}

Kernel make_mean_pool(const KernelRequest& request) {
  return [pooling = Pooling(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor planes = pooling.sliding.to_planes(tensor_at(in, 0));
    const Ints shape = planes.sizes().vec();
    const Margins margins = pooling.margins(shape);
    const Tensor padded = margins.pad(planes, 0);
    if (margins.symmetric()) {
      out[0].tensor = pooling.sliding.from_planes(at::avg_pool2d(
          padded, pooling.size(), pooling.stride(), margins.both_sides(), false, false));
      return;
    }
    const Tensor sums =
        at::avg_pool2d(padded, pooling.size(), pooling.stride(), {0, 0}, false, true, 1);
    const Tensor counts =
        coverage(pooling, shape, margins, sums.size(2), sums.size(3), planes.options());
    out[0].tensor = pooling.sliding.from_planes(sums / counts);
  };
}

/// (shape of the input, gradient)
Kernel make_mean_pool_gradient(const KernelRequest& request) {
  return [pooling = Pooling(request.instruction), images = IntsInput(request, 0)](
             KernelContext&, Inputs in, Outputs out) {
    Tensor gradient = pooling.sliding.to_planes(tensor_at(in, 1));
    const Ints shape = pooling.sliding.plane_shape(images.get(in));
    const Margins margins = pooling.margins(shape);
    c10::optional<std::int64_t> divisor;
    if (!margins.symmetric()) {
      gradient = gradient / coverage(pooling, shape, margins, gradient.size(2), gradient.size(3),
                                     gradient.options());
      divisor = 1;
    }
    // Only its shape and layout are looked at. CUDA's kernel for channels innermost ignores padding before LibTorch
    // 2.14 (PyTorch's issue 188344).
    const bool innermost = pooling.sliding.channels_last && gradient.is_cpu();
    const Tensor padded =
        at::empty(margins.padded(shape), gradient.options(),
                  innermost ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
    out[0].tensor = pooling.sliding.from_planes(
        margins.crop(at::avg_pool2d_backward(gradient, padded, pooling.size(), pooling.stride(),
                                             margins.both_sides(), false, false, divisor)));
  };
}

constexpr KernelRow kRows[] = {
    {"AvgPool", make_mean_pool},
    {"AvgPoolGrad", make_mean_pool_gradient},
    {"MaxPool", make_max_pool},
    {"MaxPoolGrad", make_max_pool_gradient},
};

}  // namespace

std::span<const KernelRow> pooling_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
