// Convolutions and transposed ones.
#include <ATen/Functions.h>

#include "berth/error.h"
#include "runtime/empty.h"
#include "runtime/integers.h"
#include "runtime/layouts.h"
#include "runtime/onnx/activations.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"
#include "runtime/onnx/windows.h"

namespace berth::runtime::onnx {
namespace {

bool any(const Ints& values) {
  return std::any_of(values.begin(), values.end(), [](std::int64_t v) { return v != 0; });
}

Kernel make_conv(const KernelRequest& request) {
  const WindowAttributes attributes = window_attributes(request.instruction);
  const std::int64_t groups = groups_of(request.instruction);
  return widened([attributes, groups](KernelContext&, Inputs in, Outputs out) {
    Tensor x = tensor_at(in, 0);
    const Tensor weight = weight_for(x, tensor_at(in, 1));
    const Windows windows =
        windows_over(attributes, weight.sizes().slice(2).vec(), x.sizes().slice(2));
    Ints padding = windows.before;
    if (!windows.symmetric()) {
      x = runtime::padded(x, as_paddings(windows.before, windows.after));
      padding.assign(padding.size(), 0);
    }
    if (prefers_channels_innermost(x)) {
      x = x.contiguous(at::MemoryFormat::ChannelsLast);
      if (groups != 1) {  // ATen would choose what computes them one by one
        out[0].tensor = at::mkldnn_convolution(x, weight, optional_at(in, 2), padding,
                                               windows.strides, windows.dilations, groups);
        return;
      }
    }
    out[0].tensor =
        at::convolution(x, weight, optional_at(in, 2), windows.strides, padding, windows.dilations,
                        /*transposed=*/false, Ints(padding.size(), 0), groups);
  });
}

// A transposed convolution's windows lie on its output, which is as large as they make it.
Windows transposed_windows(WindowAttributes attributes, const Ints& kernel) {
  attributes.auto_pad = WindowAttributes::AutoPad::none;
  Ints extents = attributes.dilations;
  extents.resize(kernel.size(), 1);
  for (std::size_t i = 0; i < kernel.size(); ++i) extents[i] = (kernel[i] - 1) * extents[i] + 1;
  return windows_over(attributes, kernel, extents);
}

// Elements cut off the full result at either end, less those added.
struct Cut {
  Ints before, after;
};

Cut cut_of(const WindowAttributes& attributes, const Ints& stated_shape, const Ints& output_padding,
           const Windows& windows, at::IntArrayRef spatial) {
  using AutoPad = WindowAttributes::AutoPad;
  Cut cut;
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    const std::int64_t full = (spatial[i] - 1) * windows.strides[i] +
                              (windows.kernel[i] - 1) * windows.dilations[i] + 1 +
                              output_padding[i];
    const bool same =
        attributes.auto_pad == AutoPad::same_upper || attributes.auto_pad == AutoPad::same_lower;
    if (stated_shape.empty() && !same) {
      cut.before.push_back(windows.before[i]);
      cut.after.push_back(windows.after[i] - output_padding[i]);
      continue;
    }
    // The last spatial dimensions, whether or not batch and channels are stated as well.
    const std::int64_t wanted = stated_shape.empty()
                                    ? spatial[i] * windows.strides[i]
                                    : stated_shape[stated_shape.size() - spatial.size() + i];
    const std::int64_t total = full - wanted;
    // An excess is cut off both ends; a lack is added behind.
    const std::int64_t excess = std::max<std::int64_t>(total, 0);
    const std::int64_t less = excess / 2;
    const std::int64_t before = attributes.auto_pad == AutoPad::same_upper ? less : excess - less;
    cut.before.push_back(before);
    cut.after.push_back(total - before - output_padding[i]);
  }
  return cut;
}

Kernel make_conv_transpose(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const WindowAttributes attributes = window_attributes(op);
  const std::int64_t groups = groups_of(op);
  const Ints stated_padding = ints_attribute(op, "output_padding").value_or(Ints{});
  const Ints stated_shape = ints_attribute(op, "output_shape").value_or(Ints{});
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Tensor& weight = tensor_at(in, 1);
    const Tensor bias = optional_at(in, 2);
    const at::IntArrayRef spatial = x.sizes().slice(2);
    const std::size_t rank = spatial.size();
    const Windows windows = transposed_windows(attributes, weight.sizes().slice(2).vec());
    Ints added = stated_padding;
    added.resize(rank, 0);
    if (!stated_shape.empty() && stated_shape.size() < rank) {
      throw Error(ErrorCode::invalid_argument, "its output_shape has too few dimensions");
    }
    const Cut cut = cut_of(attributes, stated_shape, added, windows, spatial);
    const bool plain_cut =
        cut.before == cut.after &&
        std::all_of(cut.before.begin(), cut.before.end(), [](std::int64_t c) { return c >= 0; });
    const Ints none(rank, 0);
    Tensor y = at::convolution(x, weight, plain_cut ? bias : Tensor(), windows.strides,
                               plain_cut ? cut.before : none, windows.dilations,
                               /*transposed=*/true, none, groups);
    if (!plain_cut) {
      Ints before = cut.before, after = cut.after;
      for (std::int64_t& c : before) c = -c;
      for (std::int64_t& c : after) c = -c;
      if (any(before) || any(after)) y = runtime::padded(y, as_paddings(before, after));
      if (bias.defined()) {
        Ints shape(static_cast<std::size_t>(y.dim()), 1);
        shape[1] = bias.size(0);
        y = at::add(y, bias.reshape(shape));
      }
    }
    out[0].tensor = y;
  });
}

