// Convolutions, poolings and their gradients; resizing images: what moves a window over space.
#include <algorithm>

#include "ops/formulas.h"
#include "ops/tf/rules.h"

namespace berth::ops::tf {
namespace {

/// The positions of batch, channels and the first spatial dimension.
struct Layout {
  std::size_t batch = 0;
  std::size_t channels;
  std::size_t spatial;
  std::size_t count;  ///< spatial dimensions

  Layout(std::string_view format, std::size_t spatial_count) : count(spatial_count) {
    const bool channels_first = format.substr(0, 2) == "NC";
    channels = channels_first ? 1 : spatial_count + 1;
    spatial = channels_first ? 2 : 1;
  }
  [[nodiscard]] std::size_t rank() const { return count + 2; }
};

/// How the window of an op slides, by dimension of the tensor.
struct Sliding {
  std::vector<Number> strides;
  std::vector<Number> dilations;  ///< empty = 1
  std::vector<Number> explicit_paddings;
  bool same;

  explicit Sliding(const Attributes& attributes)
      : strides(small_integers(attributes, "strides")),
        dilations(small_integers(attributes, "dilations")),
        same(attributes.text("padding", {}) == "SAME") {
    if (attributes.text("padding", {}) == "EXPLICIT") {
      explicit_paddings = small_integers(attributes, "explicit_paddings");
    }
  }

