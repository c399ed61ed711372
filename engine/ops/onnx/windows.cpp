// Convolutions, poolings, resizing: what moves a window over space.
#include <algorithm>
#include <cmath>
#include <optional>

#include "berth/sdk/ops/lengths.h"
#include "ops/formulas.h"
#include "ops/onnx/rules.h"

namespace berth::ops::onnx {
namespace {

/// How often a pooling's window moves over `size` elements that it does not fit into: its runtime divides the
/// negative room towards zero, and refuses no result above -1.
std::int64_t positions_outside(std::int64_t size, const Window& window) {
  const std::int64_t reach = multiply_dims(window.size - 1, window.dilation);
  const std::int64_t room = add_dims(size, window.padding);
  if (reach == kUnknownDim || room == kUnknownDim || window.stride < 1) return kUnknownDim;
  return valid_dim((room - reach - 1) / window.stride + 1);
}

/// The spatial dimensions `dims[first, first + windows)` after the window moved over them; not known where it is larger
/// than the image.
bool windowed(const OpContext& op, Dims& dims, std::size_t first,
              const std::vector<std::int64_t>& kernel, bool pools) {
  const auto strides = op.listed("strides");
  const auto dilations = op.listed("dilations");
  const auto pads = op.listed("pads");
  const std::string_view auto_pad = op.attributes.text("auto_pad", {});
  const bool round_up = op.attributes.integer("ceil_mode", 0) != 0;
  const std::size_t count = kernel.size();
  if ((strides && strides->size() != count) || (dilations && dilations->size() != count) ||
      (pads && pads->size() != 2 * count) || first + count > dims.size()) {
    return false;
  }
  for (std::size_t i = 0; i < count; ++i) {
    Window window;
    window.size = kernel[i];
    window.same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
    window.round_up = round_up;
    if (strides) window.stride = (*strides)[i];
    if (dilations) window.dilation = (*dilations)[i];
    if (pads && __builtin_add_overflow((*pads)[i], (*pads)[i + count], &window.padding)) {
      return false;
    }
    if (auto_pad == "VALID") window.padding = 0;
    const std::int64_t size = dims[first + i];
    std::int64_t& moved = dims[first + i];
    if (pools) window.too_small = positions_outside(size, window);
    moved = positions(size, window);
    // A last window that would begin in the padding behind the data does not count.
    const std::int64_t ahead = pads && !window.same ? (*pads)[i] : 0;
    if (round_up && !window.same && moved > 1 && (moved - 1) * window.stride >= size + ahead) {
      --moved;
    }
  }
  return true;
}

/// Whether the weights (M, C / group, k..) are of an image with `channels`. Onnx Runtime's own ops may have them in
/// another order.
bool are_weights_of(const OpContext& op, const Dims& weights, std::int64_t channels) {
  const std::int64_t groups = op.attributes.integer("group", 1);
  if (weights.size() < 3 || groups < 1 || op.type.find('.') != std::string_view::npos) return true;
  const std::int64_t read = multiply_dims(weights[1], groups);
  return (weights[0] == kUnknownDim || weights[0] % groups == 0) &&
         (read == kUnknownDim || channels == kUnknownDim || read == channels);
}

/// Output 0 of a convolution of input `x` with weights `w`; element type `elem`. channels_last: x
/// and the output are N..C.
void convolution_shape(OpContext& op, std::size_t x, std::size_t w, int elem, bool channels_last) {
  op.give(0, tensor_type(elem));
  const Dims* const in = op.shape(x);
  if (in == nullptr || in->size() < 3) return;
  const Dims* const weights = op.shape(w);
  Dims dims = *in;
  const std::size_t channel = channels_last ? dims.size() - 1 : 1;
  if (weights != nullptr && !are_weights_of(op, *weights, dims[channel])) return;
  dims[channel] = kUnknownDim;
  // Weights are M, C / group, k... for either order of the data.
  std::vector<std::int64_t> kernel(dims.size() - 2, kUnknownDim);
  if (const auto stated = op.listed("kernel_shape")) {
    kernel = *stated;
  } else if (weights != nullptr && weights->size() == dims.size()) {
    kernel.assign(weights->begin() + 2, weights->end());
  }
  if (weights != nullptr && !weights->empty()) dims[channel] = weights->front();
  if (kernel.size() != dims.size() - 2) return;
  if (windowed(op, dims, channels_last ? 1 : 2, kernel, /*pools=*/false))
    op.set(0, elem, std::move(dims));
}

/// Output 0 (and a second one of the same shape, of int64) of a pooling of input 0.
void pooling_shape(OpContext& op, bool channels_last) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const in = op.shape(0);
  const auto kernel = op.listed("kernel_shape");
  if (in == nullptr || !kernel || in->size() != kernel->size() + 2) return;
  Dims dims = *in;
  if (!windowed(op, dims, channels_last ? 1 : 2, *kernel, /*pools=*/true)) return;
  op.set(1, kInt64, dims);
  op.set(0, op.type_of(0), std::move(dims));
}

void global_pooling_shape(OpContext& op, bool channels_last) {
  op.set_like(0, 0);
  const Dims* const in = op.shape(0);
  if (in == nullptr) return;
  const std::size_t first = channels_last ? 1 : 2;
  const std::size_t last = channels_last ? in->size() - 1 : in->size();
  for (std::size_t i = first; i < last && i < in->size(); ++i) op.out(0).dims[i] = 1;
}

/// The shape from which a convolution with these attributes would make input 0.
void transposed_convolution_shape(OpContext& op) {
  constexpr std::int64_t kMost = 1 << 24;
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const in = op.shape(0);
  const Dims* const weights = op.shape(1);
  if (in == nullptr || weights == nullptr || in->size() < 3 || weights->size() != in->size()) {
    return;
  }
  const bool fits = (*in)[1] == kUnknownDim || (*weights)[0] == kUnknownDim ||
                    (*in)[1] == (*weights)[0] || op.type.find('.') != std::string_view::npos;
  if (!fits) return;
  const std::size_t count = in->size() - 2;
  const auto per_dim = [&](std::string_view name, std::int64_t otherwise, std::size_t size) {
    auto values = op.listed(name);
    if (!values) values.emplace(size, otherwise);
    values->resize(size, kUnknownDim);
    for (std::int64_t& value : *values) value = value > kMost ? kUnknownDim : value;
    return *values;
  };
  const auto strides = per_dim("strides", 1, count), dilations = per_dim("dilations", 1, count);
  const auto extra = per_dim("output_padding", 0, count), pads = per_dim("pads", 0, 2 * count);
  const auto stated = op.listed("output_shape");
  const auto kernel = op.listed("kernel_shape");
  const std::string_view auto_pad = op.attributes.text("auto_pad", {});
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  Dims dims = {(*in)[0], kUnknownDim};
  std::int64_t channels = 0;
  if ((*weights)[1] != kUnknownDim &&
      !__builtin_mul_overflow((*weights)[1], op.attributes.integer("group", 1), &channels)) {
    dims[1] = valid_dim(channels);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t x = (*in)[i + 2];
    const std::int64_t k = kernel && i < kernel->size() ? (*kernel)[i] : (*weights)[i + 2];
    std::int64_t dim = kUnknownDim;
    if (stated && stated->size() >= count) {
      dim = (*stated)[stated->size() - count + i];
    } else if (x > 0 && x <= kMost && strides[i] > 0) {
      const bool known = k > 0 && k <= kMost && dilations[i] > 0 && extra[i] >= 0 && pads[i] >= 0 &&
                         pads[i + count] >= 0;
      if (same) {
        dim = x * strides[i];
      } else if (known) {
        dim = strides[i] * (x - 1) + extra[i] + (k - 1) * dilations[i] + 1;
        if (auto_pad != "VALID") dim -= pads[i] + pads[i + count];
      }
    }
    dims.push_back(valid_dim(dim));
  }
  op.set(0, op.type_of(0), std::move(dims));
}

void region_pooling_shape(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const x = op.shape(0);
  const Dims* const regions = op.shape(1);
  const auto pooled = op.listed("pooled_shape");
  if (x == nullptr || regions == nullptr || !pooled || x->size() != 4 || regions->size() != 2 ||
      pooled->size() != 2) {
    return;
  }
  op.set(0, op.type_of(0),
         {regions->front(), (*x)[1], valid_dim((*pooled)[0]), valid_dim((*pooled)[1])});
}

void unpooling_shape(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const in = op.shape(0);
  if (in == nullptr || in->size() < 3) return;
  if (op.has(2)) {
    const auto stated = op.integers(2);
    const bool fits = stated && stated->size() == in->size();
    return op.set(0, op.type_of(0), fits ? *stated : Dims(in->size(), kUnknownDim));
  }
  const std::size_t count = in->size() - 2;
  const auto kernel = op.listed("kernel_shape");
  const auto strides = op.listed("strides").value_or(Dims(count, 1));
  const auto pads = op.listed("pads").value_or(Dims(2 * count, 0));
  if (!kernel || kernel->size() != count || strides.size() != count || pads.size() != 2 * count) {
    return;
  }
  Dims dims = *in;
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t& dim = dims[i + 2];
    const bool fails = dim < 1 || __builtin_mul_overflow(strides[i], dim - 1, &dim) ||
                       __builtin_add_overflow(dim, (*kernel)[i], &dim) ||
                       __builtin_sub_overflow(dim, pads[i], &dim) ||
                       __builtin_sub_overflow(dim, pads[i + count], &dim);
    if (fails) dim = kUnknownDim;
  }
  op.set(0, op.type_of(0), std::move(dims));
}