// Adds columns where their windows were. Inputs: columns [batch, channels * window, windows], the sizes of
// the images, those of a window.
Kernel make_col2im(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const IntsOperand image_operand(request, "", 1), window_operand(request, "", 2);
  const Ints dilations = ints_attribute(op, "dilations").value_or(Ints{});
  const Ints stated_pads = ints_attribute(op, "pads").value_or(Ints{});
  const Ints stated_strides = ints_attribute(op, "strides").value_or(Ints{});
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& columns = tensor_at(in, 0);
    const Ints image = image_operand.need(in), window = window_operand.need(in);
    const std::size_t rank = image.size();
    WindowAttributes attributes{window, stated_strides, dilations, stated_pads};
    const Windows windows = windows_over(attributes, window, image);
    const std::int64_t batch = columns.size(0), positions = element_count(window);
    const std::int64_t channels =
        shared_out(columns.size(1), "rows", positions, "places of a window");
    Ints parts = {batch, channels, positions};
    parts.insert(parts.end(), windows.counts.begin(), windows.counts.end());
    const Tensor by_position = columns.reshape(parts);
    Ints padded = {batch, channels};
    for (std::size_t i = 0; i < rank; ++i) {
      padded.push_back(image[i] + windows.before[i] + windows.after[i]);
    }
    const Tensor sums = at::zeros(padded, columns.options());
    for (std::int64_t position = 0; position < positions; ++position) {
      Tensor target = sums;
      for (std::size_t i = rank, rest = static_cast<std::size_t>(position); i-- > 0;) {
        const auto size = static_cast<std::size_t>(window[i]);
        const std::int64_t first = static_cast<std::int64_t>(rest % size) * windows.dilations[i];
        rest /= size;
        const std::int64_t last = first + (windows.counts[i] - 1) * windows.strides[i];
        target = at::slice(target, static_cast<std::int64_t>(i) + 2, first, last + 1,
                           windows.strides[i]);
      }
      target.add_(by_position.select(2, position));
    }
    Tensor y = sums;
    for (std::size_t i = 0; i < rank; ++i) {
      y = y.narrow(static_cast<std::int64_t>(i) + 2, windows.before[i], image[i]);
    }
    out[0].tensor = y.contiguous();
  });
}

// Samples x between its pixels, 0 outside. `rows` and `columns`: [batch, height, width], in pixels. In f64: a
// position on a pixel gives that pixel, though ATen wants it as a share of the image.
Tensor sampled(const Tensor& x, const Tensor& rows, const Tensor& columns) {
  const auto normal = [](const Tensor& at_pixel, std::int64_t size) {
    return at::sub(at::div(at::add(at::mul(at_pixel.to(at::kDouble), 2), 1), size), 1);
  };
  const Tensor grid = at::stack({normal(columns, x.size(3)), normal(rows, x.size(2))}, -1);
  constexpr std::int64_t kBilinear = 0, kZeros = 0;
  return at::grid_sampler_2d(x.to(at::kDouble), grid, kBilinear, kZeros, /*align_corners=*/false)
      .to(x.scalar_type());
}