  /// Positions of a window of `size` along dimension `axis`, which is `dim` long.
  [[nodiscard]] Number along(Number dim, Number size, std::size_t axis) const {
    if (size < 0 || axis >= strides.size()) return kUnknownDim;
    Window window;
    window.size = size;
    window.stride = strides[axis];
    window.dilation = std::max<Number>(1, axis < dilations.size() ? dilations[axis] : 1);
    window.same = same;
    window.too_small = 0;
    if (2 * axis + 1 < explicit_paddings.size()) {
      window.padding = explicit_paddings[2 * axis] + explicit_paddings[2 * axis + 1];
    }
    return positions(dim, window);
  }
};

// --- Convolutions: filters are [spatial.., in, out] ---------------------------------------------

/// `depthwise`: the filter is [spatial.., in, multiplier].
void convolve(OpContext& op, std::size_t spatial_count, std::string_view default_format,
              bool depthwise) {
  const Layout layout(op.attributes.text("data_format", default_format), spatial_count);
  const Sliding sliding(op.attributes);
  const Value& input = op.in(0);
  const Value& filter = op.in(1);
  Dims dims(layout.rank(), kUnknownDim);
  dims[layout.batch] = input.dim(layout.batch);
  for (std::size_t i = 0; i < layout.count; ++i) {
    const std::size_t axis = layout.spatial + i;
    dims[axis] = sliding.along(input.dim(axis), filter.dim(i), axis);
  }
  dims[layout.channels] =
      depthwise ? multiply_dims(filter.dim(layout.count), filter.dim(layout.count + 1))
                : filter.dim(layout.count + 1);
  op.set(0, std::move(dims));
}
void conv_2d(OpContext& op) {
  convolve(op, 2, "NHWC", false);
}
void conv_3d(OpContext& op) {
  convolve(op, 3, "NDHWC", false);
}
void depthwise_conv(OpContext& op) {
  convolve(op, 2, "NHWC", true);
}
void dilation_2d(OpContext& op) {
  const Value& input = op.in(0);
  Sliding sliding(op.attributes);
  sliding.dilations = small_integers(op.attributes, "rates");
  op.set(0, {input.dim(0), sliding.along(input.dim(1), op.in(1).dim(0), 1),
             sliding.along(input.dim(2), op.in(1).dim(1), 2), input.dim(3)});
}
void quantized_conv(OpContext& op) {
  conv_2d(op);
  for (std::size_t i = 1; i < op.output_count(); ++i) op.set(i, {});
}

/// sizes, filter, gradient: the content of the first is the shape; of a convolution of `rank` - 2
/// spatial dimensions.
void gradient_of_input(OpContext& op, std::size_t rank) {
  Value shape = shape_of_content(op.in(0));
  if (!shape.ranked) shape.set_shape(Dims(rank, kUnknownDim));
  op.copy_shape(0, shape);
}
void conv_2d_input_gradient(OpContext& op) {
  gradient_of_input(op, 4);
}
void conv_3d_input_gradient(OpContext& op) {
  gradient_of_input(op, 5);
}

/// Each of `points` is multiplied with `taps` weights.
Estimate products(const OpView& op, const WorkRule& rule, double points, double taps) {
  return work::make_estimate(op, rule, convolution_flops(points, taps, /*bias=*/false),
                             work::all_bytes(op));
}
/// Weights behind one output of a convolution.
double taps_of(const TensorView& filter) {
  return filter.elements(0, -1);
}
/// Filters are [height, width, in, multiplier], of a dilation [height, width, in].
double depthwise_taps_of(const TensorView& filter) {
  return filter.elements(0, 2);
}
double channels_of(const OpView& op, const TensorView& image) {
  return image.dim(op.text("data_format").substr(0, 2) == "NC" ? 1 : -1);
}
bool minimal(const OpView& op, const TensorView& filter) {
  const auto ones = [&](std::string_view name) {
    const auto values = op.integers(name);
    return std::all_of(values.begin(), values.end(), [](auto value) { return value == 1; });
  };
  return filter.rank() == 4 && filter.dim(0) == 3 && filter.dim(1) == 3 && ones("strides") &&
         ones("dilations");
}

/// `result`: what the op makes, an image with `channels`.
Estimate image_of(const OpView& op, const WorkRule& rule, const TensorView& filter,
                  const TensorView& gradient, const TensorView& result, double channels,
                  double input_channels) {
  const double groups = input_channels / filter.dim(-2);
  return work::with_convolution(products(op, rule, gradient.elements(), taps_of(filter)),
                                {.window = filter.elements(0, -2),
                                 .channels = filter.dim(-2),
                                 .groups = groups,
                                 .rows = result.elements() / channels,
                                 .columns = channels / groups,
                                 .minimal = minimal(op, filter)});
}
Estimate convolution_work(const OpView& op, const WorkRule& rule) {
  const TensorView filter = op.input(1), output = op.output(0);
  return image_of(op, rule, filter, output, output, filter.dim(-1), channels_of(op, op.input(0)));
}
/// sizes (or the input itself), filter, gradient.
Estimate input_gradient_work(const OpView& op, const WorkRule& rule) {
  const TensorView filter = op.input(1), image = op.output(0);
  const double channels = channels_of(op, image);
  return image_of(op, rule, filter, op.input(2), image, channels, channels);
}
/// input, sizes (or the filter itself), gradient.
Estimate filter_gradient_work(const OpView& op, const WorkRule& rule) {
  const TensorView filter = op.output(0);
  const double groups = channels_of(op, op.input(0)) / filter.dim(-2);
  return work::with_convolution(
      products(op, rule, op.input(2).elements(), taps_of(filter)),
      {.window = filter.elements(0, -2),
       .channels = filter.dim(-2),
       .groups = groups,
       .rows = taps_of(filter),
       .columns = filter.dim(-1) / groups,
       .minimal = false,
       .transformed = minimal(op, filter) ? op.input(0).elements() + op.input(2).elements() : 0});
}
Estimate depthwise_work(const OpView& op, const WorkRule& rule) {
  return products(op, rule, op.output(0).elements(), depthwise_taps_of(op.input(1)));
}
Estimate depthwise_input_gradient_work(const OpView& op, const WorkRule& rule) {
  return products(op, rule, op.input(2).elements(), depthwise_taps_of(op.input(1)));
}
Estimate depthwise_filter_gradient_work(const OpView& op, const WorkRule& rule) {
  return products(op, rule, op.input(2).elements(), depthwise_taps_of(op.output(0)));
}
constexpr WorkRule depthwise(EstimateFunction* estimate) {
  return {estimate, OpClass::depthwise_convolution};
}
constexpr WorkRule convolution(EstimateFunction* estimate) {
  return {estimate, OpClass::convolution};
}

// --- Poolings -----------------------------------------------------------------------------------

void pool(OpContext& op, std::size_t spatial_count, std::string_view default_format) {
  const Layout layout(op.attributes.text("data_format", default_format), spatial_count);
  Sliding sliding(op.attributes);
  const Value& input = op.in(0);
  std::vector<Number> sizes = small_integers(op.attributes, "ksize");
  // MaxPoolV2 has both as inputs.
  if (const auto* given = op.in(1).integers(); given != nullptr && sizes.empty()) sizes = *given;
  if (const auto* given = op.in(2).integers(); given != nullptr && sliding.strides.empty()) {
    sliding.strides = *given;
  }
  Dims dims(layout.rank(), kUnknownDim);
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const Number size = axis < sizes.size() ? sizes[axis] : kUnknownDim;
    dims[axis] = size == 1 && axis < sliding.strides.size() && sliding.strides[axis] == 1
                     ? input.dim(axis)
                     : sliding.along(input.dim(axis), size, axis);
  }
  for (std::size_t i = 0; i < op.output_count(); ++i) op.set(i, dims);
}
void pool_2d(OpContext& op) {
  pool(op, 2, "NHWC");
}
void pool_3d(OpContext& op) {
  pool(op, 3, "NDHWC");
}

void fractional_pool(OpContext& op) {
  op.set(0, {op.in(0).dim(0), kUnknownDim, kUnknownDim, op.in(0).dim(3)});
  op.set(1, {kUnknownDim});
  op.set(2, {kUnknownDim});
}

/// rule.flops for each element of each window.
Estimate pooling_work(const OpView& op, const WorkRule& rule) {
  double window = 1;
  for (const std::int64_t size : op.integers("ksize")) window *= static_cast<double>(size);
  return work::make_estimate(op, rule, rule.flops * window * op.output(0).elements(),
                             work::all_bytes(op));
}
constexpr WorkRule kPooling{pooling_work, OpClass::pooling, 1};
/// Windows that nothing but the sizes of input and output tells: each element is read once.
constexpr WorkRule kPoolingByInput{work::per_input, OpClass::pooling, 1};
/// Each gradient is spread over its window.
constexpr WorkRule kPoolingGradient{work::per_output, OpClass::pooling, 2};

// --- Images -------------------------------------------------------------------------------------

/// images, size [2].
void resize(OpContext& op) {
  const Value size = shape_of_content(op.in(1));
  op.set(0, {op.in(0).dim(0), size.dim(0), size.dim(1), op.in(0).dim(3)});
}
/// image, boxes, box indices, size [2].
void crop_and_resize(OpContext& op) {
  const Value size = shape_of_content(op.in(3));
  op.set(0, {op.in(1).dim(0), size.dim(0), size.dim(1), op.in(0).dim(3)});
}
void extract_patches(OpContext& op) {
  const Value& input = op.in(0);
  const std::vector<Number> sizes = small_integers(op.attributes, "ksizes");
  Sliding sliding(op.attributes);
  sliding.dilations = small_integers(op.attributes, "rates");
  if (input.rank() != 4 || sizes.size() != 4 || sliding.strides.size() != 4) return;
  op.set(0, {input.dim(0), sliding.along(input.dim(1), sizes[1], 1),
             sliding.along(input.dim(2), sizes[2], 2),
             multiply_dims(input.dim(3), multiply_dims(sizes[1], sizes[2]))});
}
void extract_volume_patches(OpContext& op) {
  const Value& input = op.in(0);
  const std::vector<Number> sizes = small_integers(op.attributes, "ksizes");
  const Sliding sliding(op.attributes);
  if (input.rank() != 5 || sizes.size() != 5 || sliding.strides.size() != 5) return;
  Dims dims = input.dims;
  for (std::size_t i = 1; i < 4; ++i) {
    dims[i] = sliding.along(input.dim(i), sizes[i], i);
    dims[4] = multiply_dims(dims[4], sizes[i]);
  }
  op.set(0, std::move(dims));
}

/// images, transforms, size [2].
void projected(OpContext& op) {
  const Value size = shape_of_content(op.in(2));
  op.set(0, {op.in(0).dim(0), size.dim(0), size.dim(1), op.in(0).dim(3)});
}
/// gradients, image, boxes.
void boxes_like_third(OpContext& op) {
  op.copy_shape(0, op.in(2));
}
/// gradients, boxes, box indices, shape of the image.
void image_gradient(OpContext& op) {
  op.copy_shape(0, shape_of_content(op.in(3)));
}

constexpr Row kOps[] = {
    {"AvgPool", "output:T", pool_2d, kPooling},
    {"AvgPool3D", "output:T", pool_3d, kPooling},
    {"AvgPool3DGrad", "output:T", conv_3d_input_gradient, kPoolingGradient},
    {"AvgPoolGrad", "output:T", conv_2d_input_gradient, kPoolingGradient},
    {"Conv2D", "output:T", conv_2d, convolution(convolution_work)},
    {"Conv2DBackpropFilter", "output:T", rule::shape_from_second,
     convolution(filter_gradient_work)},
    {"Conv2DBackpropFilterV2", "output:T", rule::like_second, convolution(filter_gradient_work)},
    {"Conv2DBackpropInput", "output:T", conv_2d_input_gradient, convolution(input_gradient_work)},
    {"Conv2DBackpropInputV2", "output:T", rule::like_first, convolution(input_gradient_work)},
    {"Conv3D", "output:T", conv_3d, convolution(convolution_work)},
    {"Conv3DBackpropFilter", "output:T", rule::like_second, convolution(filter_gradient_work)},
    {"Conv3DBackpropFilterV2", "output:T", rule::shape_from_second,
     convolution(filter_gradient_work)},
    {"Conv3DBackpropInput", "output:T", rule::like_first, convolution(input_gradient_work)},
    {"Conv3DBackpropInputV2", "output:T", conv_3d_input_gradient, convolution(input_gradient_work)},
    {"CropAndResize", "crops:=float", crop_and_resize, copies(8)},
    {"CropAndResizeGradBoxes", "output:=float", boxes_like_third, kPoolingByInput},
    {"CropAndResizeGradImage", "output:T", image_gradient, copies(8)},
    {"DepthwiseConv2dNative", "output:T", depthwise_conv, depthwise(depthwise_work)},
    {"DepthwiseConv2dNativeBackpropFilter", "output:T", rule::shape_from_second,
     depthwise(depthwise_filter_gradient_work)},
    {"DepthwiseConv2dNativeBackpropInput", "output:T", conv_2d_input_gradient,
     depthwise(depthwise_input_gradient_work)},
    {"Dilation2D", "output:T", dilation_2d, depthwise(depthwise_work)},
    {"Dilation2DBackpropFilter", "filter_backprop:T", rule::like_second,
     depthwise(depthwise_filter_gradient_work)},
    {"Dilation2DBackpropInput", "in_backprop:T", rule::like_first,
     depthwise(depthwise_input_gradient_work)},
    {"ExtractImagePatches", "patches:T", extract_patches, copies()},
    {"ExtractVolumePatches", "patches:T", extract_volume_patches, copies()},
    {"FractionalAvgPool", "output:T row_pooling_sequence:=int64 col_pooling_sequence:=int64",
     fractional_pool, kPoolingByInput},
    {"FractionalMaxPool", "output:T row_pooling_sequence:=int64 col_pooling_sequence:=int64",
     fractional_pool, kPoolingByInput},
    {"FractionalMaxPoolGrad", "output:T", rule::like_first, kPoolingGradient},
    {"ImageProjectiveTransformV2", "transformed_images:dtype", projected, copies(16)},
    {"ImageProjectiveTransformV3", "transformed_images:dtype", projected, copies(16)},
    {"MaxPool", "output:T=float", pool_2d, kPooling},
    {"MaxPool3D", "output:T", pool_3d, kPooling},
    {"MaxPool3DGrad", "output:T=float", rule::like_first, kPoolingGradient},
    {"MaxPool3DGradGrad", "output:T", rule::like_second, kPoolingGradient},
    {"MaxPoolGrad", "output:T=float", rule::like_first, kPoolingGradient},
    {"MaxPoolGradGrad", "output:T", rule::like_second, kPoolingGradient},
    {"MaxPoolGradGradV2", "output:T", rule::like_second, kPoolingGradient},
    {"MaxPoolGradV2", "output:T=float", rule::like_first, kPoolingGradient},
    {"MaxPoolGradWithArgmax", "output:T", rule::like_first, kPoolingGradient},
    {"MaxPoolV2", "output:T=float", pool_2d, kPoolingByInput},
    {"MaxPoolWithArgmax", "output:T argmax:Targmax=int64", pool_2d, kPooling},
    {"QuantizedConv2D", "output:out_type=qint32 min_output:=float max_output:=float",
     quantized_conv, convolution(convolution_work)},
    {"ResizeArea", "resized_images:=float", resize, copies(8)},
    {"ResizeBicubic", "resized_images:=float", resize, copies(32)},
    {"ResizeBicubicGrad", "output:T", rule::like_second, copies(32)},
    {"ResizeBilinear", "resized_images:=float", resize, copies(8)},
    {"ResizeBilinearGrad", "output:T", rule::like_second, copies(8)},
    {"ResizeNearestNeighbor", "resized_images:T", resize, copies(1)},
    {"ResizeNearestNeighborGrad", "output:T", resize, copies(1)},
    {"ScaleAndTranslate", "resized_images:=float", resize, copies(16)},
    {"ScaleAndTranslateGrad", "output:T", rule::like_second, copies(16)},
    {"_FusedConv2D", "output:T", conv_2d, convolution(convolution_work)},
};

}  // namespace

std::span<const Row> window_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
