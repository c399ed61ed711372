// Convolutions of images and their gradients. Filters are [height, width, in, out]; of depthwise
// ones [height, width, in, multiplier].
#include <ATen/Functions.h>

#include "runtime/empty.h"
#include "runtime/integers.h"
#include "runtime/tf/planes.h"
#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

struct Convolution {
  explicit Convolution(const Instruction& op)
      : sliding(op), depthwise(op.type.substr(0, 9) == "Depthwise") {}

  /// As ATen has it: [out, in of its group, height, width].
  [[nodiscard]] Tensor to_weight(const Tensor& filter) const {
    if (!depthwise) return filter.permute({3, 2, 0, 1});
    return filter.permute({2, 3, 0, 1})
        .reshape({filter.size(2) * filter.size(3), 1, filter.size(0), filter.size(1)});
  }
  [[nodiscard]] Tensor from_weight(const Tensor& weight, const Ints& filter) const {
    if (!depthwise) return weight.permute({2, 3, 1, 0});
    return weight.reshape({filter[2], filter[3], filter[0], filter[1]}).permute({2, 3, 0, 1});
  }
  /// Fewer channels in a filter than in the image mean groups.
  [[nodiscard]] std::int64_t groups(std::int64_t channels, const Ints& filter) const {
    return group_count(channels, depthwise ? 1 : filter[2]);
  }
  [[nodiscard]] Margins margins(const Ints& planes, const Ints& filter) const {
    return {sliding, planes[2], planes[3], filter[0], filter[1]};
  }
  [[nodiscard]] Ints stride() const { return {sliding.stride[0], sliding.stride[1]}; }
  [[nodiscard]] Ints dilation() const { return {sliding.dilation[0], sliding.dilation[1]}; }

  /// The gradients of the input and of the weight, as far as wanted. `padded` is the input with its
  /// margins, `weight` as ATen has it.
  [[nodiscard]] std::tuple<Tensor, Tensor, Tensor> backward(
      const Tensor& gradient, const Tensor& padded, const Tensor& weight, const Margins& margins,
      std::int64_t group_count, bool of_input) const {
    return at::convolution_backward(sliding.to_planes(gradient), padded, weight_for(padded, weight),
                                    c10::nullopt, stride(), margins.both_sides(), dilation(), false,
                                    {0, 0}, group_count, {of_input, !of_input, false});
  }

  Sliding sliding;
  bool depthwise;
};

Ints shape_of(const Tensor& tensor) {
  return tensor.sizes().vec();
}

/// (images, filter)
Kernel make_convolution(const KernelRequest& request) {
  return [convolution = Convolution(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor planes = convolution.sliding.to_planes(tensor_at(in, 0));
    const Tensor& filter = tensor_at(in, 1);
    const Ints filter_shape = shape_of(filter);
    const Margins margins = convolution.margins(shape_of(planes), filter_shape);
    out[0].tensor = convolution.sliding.from_planes(at::convolution(
        margins.pad(planes, 0), weight_for(planes, convolution.to_weight(filter)), c10::nullopt,
        convolution.stride(), margins.both_sides(), convolution.dilation(), false, {0, 0},
        convolution.groups(planes.size(1), filter_shape)));
  };
}

/// (shape of the images, filter, gradient)
Kernel make_input_gradient(const KernelRequest& request) {
  return [convolution = Convolution(request.instruction), images = IntsInput(request, 0)](
             KernelContext&, Inputs in, Outputs out) {
    const Tensor& filter = tensor_at(in, 1);
    const Ints planes = convolution.sliding.plane_shape(images.get(in));
    const Ints filter_shape = shape_of(filter);
    const Margins margins = convolution.margins(planes, filter_shape);
    // Only its shape and layout are looked at.
    const Tensor padded =
        at::empty(margins.padded(planes), filter.options(),
                  convolution.sliding.channels_last ? at::MemoryFormat::ChannelsLast
                                                    : at::MemoryFormat::Contiguous);
    const Tensor gradient = std::get<0>(
        convolution.backward(tensor_at(in, 2), padded, convolution.to_weight(filter), margins,
                             convolution.groups(planes[1], filter_shape), true));
    out[0].tensor = convolution.sliding.from_planes(margins.crop(gradient));
  };
}

/// (images, shape of the filter, gradient)
Kernel make_filter_gradient(const KernelRequest& request) {
  return [convolution = Convolution(request.instruction), filter = IntsInput(request, 1)](
             KernelContext&, Inputs in, Outputs out) {
    const Tensor planes = convolution.sliding.to_planes(tensor_at(in, 0));
    const Ints filter_shape = filter.get(in);
    const Margins margins = convolution.margins(shape_of(planes), filter_shape);
    // Only its shape is looked at.
    const Tensor weight = convolution.to_weight(at::empty(filter_shape, planes.options()));
    const Tensor gradient =
        std::get<1>(convolution.backward(tensor_at(in, 2), margins.pad(planes, 0), weight, margins,
                                         convolution.groups(planes.size(1), filter_shape), false));
    out[0].tensor = convolution.from_weight(gradient, filter_shape);
  };
}

constexpr KernelRow kRows[] = {
    {"Conv2D", make_convolution},
    {"Conv2DBackpropFilter", make_filter_gradient},
    {"Conv2DBackpropInput", make_input_gradient},
    {"DepthwiseConv2dNative", make_convolution},
    {"DepthwiseConv2dNativeBackpropFilter", make_filter_gradient},
    {"DepthwiseConv2dNativeBackpropInput", make_input_gradient},
};

}  // namespace

std::span<const KernelRow> convolution_kernels() {
  return kRows;
}

bool slides_over_images(const Instruction& convolution) {
  const bool is_one = convolution.type == "Conv2D" || convolution.type == "DepthwiseConv2dNative";
  return is_one && text_attribute(convolution, "data_format", "NHWC") == "NHWC";
}

Ints shape_of_planes(const Instruction& convolution, const Ints& images) {
  return Sliding(convolution).plane_shape(images);
}

Tensor weight_of_planes(const Instruction& convolution, const Tensor& filter) {
  return Convolution(convolution).to_weight(filter);
}

Instruction conv_of_planes(const Instruction& convolution, const Ints& images, const Ints& filter) {
  const Convolution given(convolution);
  const Ints planes = given.sliding.plane_shape(images);
  const Margins margins = given.margins(planes, filter);
  Instruction made;
  made.name = convolution.name;
  made.type = "Conv";
  made.attributes = {
      {"strides", given.stride()},
      {"dilations", given.dilation()},
      {"pads", Ints{margins.before[0], margins.before[1], margins.after[0], margins.after[1]}},
      {"group", given.groups(planes[1], filter)}};
  return made;
}

Kernel on_images(const Instruction& convolution, Kernel of_planes) {
  return [sliding = Sliding(convolution), of_planes = std::move(of_planes)](
             KernelContext& context, Inputs in, Outputs out) {
    const Value planes{sliding.to_planes(tensor_at(in, 0)), nullptr};
    of_planes(context, {&planes, 1}, out);
    out[0].tensor = sliding.from_planes(out[0].tensor);
  };
}

}  // namespace berth::runtime::tf