void conv(OpContext& op) {
  convolution_shape(op, 0, 1, op.type_of(0), false);
}
void nhwc_conv(OpContext& op) {
  convolution_shape(op, 0, 1, op.type_of(0), true);
}
void conv_integer(OpContext& op) {
  convolution_shape(op, 0, 1, kInt32, false);
}
void qlinear_conv(OpContext& op) {
  convolution_shape(op, 0, 3, op.type_of(7) != 0 ? op.type_of(7) : op.type_of(0),
                    op.attributes.integer("channels_last", 0) != 0);
}
void pool(OpContext& op) {
  pooling_shape(op, false);
}
void nhwc_pool(OpContext& op) {
  pooling_shape(op, true);
}
void quantized_pool(OpContext& op) {
  pooling_shape(op, op.attributes.integer("channels_last", 0) != 0);
}
void global_pool(OpContext& op) {
  global_pooling_shape(op, false);
}
void quantized_global_pool(OpContext& op) {
  global_pooling_shape(op, op.attributes.integer("channels_last", 0) != 0);
}

void crop_and_resize(OpContext& op) {
  const auto size = op.integers(3);
  const bool known = size && size->size() == 2;
  op.set(
      0, op.type_of(0),
      {dim_of(op.shape(1), 0, 2), dim_of(op.shape(0), 1, 4),
       known ? valid_dim((*size)[0]) : kUnknownDim, known ? valid_dim((*size)[1]) : kUnknownDim});
}