// Inputs: x, weight, offsets of each position of a window, bias?, factors of those positions?.
Kernel make_deform_conv(const KernelRequest& request) {
  const WindowAttributes attributes = window_attributes(request.instruction);
  const std::int64_t groups = groups_of(request.instruction);
  const std::int64_t offset_groups = count_attribute(request.instruction, "offset_group", 1);
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Tensor& weight = tensor_at(in, 1);
    if (x.dim() != 4) refuse_attribute("kernel_shape", "not of two dimensions");
    const Windows w = windows_over(attributes, weight.sizes().slice(2).vec(), x.sizes().slice(2));
    const std::int64_t batch = x.size(0), height = w.counts[0], width = w.counts[1];
    const std::int64_t positions = w.kernel[0] * w.kernel[1];
    // [batch, offset groups, positions, row and column, height, width]
    const Tensor offsets =
        tensor_at(in, 2).reshape({batch, offset_groups, positions, 2, height, width});
    const auto begins = [&](std::size_t i) {
      return at::sub(at::mul(at::arange(w.counts[i], x.options()), w.strides[i]), w.before[i]);
    };
    const Tensor row = begins(0).reshape({1, -1, 1}), column = begins(1).reshape({1, 1, -1});
    const std::int64_t channels =
        shared_out(x.size(1), "channels", offset_groups, "groups of offsets");
    std::vector<Tensor> taken;
    for (std::int64_t g = 0; g < offset_groups; ++g) {
      std::vector<Tensor> at_positions;
      for (std::int64_t p = 0; p < positions; ++p) {
        const Tensor offset = offsets.select(1, g).select(1, p);
        Tensor part = sampled(
            x.narrow(1, g * channels, channels),
            at::add(at::add(row, p / w.kernel[1] * w.dilations[0]), offset.select(1, 0)),
            at::add(at::add(column, p % w.kernel[1] * w.dilations[1]), offset.select(1, 1)));
        if (has(in, 4)) {
          const Tensor factors =
              tensor_at(in, 4).reshape({batch, offset_groups, positions, height, width});
          part = at::mul(part, factors.select(1, g).select(1, p).unsqueeze(1));
        }
        at_positions.push_back(part);
      }
      taken.push_back(at::stack(at_positions, 2));
    }
    const std::int64_t read = shared_out(x.size(1), "channels", groups, "groups");
    const std::int64_t made = shared_out(weight.size(0), "filters", groups, "groups");
    // [batch, groups, what one output sums, height * width]
    const Tensor columns =
        at::cat(taken, 1).reshape({batch, groups, read * positions, height * width});
    const Tensor sums = at::matmul(weight.reshape({1, groups, made, read * positions}), columns)
                            .reshape({batch, weight.size(0), height, width});
    out[0].tensor = has(in, 3) ? at::add(sums, tensor_at(in, 3).reshape({1, -1, 1, 1})) : sums;
  });
}

// Inputs: those of Conv, then a summand?.
Kernel make_fused_conv(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  Activation activation = activation_named(text_attribute(op, "activation", "Relu"));
  if (const auto* const given = op.attribute<std::vector<double>>("activation_params")) {
    if (!given->empty()) activation.alpha = given->front();
    if (given->size() > 1) activation.beta = (*given)[1];
  }
  return [conv = make_conv(request), activation](KernelContext& context, Inputs in, Outputs out) {
    conv(context, in, out);
    Tensor& y = out[0].tensor;
    y = activation(has(in, 3) ? at::add(y, tensor_at(in, 3)) : y);
  };
}

constexpr KernelRow kRows[] = {
    {"Col2Im", make_col2im},
    {"Conv", make_conv},
    {"ConvTranspose", make_conv_transpose},
    {"DeformConv", make_deform_conv},
    {"com.microsoft.FusedConv", make_fused_conv},
};

}  // namespace

std::span<const KernelRow> convolution_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
