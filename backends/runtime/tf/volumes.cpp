// Convolutions and poolings of volumes: [batch, depth, height, width, channels], or channels second.
#include <ATen/Functions.h>

#include <algorithm>
#include <array>
#include <limits>

#include "runtime/empty.h"
#include "runtime/integers.h"
#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

constexpr double kLowest = -std::numeric_limits<double>::infinity();

/// How a window slides over volumes. Kernels see them as [batch, channels, depth, height, width].
struct Volume {
  explicit Volume(const Instruction& op)
      : channels_last(text_attribute(op, "data_format", "NDHWC") == "NDHWC"),
        same(text_attribute(op, "padding", "VALID") == "SAME"),
        stride(spatial(op, "strides")),
        dilation(spatial(op, "dilations")) {}

  /// Depth, height and width of five numbers; 1 where there are none.
  [[nodiscard]] Ints spatial(const Instruction& op, std::string_view name) const {
    const Ints five = ints_attribute(op, name).value_or(Ints{1, 1, 1, 1, 1});
    const auto first = five.begin() + (channels_last ? 1 : 2);
    if (five.size() != 5 || five[0] != 1 || five[channels_last ? 4 : 1] != 1) {
      refuse_attribute(name, "not 1 for batch and channels");
    }
    if (*std::min_element(first, first + 3) < 1) refuse_attribute(name, "below 1");
    return {first, first + 3};
  }
  [[nodiscard]] Tensor in_order(const Tensor& x) const {
    return channels_last ? at::movedim(x, 4, 1) : x;
  }
  [[nodiscard]] Tensor back(const Tensor& x) const {
    return channels_last ? at::movedim(x, 1, 4) : x;
  }
  [[nodiscard]] Ints in_order(Ints shape) const {
    if (channels_last) std::rotate(shape.begin() + 1, shape.begin() + 4, shape.end());
    return shape;
  }
  /// Elements before and after each dimension, as at::constant_pad_nd takes them.
  [[nodiscard]] Ints pads(const Ints& shape, const Ints& window) const {
    Ints made(6, 0);
    for (std::size_t i = 0; same && i < 3; ++i) {
      const std::int64_t size = shape[i + 2], reach = dilation[i] * (window[i] - 1) + 1;
      const std::int64_t count = (size + stride[i] - 1) / stride[i];
      const std::int64_t more = std::max<std::int64_t>((count - 1) * stride[i] + reach - size, 0);
      made[4 - 2 * i] = more / 2;
      made[5 - 2 * i] = more - more / 2;
    }
    return made;
  }
  [[nodiscard]] static Tensor cropped(Tensor x, const Ints& pads, const Ints& shape) {
    for (std::size_t i = 0; i < 3; ++i) {
      x = x.narrow(static_cast<std::int64_t>(i) + 2, pads[4 - 2 * i], shape[i + 2]);
    }
    return x;
  }

  bool channels_last, same;
  Ints stride, dilation;
};

Ints sizes_of(const Tensor& x) {
  return x.sizes().vec();
}

// --- convolutions: filters are [depth, height, width, in, out] --------------------------------------

Tensor as_weight(const Tensor& filter) {
  return filter.permute({4, 3, 0, 1, 2});
}

const Ints kNone = {0, 0, 0};