/// All of `axes` are scaled by what the smallest (or largest) of the sizes asked for, in `dims`, is to
/// that of `from`.
void keep_ratio(const Dims& from, const std::vector<std::size_t>& axes, bool smallest, Dims& dims) {
  std::optional<double> scale = std::nullopt;
  bool known = true;
  for (const std::size_t axis : axes) {
    known = known && from[axis] > 0 && dims[axis] != kUnknownDim;
    if (!known) break;
    const double own = static_cast<double>(dims[axis]) / static_cast<double>(from[axis]);
    scale = !scale ? own : smallest ? std::min(*scale, own) : std::max(*scale, own);
  }
  for (const std::size_t axis : axes) {
    const double size = known && scale ? nearest_length(from[axis], *scale) : -1;
    const bool fits = size >= 0 && size < static_cast<double>(kMaxDim);
    dims[axis] = fits ? static_cast<std::int64_t>(size) : kUnknownDim;
  }
}

/// Upsample and Resize: scales are an attribute (Upsample 7), input 1 (Upsample 9, Resize 10) or
/// input 2 (Resize 11), sizes input 3.
void resize(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const from = op.shape(0);
  if (from == nullptr) return;
  Dims dims(from->size(), kUnknownDim);
  std::vector<std::size_t> axes;
  if (const Ints chosen = op.listed("axes")) {
    dims = *from;
    for (const std::int64_t at : *chosen) {
      const auto axis = normal_axis(at, from->size());
      if (!axis) return;
      axes.push_back(*axis);
    }
  } else {
    for (std::size_t i = 0; i < from->size(); ++i) axes.push_back(i);
  }
  std::vector<double> scales;
  if (op.attributes.has("scales")) {
    scales = op.attributes.reals("scales");
  } else {
    const Value& given = op.in(op.input_count() > 2 ? 2 : 1);
    for (std::size_t i = 0; i < given.content_size(); ++i) {
      scales.push_back(given.number(i).value_or(std::nan("")));
    }
  }
  const Value& sizes = op.in(3);
  const bool by_size = sizes.has_content() && sizes.content_size() == axes.size();
  const bool by_scale = !by_size && scales.size() == axes.size();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::int64_t& dim = dims[axes[i]];
    const std::int64_t old = (*from)[axes[i]];
    dim = kUnknownDim;
    if (by_size) dim = dim_of_element(sizes, i);
    if (by_scale && old != kUnknownDim) {
      const double scaled = scaled_length(old, scales[i]);
      if (scaled >= 0 && scaled < static_cast<double>(kMaxDim)) {
        dim = static_cast<std::int64_t>(scaled);
      }
    }
  }
  const std::string_view policy = op.attributes.text("keep_aspect_ratio_policy", "stretch");
  if (by_size && policy != "stretch") keep_ratio(*from, axes, policy == "not_larger", dims);
  op.set(0, op.type_of(0), std::move(dims));
}

