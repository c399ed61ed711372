// Poolings.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "berth/error.h"
#include "runtime/empty.h"
#include "runtime/every_machine.h"
#include "runtime/layouts.h"
#include "runtime/onnx/planes.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"
#include "runtime/onnx/windows.h"
#include "runtime/vector_math.h"

namespace berth::runtime::onnx {
namespace {

Ints sum_of(Ints a, const Ints& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

// ATen pools two or three dimensions by all its options: a single one gets another of size 1.
struct Plane {
  Tensor x;
  Windows windows;
  bool was_line = false;
  [[nodiscard]] Tensor back(const Tensor& y) const { return was_line ? y.squeeze(2) : y; }
};

Plane plane_of(const Tensor& x, Windows windows) {
  if (x.dim() < 3 || x.dim() > 5) {
    throw Error(ErrorCode::invalid_argument, "pooling takes 1 to 3 spatial dimensions");
  }
  if (x.dim() > 3) return {x, std::move(windows), false};
  for (auto* const sizes :
       {&windows.kernel, &windows.strides, &windows.dilations, &windows.counts}) {
    sizes->insert(sizes->begin(), 1);
  }
  for (auto* const pads : {&windows.before, &windows.after, &windows.beyond}) {
    pads->insert(pads->begin(), 0);
  }
  return {x.unsqueeze(2), std::move(windows), true};
}

// Whether ATen's own padding does: it is symmetric and at most half the kernel.
bool has_plain_padding(const Windows& windows) {
  for (std::size_t i = 0; i < windows.before.size(); ++i) {
    if (windows.beyond[i] != 0 || 2 * windows.before[i] > windows.kernel[i]) return false;
  }
  return windows.symmetric();
}

// ATen's poolings of planes are vectorised across channels alone, where those are innermost. Turning other input and
// its result around takes a fifth of what this saves.
bool vectorises(const Tensor& x) {
  constexpr std::int64_t kChannels = 8;  // one vector of them
  return prefers_channels_innermost(x) && x.size(1) >= kChannels;
}
template <class Pooling>
Tensor pooled(const Tensor& x, const Pooling& pooling) {
  if (!vectorises(x)) return pooling(x);
  return pooling(x.contiguous(at::MemoryFormat::ChannelsLast))
      .contiguous(x.suggest_memory_format());
}

BERTH_EVERY_MACHINE void raise(float* largest, const float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const bool is_nan = values[i] != values[i];
    largest[i] = values[i] > largest[i] || is_nan ? values[i] : largest[i];
  }
}

// The largest in each window, of images with their channels innermost, by one thread. ATen's own notes where each was,
// and reads padding that is not plain from a copy: on one thread twice the time, or more.
Tensor largest_in_windows(const Tensor& images, const Windows& w) {
  const Tensor x = images.contiguous(at::MemoryFormat::ChannelsLast);
  const std::int64_t channels = x.size(1), rows = x.size(2), columns = x.size(3);
  const Tensor y = at::empty({x.size(0), channels, w.counts[0], w.counts[1]}, x.options(),
                             at::MemoryFormat::ChannelsLast);
  const float* const from = x.data_ptr<float>();
  float* const to = y.data_ptr<float>();
  const auto fill_window = [&](float* out, std::int64_t image, std::int64_t row,
                               std::int64_t column) {
    std::fill_n(out, channels, -std::numeric_limits<float>::infinity());
    for (std::int64_t i = 0; i < w.kernel[0]; ++i) {
      const std::int64_t r = row * w.strides[0] - w.before[0] + i * w.dilations[0];
      if (r < 0 || r >= rows) continue;
      for (std::int64_t j = 0; j < w.kernel[1]; ++j) {
        const std::int64_t c = column * w.strides[1] - w.before[1] + j * w.dilations[1];
        if (c >= 0 && c < columns) {
          raise(out, from + ((image * rows + r) * columns + c) * channels, channels);
        }
      }
    }
  };
  for (std::int64_t row = 0; row < x.size(0) * w.counts[0]; ++row) {
    for (std::int64_t column = 0; column < w.counts[1]; ++column) {
      fill_window(to + (row * w.counts[1] + column) * channels, row / w.counts[0],
                  row % w.counts[0], column);
    }
  }
  return y.contiguous(images.suggest_memory_format());
}

// Flat indices into the whole input (as ONNX counts), of flat indices into padded planes.
Tensor input_indices(const Tensor& indices, const Tensor& x, at::IntArrayRef padded,
                     const Ints& before, bool column_major) {
  const at::IntArrayRef sizes = x.sizes().slice(2);
  const std::size_t rank = sizes.size();
  Tensor rest = indices;
  Tensor flat = at::zeros_like(indices);
  std::int64_t row_stride = 1;
  std::int64_t plane = 1;
  for (const std::int64_t size : sizes) plane *= size;
  std::int64_t column_stride = plane;
  for (std::size_t i = rank; i > 0; --i) {
    const Tensor at_axis = at::sub(at::remainder(rest, padded[i - 1]), before[i - 1]);
    rest = at::div(rest, padded[i - 1], "floor");
    column_stride /= sizes[i - 1];
    flat = at::add(flat, at_axis, column_major ? column_stride : row_stride);
    row_stride *= sizes[i - 1];
  }
  Ints shape(static_cast<std::size_t>(indices.dim()), 1);
  shape[0] = x.size(0);
  shape[1] = x.size(1);
  const Tensor planes = at::arange(x.size(0) * x.size(1), indices.options()).reshape(shape);
  return at::add(flat, planes, plane);
}

Kernel make_max_pool(const KernelRequest& request) {
  const WindowAttributes attributes = window_attributes(request.instruction);
  const bool column_major = int_attribute(request.instruction, "storage_order", 0) != 0;
  return widened([attributes, column_major](KernelContext&, Inputs in, Outputs out) {
    const Tensor& given = tensor_at(in, 0);
    const at::ScalarType type = given.scalar_type();
    const Tensor x = at::isFloatingType(type) ? given : given.to(at::kFloat);
    const Plane plane =
        plane_of(x, windows_over(attributes, attributes.kernel, x.sizes().slice(2)));
    const Windows& w = plane.windows;
    if (out.size() < 2 && at::get_num_threads() == 1 && vectorises(plane.x)) {
      out[0].tensor = plane.back(largest_in_windows(plane.x, w)).to(type);
      return;
    }
    const bool is_plain = has_plain_padding(w);
    const Tensor padded =
        is_plain ? plane.x
                 : runtime::padded(plane.x, as_paddings(w.before, sum_of(w.after, w.beyond)),
                                   -std::numeric_limits<double>::infinity());
    const Ints pads = is_plain ? w.before : Ints(w.before.size(), 0);
    const bool flat = padded.dim() == 4;
    if (out.size() < 2) {
      const Tensor y = pooled(padded, [&](const Tensor& planes) {
        return flat ? at::max_pool2d(planes, w.kernel, w.strides, pads, w.dilations)
                    : at::max_pool3d(planes, w.kernel, w.strides, pads, w.dilations);
      });
      out[0].tensor = plane.back(y).to(type);
      return;
    }
    const auto [y, indices] =
        flat ? at::max_pool2d_with_indices(padded, w.kernel, w.strides, pads, w.dilations)
             : at::max_pool3d_with_indices(padded, w.kernel, w.strides, pads, w.dilations);
    out[0].tensor = plane.back(y).to(type);
    const Ints before = is_plain ? Ints(w.before.size(), 0) : w.before;
    out[1].tensor =
        plane.back(input_indices(indices, plane.x, padded.sizes().slice(2), before, column_major));
  });
}

bool is_dilated(const Windows& w) {
  return std::any_of(w.dilations.begin(), w.dilations.end(),
                     [](std::int64_t dilation) { return dilation != 1; });
}

// ATen's average pooling has no dilation; its convolution has.
Tensor dilated_sums(const Tensor& x, const Windows& w, const Ints& pads) {
  Ints planes(x.sizes().begin(), x.sizes().end());
  planes[0] *= planes[1];
  planes[1] = 1;
  Ints window{1, 1};
  window.insert(window.end(), w.kernel.begin(), w.kernel.end());
  const Tensor sums =
      at::convolution(x.reshape(planes), at::ones(window, x.options()), {}, w.strides, pads,
                      w.dilations, false, Ints(w.kernel.size(), 0), 1);
  Ints shape(sums.sizes().begin(), sums.sizes().end());
  shape[0] = x.size(0);
  shape[1] = x.size(1);
  return sums.reshape(shape);
}

// Sums over windows; what is padded counts as 0.
Tensor window_sums(const Tensor& x, const Windows& w, const Ints& pads) {
  if (is_dilated(w)) return dilated_sums(x, w, pads);
  const bool flat = x.dim() == 4;
  return pooled(x, [&](const Tensor& planes) {
    return flat ? at::avg_pool2d(planes, w.kernel, w.strides, pads, false, true, 1)
                : at::avg_pool3d(planes, w.kernel, w.strides, pads, false, true, 1);
  });
}

Tensor padded_sums(const Tensor& x, const Windows& w) {
  const Tensor padded = runtime::padded(x, as_paddings(w.before, sum_of(w.after, w.beyond)));
  return window_sums(padded, w, Ints(w.before.size(), 0));
}

Tensor average(const Plane& plane, bool count_pads) {
  const Windows& w = plane.windows;
  const Tensor& x = plane.x;
  if (has_plain_padding(w) && !is_dilated(w)) {
    return pooled(x, [&](const Tensor& planes) {
      return x.dim() == 4
                 ? at::avg_pool2d(planes, w.kernel, w.strides, w.before, false, count_pads)
                 : at::avg_pool3d(planes, w.kernel, w.strides, w.before, false, count_pads);
    });
  }
  Ints ones(x.sizes().begin(), x.sizes().end());
  ones[0] = ones[1] = 1;
  Tensor counted = at::ones(ones, x.options());
  Windows counting = w;
  if (count_pads) {  // the padding that was asked for counts, what is beyond it does not
    counted = runtime::padded(counted, as_paddings(w.before, w.after), 1);
    counting.before.assign(w.before.size(), 0);
    counting.after = counting.before;
  }
  return at::div(padded_sums(x, w), padded_sums(counted, counting));
}

Kernel make_average_pool(const KernelRequest& request) {
  const WindowAttributes attributes = window_attributes(request.instruction);
  const bool count_pads = int_attribute(request.instruction, "count_include_pad", 0) != 0;
  return widened([attributes, count_pads](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Plane plane =
        plane_of(x, windows_over(attributes, attributes.kernel, x.sizes().slice(2)));
    out[0].tensor = plane.back(average(plane, count_pads));
  });
}

Kernel make_lp_pool(const KernelRequest& request) {
  const WindowAttributes attributes = window_attributes(request.instruction);
  const double p = static_cast<double>(int_attribute(request.instruction, "p", 2));
  return widened([attributes, p](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Plane plane = plane_of(at::pow(at::abs(x), p),
                                 windows_over(attributes, attributes.kernel, x.sizes().slice(2)));
    out[0].tensor = at::pow(plane.back(padded_sums(plane.x, plane.windows)), 1 / p);
  });
}

Ints spatial_axes(const Tensor& x) {
  Ints axes(static_cast<std::size_t>(std::max<std::int64_t>(x.dim() - 2, 0)));
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

Kernel make_global_lp_pool(const KernelRequest& request) {
  const double p = static_cast<double>(int_attribute(request.instruction, "p", 2));
  return widened([p](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    out[0].tensor =
        at::pow(at::sum(at::pow(at::abs(x), p), spatial_axes(x), /*keepdim=*/true), 1 / p);
  });
}

// Indices count within the shape that the attributes give; a larger stated one adds zeros.
Kernel make_max_unpool(const KernelRequest& request) {
  const WindowAttributes attributes = window_attributes(request.instruction);
  const IntsOperand shape_operand(request, "", 2);
  return [attributes, shape_operand](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const std::size_t rank = attributes.kernel.size();
    Ints strides = attributes.strides, pads = attributes.pads;
    strides.resize(rank, 1);
    pads.resize(2 * rank, 0);
    Ints shape = x.sizes().slice(0, 2).vec();
    for (std::size_t i = 0; i < rank; ++i) {
      shape.push_back((x.size(static_cast<std::int64_t>(i) + 2) - 1) * strides[i] +
                      attributes.kernel[i] - pads[i] - pads[i + rank]);
    }
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    Tensor y = at::scatter(at::zeros({count}, x.options()), 0, tensor_at(in, 1).reshape({-1}),
                           x.reshape({-1}))
                   .reshape(shape);
    if (const auto stated = shape_operand.get(in)) {
      Ints before(rank, 0), after;
      for (std::size_t i = 0; i < rank; ++i) after.push_back(stated->at(i + 2) - shape[i + 2]);
      y = runtime::padded(y, as_paddings(before, after));
    }
    out[0].tensor = y;
  };
}

constexpr KernelRow kRows[] = {
    {"AveragePool", make_average_pool},
    {"GlobalAveragePool", make_unary<global_average>},
    {"GlobalLpPool", make_global_lp_pool},
    {"GlobalMaxPool",
     make_unary<[](const Tensor& x) { return at::amax(x, spatial_axes(x), true); }>},
    {"LpPool", make_lp_pool},
    {"MaxPool", make_max_pool},
    {"MaxUnpool", make_max_unpool},
};

}  // namespace

std::span<const KernelRow> pooling_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