/// (volumes, filter)
Kernel make_convolution(const KernelRequest& request) {
  return [volume = Volume(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor x = volume.in_order(tensor_at(in, 0));
    const Tensor& filter = tensor_at(in, 1);
    const Tensor padded = runtime::padded(x, volume.pads(sizes_of(x), sizes_of(filter)));
    out[0].tensor = volume.back(at::convolution(
        padded, weight_for(padded, as_weight(filter)), c10::nullopt, volume.stride, kNone,
        volume.dilation, false, kNone, group_count(x.size(1), filter.size(3))));
  };
}

/// The gradients of volumes with their margins and of the weight, as far as wanted.
std::tuple<Tensor, Tensor, Tensor> backward(const Volume& volume, const Tensor& gradient,
                                            const Tensor& padded, const Tensor& weight,
                                            bool of_input) {
  return at::convolution_backward(volume.in_order(gradient), padded, weight_for(padded, weight),
                                  c10::nullopt, volume.stride, kNone, volume.dilation, false, kNone,
                                  group_count(padded.size(1), weight.size(1)),
                                  {of_input, !of_input, false});
}

Ints padded_shape(Ints shape, const Ints& pads) {
  for (std::size_t i = 0; i < 3; ++i) shape[i + 2] += pads[4 - 2 * i] + pads[5 - 2 * i];
  return shape;
}

/// (shape of the volumes, filter, gradient)
Kernel make_input_gradient(const KernelRequest& request) {
  return [volume = Volume(request.instruction), sizes = IntsInput(request, 0)](
             KernelContext&, Inputs in, Outputs out) {
    const Tensor& filter = tensor_at(in, 1);
    const Ints shape = volume.in_order(sizes.get(in));
    const Ints pads = volume.pads(shape, sizes_of(filter));
    const Tensor padded = at::empty(padded_shape(shape, pads), filter.options());
    const Tensor gradient =
        std::get<0>(backward(volume, tensor_at(in, 2), padded, as_weight(filter), true));
    out[0].tensor = volume.back(Volume::cropped(gradient, pads, shape));
  };
}

/// (volumes, shape of the filter, gradient)
Kernel make_filter_gradient(const KernelRequest& request) {
  return [volume = Volume(request.instruction), sizes = IntsInput(request, 1)](
             KernelContext&, Inputs in, Outputs out) {
    const Tensor x = volume.in_order(tensor_at(in, 0));
    const Ints shape = sizes.get(in);
    const Tensor padded = runtime::padded(x, volume.pads(sizes_of(x), shape));
    const Tensor weight = as_weight(at::empty(shape, x.options()));
    out[0].tensor = std::get<1>(backward(volume, tensor_at(in, 2), padded, weight, false))
                        .permute({2, 3, 4, 1, 0});
  };
}

// --- poolings --------------------------------------------------------------------------------------

struct Pooling : Volume {
  explicit Pooling(const Instruction& op) : Volume(op), window(spatial(op, "ksize")) {}

  /// Means over what of a window lies in the volume.
  [[nodiscard]] Tensor means(const Tensor& x, const Ints& pads) const {
    return at::div(sums(runtime::padded(x, pads)), counts(sizes_of(x), pads, x.options()));
  }
  [[nodiscard]] Tensor sums(const Tensor& padded) const {
    return at::avg_pool3d(padded, window, stride, kNone, false, true, 1);
  }
  [[nodiscard]] Tensor counts(Ints shape, const Ints& pads,
                              const at::TensorOptions& options) const {
    shape[0] = shape[1] = 1;
    return sums(runtime::padded(at::ones(shape, options), pads));
  }

  Ints window;
};

Kernel make_max_pool(const KernelRequest& request) {
  return [pooling = Pooling(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor x = pooling.in_order(tensor_at(in, 0));
    const Ints pads = pooling.pads(sizes_of(x), pooling.window);
    out[0].tensor = pooling.back(std::get<0>(at::max_pool3d_with_indices(
        runtime::padded(x, pads, kLowest), pooling.window, pooling.stride)));
  };
}

/// (input, output, gradient). Of equal largest elements the first gets the gradient.
Kernel make_max_pool_gradient(const KernelRequest& request) {
  return [pooling = Pooling(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor x = pooling.in_order(tensor_at(in, 0));
    const Ints pads = pooling.pads(sizes_of(x), pooling.window), once = {1, 1, 1};
    const Tensor padded = runtime::padded(x, pads, kLowest);
    const Tensor indices =
        std::get<1>(at::max_pool3d_with_indices(padded, pooling.window, pooling.stride));
    const Tensor gradient = at::max_pool3d_with_indices_backward(
        pooling.in_order(tensor_at(in, 2)).contiguous(), padded.contiguous(), pooling.window,
        pooling.stride, kNone, once, false, indices);
    out[0].tensor = pooling.back(Volume::cropped(gradient, pads, sizes_of(x)));
  };
}

Kernel make_mean_pool(const KernelRequest& request) {
  return [pooling = Pooling(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor x = pooling.in_order(tensor_at(in, 0));
    out[0].tensor = pooling.back(pooling.means(x, pooling.pads(sizes_of(x), pooling.window)));
  };
}

/// (shape of the input, gradient)
Kernel make_mean_pool_gradient(const KernelRequest& request) {
  return [pooling = Pooling(request.instruction), sizes = IntsInput(request, 0)](
             KernelContext&, Inputs in, Outputs out) {
    const Ints shape = pooling.in_order(sizes.get(in));
    const Ints pads = pooling.pads(shape, pooling.window);
    const Tensor gradient = pooling.in_order(tensor_at(in, 1));
    const Tensor shared = at::div(gradient, pooling.counts(shape, pads, gradient.options()));
    const Tensor padded = at::empty(padded_shape(shape, pads), gradient.options());
    out[0].tensor = pooling.back(
        Volume::cropped(at::avg_pool3d_backward(shared.contiguous(), padded, pooling.window,
                                                pooling.stride, kNone, false, true, 1),
                        pads, shape));
  };
}

/// (volumes): what lies under each window, side by side in the last dimension.
Kernel make_patches(const KernelRequest& request) {
  const Volume volume(request.instruction);
  return [volume, window = volume.spatial(request.instruction, "ksizes")](KernelContext&, Inputs in,
                                                                          Outputs out) {
    const Tensor x = volume.in_order(tensor_at(in, 0));
    Tensor y = runtime::padded(x, volume.pads(sizes_of(x), window));
    for (std::size_t i = 0; i < 3; ++i) {
      y = y.unfold(static_cast<std::int64_t>(i) + 2, window[i], volume.stride[i]);
    }
    const Ints shape = {y.size(0), y.size(2), y.size(3), y.size(4),
                        window[0] * window[1] * window[2] * x.size(1)};
    out[0].tensor = y.permute({0, 2, 3, 4, 5, 6, 7, 1}).reshape(shape);
  };
}

constexpr KernelRow kRows[] = {
    {"AvgPool3D", make_mean_pool},
    {"AvgPool3DGrad", make_mean_pool_gradient},
    {"Conv3D", make_convolution},
    {"Conv3DBackpropFilterV2", make_filter_gradient},
    {"Conv3DBackpropInputV2", make_input_gradient},
    {"ExtractVolumePatches", make_patches},
    {"MaxPool3D", make_max_pool},
    {"MaxPool3DGrad", make_max_pool_gradient},
};

}  // namespace

std::span<const KernelRow> volume_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