/// The op of the first opset: border = left, top, right, bottom.
void crop(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const from = op.shape(0);
  const Ints border = op.listed("border");
  const Ints scale = op.listed("scale");
  if (from == nullptr || from->size() != 4) return;
  Dims dims = *from;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {  // height, width
    std::int64_t& dim = dims[2 + i];
    if (scale && scale->size() == 2) {
      dim = valid_dim((*scale)[i]);
    } else if (border && border->size() == 4 && dim != kUnknownDim) {
      const std::int64_t before = valid_dim((*border)[1 - i]), after = valid_dim((*border)[3 - i]);
      dim = before == kUnknownDim || after == kUnknownDim ? kUnknownDim
                                                          : valid_dim(dim - before - after);
    } else {
      dim = kUnknownDim;
    }
  }
  op.set(0, op.type_of(0), std::move(dims));
}

void affine_grid(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const auto size = op.integers(1);
  if (!size || size->size() < 4 || size->size() > 5) return;
  Dims dims = {valid_dim(size->front())};
  for (std::size_t i = 2; i < size->size(); ++i) dims.push_back(valid_dim((*size)[i]));
  dims.push_back(static_cast<std::int64_t>(size->size()) - 2);
  op.set(0, op.type_of(0), std::move(dims));
}

void col2im(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const x = op.shape(0);
  const auto image = op.integers(1);
  const auto block = op.integers(2);
  if (x == nullptr || x->size() != 3 || !image || !block || image->size() > 8) return;
  const std::int64_t area = product(*block, 0, block->size());
  Dims dims = {x->front(), area > 0 && (*x)[1] != kUnknownDim ? (*x)[1] / area : kUnknownDim};
  for (const std::int64_t dim : *image) dims.push_back(valid_dim(dim));
  op.set(0, op.type_of(0), std::move(dims));
}

// --- Work ---------------------------------------------------------------------------------------
// No workspace: implicit products (no im2col matrix in memory) are what libraries choose for most
// shapes and what they fall back to when a workspace is refused.

double groups_of(const OpView& op) {
  return static_cast<double>(std::max<std::int64_t>(1, op.integer("group", 1)));
}

Estimate convolution_of(const OpView& op, const WorkRule& rule, const TensorView& weights,
                        bool bias) {
  const double taps = weights.elements(1, TensorView::kEnd);  // [out, in / group, kernel...]
  const auto ones = [&](std::string_view name) {
    const auto values = op.integers(name);
    return std::all_of(values.begin(), values.end(), [](auto value) { return value == 1; });
  };
  const double outputs = weights.dim(0);
  const double points = op.output(0).elements();
  return work::with_convolution(
      work::make_estimate(op, rule, convolution_flops(points, taps, bias), work::all_bytes(op)),
      {.window = weights.elements(2, TensorView::kEnd),
       .channels = weights.dim(1),
       .groups = groups_of(op),
       .rows = points / outputs,
       .columns = outputs / groups_of(op),
       .minimal = weights.rank() == 4 && weights.dim(2) == 3 && weights.dim(3) == 3 &&
                  ones("strides") && ones("dilations")});
}

Estimate convolution_work(const OpView& op, const WorkRule& rule) {
  return convolution_of(op, rule, op.input(1), op.input(2).present());
}

Estimate quantized_convolution_work(const OpView& op, const WorkRule& rule) {
  return convolution_of(op, rule, op.input(3), op.input(8).present());
}

Estimate transposed_convolution_work(const OpView& op, const WorkRule& rule) {
  // Every input element is multiplied by the taps it spreads to.
  const double taps = op.input(1).elements(1, TensorView::kEnd);
  double flops = convolution_flops(op.input(0).elements(), taps, /*bias=*/false);
  if (op.input(2).present()) flops += op.output(0).elements();
  const double groups = groups_of(op);
  const double outputs = op.input(1).dim(1);  // [in, out / group, kernel...]
  return work::with_convolution(work::make_estimate(op, rule, flops, work::all_bytes(op)),
                                {.window = op.input(1).elements(2, TensorView::kEnd),
                                 .channels = op.input(1).dim(0) / groups,
                                 .groups = groups,
                                 .rows = op.output(0).elements() / (outputs * groups),
                                 .columns = outputs,
                                 .minimal = false});
}

Estimate deformable_convolution_work(const OpView& op, const WorkRule& rule) {
  constexpr double kBilinearFlops = 8;
  const TensorView weights = op.input(1);
  const double taps = weights.elements(1, TensorView::kEnd);
  const double points = op.output(0).elements() / std::max(1.0, known_or(weights.dim(0), 1));
  const double samples =
      points * op.input(0).dim(1) * weights.elements(2, TensorView::kEnd);  // per channel and tap
  return work::make_estimate(
      op, rule,
      convolution_flops(op.output(0).elements(), taps, op.input(3).present()) +
          kBilinearFlops * samples,
      work::all_bytes(op));
}

Estimate pooling_work(const OpView& op, const WorkRule& rule) {
  double window = 1;
  const auto kernel = op.integers("kernel_shape");
  for (const std::int64_t side : kernel) window *= std::max(1.0, static_cast<double>(side));
  return work::make_estimate(op, rule, rule.flops * window * op.output(0).elements(),
                             work::all_bytes(op));
}

Estimate region_pooling_work(const OpView& op, const WorkRule& rule) {
  // sampling_ratio 0 = adaptive; two per side is what detection models set.
  const std::int64_t ratio = op.integer("sampling_ratio", 0);
  const double side = ratio > 0 ? static_cast<double>(ratio) : 2;
  return work::make_estimate(op, rule, rule.flops * side * side * op.output(0).elements(),
                             work::all_bytes(op));
}

Estimate resize_work(const OpView& op, const WorkRule& rule) {
  // Reads around each output element: 1, 2^axes or 4^axes of them, a product and a sum each. Two
  // axes is the case of images.
  const std::string_view mode = op.text("mode");
  const double flops = mode == "cubic" ? 32 : mode == "linear" ? 8 : 0;
  return work::make_estimate(op, rule, flops * op.output(0).elements(), work::all_bytes(op));
}

constexpr WorkRule convolution(EstimateFunction* estimate) {
  return {estimate, OpClass::convolution};
}
constexpr WorkRule pooling(double flops) {
  return {pooling_work, OpClass::pooling, flops};
}
/// Over the whole of space.
constexpr WorkRule global_pooling(double flops) {
  return {work::per_input, OpClass::pooling, flops};
}
// Four neighbours weighted per sample.
constexpr WorkRule kRegionPooling{region_pooling_work, OpClass::pooling, 8};
constexpr WorkRule kResize{resize_work, OpClass::data_movement};

constexpr Row kOps[] = {
    {"AffineGrid", affine_grid, writes()},
    {"AveragePool", pool, pooling(1)},
    {"Col2Im", col2im, copies()},
    {"Conv", conv, convolution(convolution_work)},
    {"ConvInteger", conv_integer, convolution(convolution_work)},
    {"ConvTranspose", transposed_convolution_shape, convolution(transposed_convolution_work)},
    {"Crop", crop, gathers()},
    {"DeformConv", conv, convolution(deformable_convolution_work)},
    {"GlobalAveragePool", global_pool, global_pooling(1)},
    {"GlobalLpPool", global_pool, global_pooling(2)},
    {"GlobalMaxPool", global_pool, global_pooling(1)},
    {"LpPool", pool, pooling(2)},
    {"MaxPool", pool, pooling(1)},
    {"MaxRoiPool", region_pooling_shape, kRegionPooling},
    {"MaxUnpool", unpooling_shape, global_pooling(1)},
    {"QLinearConv", qlinear_conv, convolution(quantized_convolution_work)},
    {"Resize", resize, kResize},
    {"RoiAlign", nullptr, kRegionPooling},
    {"Upsample", resize, kResize},
    {"com.microsoft.ConvTransposeWithDynamicPads", nullptr,
     convolution(transposed_convolution_work)},
    {"com.microsoft.CropAndResize", crop_and_resize, kRegionPooling},
    {"com.microsoft.FusedConv", conv, convolution(convolution_work)},
    {"com.microsoft.MaxpoolWithMask", pool, pooling(1)},
    {"com.microsoft.NhwcConv", nhwc_conv, convolution(convolution_work)},
    {"com.microsoft.NhwcFusedConv", nhwc_conv, convolution(convolution_work)},
    {"com.microsoft.NhwcMaxPool", nhwc_pool, pooling(1)},
    {"com.microsoft.QLinearAveragePool", quantized_pool, pooling(1)},
    {"com.microsoft.QLinearConv", qlinear_conv, convolution(quantized_convolution_work)},
    {"com.microsoft.QLinearGlobalAveragePool", quantized_global_pool, global_pooling(1)},
    {"com.microsoft.nchwc.AveragePool", pool, pooling(1)},
    {"com.microsoft.nchwc.Conv", conv, convolution(convolution_work)},
    {"com.microsoft.nchwc.ConvTranspose", transposed_convolution_shape,
     convolution(transposed_convolution_work)},
    {"com.microsoft.nchwc.FusedConv", conv, convolution(convolution_work)},
    {"com.microsoft.nchwc.GlobalAveragePool", global_pool, global_pooling(1)},
    {"com.microsoft.nchwc.GlobalMaxPool", global_pool, global_pooling(1)},
    {"com.microsoft.nchwc.MaxPool", pool, pooling(1)},
    {"com.microsoft.nchwc.QLinearConv", qlinear_conv, convolution(quantized_convolution_work)},
    {"com.ms.internal.nhwc.AveragePool", nullptr, pooling(1)},
    {"com.ms.internal.nhwc.Conv", nullptr, convolution(convolution_work)},
    {"com.ms.internal.nhwc.ConvTranspose", nullptr, convolution(transposed_convolution_work)},
    {"com.ms.internal.nhwc.FusedConv", nullptr, convolution(convolution_work)},
    {"com.ms.internal.nhwc.GlobalAveragePool", nullptr, global_pooling(1)},
    {"com.ms.internal.nhwc.GlobalMaxPool", nullptr, global_pooling(1)},
    {"com.ms.internal.nhwc.MaxPool", nullptr, pooling(1)},
    {"com.ms.internal.nhwc.QLinearConv", nullptr, convolution(quantized_convolution_work)},
};

}  // namespace

std::span<const Row> window_ops() {
  return kOps;
}

}  // namespace berth::ops::onnx
