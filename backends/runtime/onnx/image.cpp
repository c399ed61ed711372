// Ops on images and on boxes in them.
#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "berth/error.h"
#include "runtime/integers.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"

namespace berth::runtime::onnx {
namespace {

/// A grid whose points lie on the nearest voxels, ties to even, as ONNX says and as at::grid_sampler rounds
/// in images, but not in volumes.
Tensor rounded_grid(const Tensor& x, const Tensor& grid, bool align) {
  std::vector<double> sizes;
  for (std::int64_t axis = x.dim() - 1; axis >= 2; --axis) {
    sizes.push_back(static_cast<double>(x.size(axis)));
  }
  const Tensor size = at::tensor(sizes, at::kDouble).to(grid.options());
  // In voxels: (p + 1) / 2 * (size - 1), or ((p + 1) * size - 1) / 2.
  const Tensor scale = align ? at::clamp_min(at::sub(size, 1), 1) : size;
  const Tensor shift = align ? at::zeros_like(size) : at::full_like(size, 0.5);
  const Tensor voxel = at::round(at::sub(at::mul(at::add(grid, 1), at::div(scale, 2)), shift));
  return at::sub(at::div(at::mul(at::add(voxel, shift), 2), scale), 1);
}

Kernel make_grid_sample(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const std::string mode = text_attribute(op, "mode", op.version < 20 ? "bilinear" : "linear");
  const std::string padding = text_attribute(op, "padding_mode", "zeros");
  const bool align = int_attribute(op, "align_corners", 0) != 0;
  const std::int64_t interpolation = mode == "nearest"                        ? 1
                                     : mode == "bicubic" || mode == "cubic"   ? 2
                                     : mode == "bilinear" || mode == "linear" ? 0
                                                                              : -1;
  const std::int64_t outside = padding == "zeros"        ? 0
                               : padding == "border"     ? 1
                               : padding == "reflection" ? 2
                                                         : -1;
  if (interpolation < 0) refuse_attribute("mode", mode);
  if (outside < 0) refuse_attribute("padding_mode", padding);
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const bool rounds = interpolation == 1 && x.dim() == 5;
    const Tensor grid = rounds ? rounded_grid(x, tensor_at(in, 1), align) : tensor_at(in, 1);
    out[0].tensor = at::grid_sampler(x, grid, interpolation, outside, align);
  });
}

// Opset 1: scales all, and adds a bias to each channel.
Kernel make_image_scaler(const KernelRequest& request) {
  const double scale = float_attribute(request.instruction, "scale", 1);
  const auto* const stated = request.instruction.attribute<std::vector<double>>("bias");
  const Tensor bias = at::tensor(stated != nullptr ? *stated : std::vector<double>{0.0}, at::kFloat)
                          .reshape({1, -1, 1, 1});
  return widened([scale, bias](KernelContext& context, Inputs in, Outputs out) {
    out[0].tensor = at::add(at::mul(tensor_at(in, 0), scale), bias.to(context.device));
  });
}

// Opset 1: takes `border` (left, top, right, bottom) away, or all but `scale` (height, width).
Kernel make_crop(const KernelRequest& request) {
  const Ints border = ints_attribute(request.instruction, "border").value_or(Ints{});
  const Ints scale = ints_attribute(request.instruction, "scale").value_or(Ints{});
  if (border.size() != 4) refuse_attribute("border", "not four numbers");
  return [border, scale](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const std::int64_t height = scale.size() == 2 ? scale[0] : x.size(2) - border[1] - border[3];
    const std::int64_t width = scale.size() == 2 ? scale[1] : x.size(3) - border[0] - border[2];
    out[0].tensor = x.narrow(2, border[1], height).narrow(3, border[0], width);
  };
}

// --- regions -------------------------------------------------------------------------------------

struct RoiOptions {
  bool is_max = false;
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t ratio = 0;
  double scale = 1;
  bool half_pixel = true;
};

// Weights and places of samples along one axis of a region.
struct Samples {
  Tensor low, high, share;  // share: of `high`
  Tensor inside;
};

Samples samples_of(double start, double bin, std::int64_t bins, std::int64_t per_bin,
                   std::int64_t length, const Tensor& like) {
  // ATen's memory says so where there is not enough.
  const Tensor low = at::empty({bins, per_bin}, at::kLong), high = at::empty_like(low);
  const Tensor share = at::empty({bins, per_bin}, at::kDouble), inside = at::empty_like(share);
  for (std::int64_t i = 0; i < low.numel(); ++i) {
    double at = start + (static_cast<double>(i / per_bin) +
                         (static_cast<double>(i % per_bin) + 0.5) / static_cast<double>(per_bin)) *
                            bin;
    inside.data_ptr<double>()[i] = at >= -1 && at <= static_cast<double>(length) ? 1 : 0;
    at = std::clamp(at, 0.0, static_cast<double>(length - 1));
    const auto below = static_cast<std::int64_t>(at);
    low.data_ptr<std::int64_t>()[i] = below;
    high.data_ptr<std::int64_t>()[i] = std::min(below + 1, length - 1);
    share.data_ptr<double>()[i] = at - static_cast<double>(below);
  }
  const auto given = [&](const Tensor& numbers, const at::TensorOptions& options) {
    return numbers.reshape({-1}).to(options);
  };
  const at::TensorOptions whole = like.options().dtype(at::kLong);
  return {given(low, whole), given(high, whole), given(share, like.options()),
          given(inside, like.options())};
}

/// Interpolates. With `corners`, what the lower and the higher neighbour add to a sample stay apart, one
/// after the other.
Tensor sample(const Tensor& x, std::int64_t axis, const Samples& samples, bool corners) {
  Ints shape(static_cast<std::size_t>(x.dim()), 1);
  shape[static_cast<std::size_t>(axis)] = -1;
  const Tensor low = at::index_select(x, axis, samples.low);
  const Tensor high = at::index_select(x, axis, samples.high);
  const Tensor share = samples.share.reshape(shape);
  const Tensor inside = samples.inside.reshape(shape);
  if (!corners) return at::mul(at::lerp(low, high, share), inside);
  const Tensor both = at::stack({at::mul(low, at::rsub(share, 1)), at::mul(high, share)}, axis + 1);
  return at::mul(both.flatten(axis, axis + 1), at::repeat_interleave(inside, 2, axis));
}

// `roi`: x1, y1, x2, y2.
Tensor align_roi(const Tensor& image, const double* roi, const RoiOptions& options) {
  const double offset = options.half_pixel ? 0.5 : 0;
  const double left = roi[0] * options.scale - offset, top = roi[1] * options.scale - offset;
  double width = roi[2] * options.scale - offset - left;
  double height = roi[3] * options.scale - offset - top;
  if (!options.half_pixel) {
    width = std::max(width, 1.0);
    height = std::max(height, 1.0);
  }
  const double bin_height = height / static_cast<double>(options.height);
  const double bin_width = width / static_cast<double>(options.width);
  const auto per_bin = [&](double bin) {
    if (options.ratio > 0) return options.ratio;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(bin)));
  };
  const std::int64_t rows = per_bin(bin_height), columns = per_bin(bin_width);
  const Samples down = samples_of(top, bin_height, options.height, rows, image.size(1), image);
  const Samples across = samples_of(left, bin_width, options.width, columns, image.size(2), image);
  // "max" is of the four weighted neighbours of all samples, not of the samples: so say ONNX's reference and
  // its tests, and so does ONNX Runtime.
  const Tensor sampled = sample(sample(image, 1, down, options.is_max), 2, across, options.is_max)
                             .reshape({image.size(0), options.height, -1, options.width,
                                       options.is_max ? 2 * columns : columns});
  return options.is_max ? at::amax(sampled, {2, 4}) : at::mean(sampled, {2, 4});
}

Kernel make_roi_align(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  RoiOptions options;
  const std::string mode = text_attribute(op, "mode", "avg");
  if (mode != "avg" && mode != "max") refuse_attribute("mode", mode);
  options.is_max = mode == "max";
  options.height = int_attribute(op, "output_height", 1);
  options.width = int_attribute(op, "output_width", 1);
  options.ratio = int_attribute(op, "sampling_ratio", 0);
  options.scale = float_attribute(op, "spatial_scale", 1);
  options.half_pixel =
      text_attribute(op, "coordinate_transformation_mode",
                     op.version < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel";
  return widened([options](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const std::vector<double> rois = numbers_of(tensor_at(in, 1));
    const Tensor images = tensor_at(in, 2).cpu();
    check_within(images, 0, x.size(0) - 1, "batch index");
    const Ints batches = ints_of(images);
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      results.push_back(align_roi(x.select(0, batches[i]), &rois.at(4 * i + 3) - 3, options));
    }
    out[0].tensor = results.empty()
                        ? at::empty({0, x.size(1), options.height, options.width}, x.options())
                        : at::stack(results);
  });
}

// --- boxes ---------------------------------------------------------------------------------------

struct Box {
  double top, left, bottom, right;
};

Box box_at(const double* numbers, bool by_centre) {
  if (by_centre) {  // x, y, width, height
    return {numbers[1] - numbers[3] / 2, numbers[0] - numbers[2] / 2, numbers[1] + numbers[3] / 2,
            numbers[0] + numbers[2] / 2};
  }
  return {std::min(numbers[0], numbers[2]), std::min(numbers[1], numbers[3]),
          std::max(numbers[0], numbers[2]), std::max(numbers[1], numbers[3])};
}

double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  const double both = (a.bottom - a.top) * (a.right - a.left) +
                      (b.bottom - b.top) * (b.right - b.left) - height * width;
  return both > 0 ? height * width / both : 0;
}

// The boxes to keep of one class, best first.
std::vector<std::size_t> kept_boxes(const std::vector<Box>& boxes, const double* scores,
                                    std::int64_t limit, double max_overlap,
                                    std::optional<double> least_score) {
  std::vector<std::size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::vector<std::size_t> kept;
  for (const std::size_t candidate : order) {
    if (static_cast<std::int64_t>(kept.size()) >= limit) break;
    if (least_score && scores[candidate] <= *least_score) break;
    const bool is_free = std::none_of(kept.begin(), kept.end(), [&](std::size_t k) {
      return overlap(boxes[k], boxes[candidate]) > max_overlap;
    });
    if (is_free) kept.push_back(candidate);
  }
  return kept;
}

// Boxes [batch, boxes, 4], scores [batch, classes, boxes]. Each choice depends on those before it,
// so that it is made on the host.
Kernel make_non_max_suppression(const KernelRequest& request) {
  const bool by_centre = int_attribute(request.instruction, "center_point_box", 0) != 0;
  return [by_centre](KernelContext& context, Inputs in, Outputs out) {
    const std::vector<double> numbers = numbers_of(tensor_at(in, 0));
    const std::vector<double> scores = numbers_of(tensor_at(in, 1));
    const std::int64_t limit = has(in, 2) ? ints_of(tensor_at(in, 2)).at(0) : 0;
    const double max_overlap = has(in, 3) ? numbers_of(tensor_at(in, 3)).at(0) : 0;
    std::optional<double> least_score;
    if (has(in, 4)) least_score = numbers_of(tensor_at(in, 4)).at(0);
    const std::int64_t batches = tensor_at(in, 1).size(0);
    const std::int64_t classes = tensor_at(in, 1).size(1);
    const auto count = static_cast<std::size_t>(tensor_at(in, 1).size(2));
    Ints chosen;
    for (std::int64_t b = 0; b < batches; ++b) {
      std::vector<Box> boxes;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t from = (static_cast<std::size_t>(b) * count + i) * 4;
        boxes.push_back(box_at(&numbers.at(from + 3) - 3, by_centre));
      }
      for (std::int64_t c = 0; c < classes; ++c) {
        const auto row = static_cast<std::size_t>(b * classes + c);
        for (const std::size_t box :
             kept_boxes(boxes, scores.data() + row * count, limit, max_overlap, least_score)) {
          chosen.insert(chosen.end(), {b, c, static_cast<std::int64_t>(box)});
        }
      }
    }
    out[0].tensor = at::tensor(chosen, at::kLong).reshape({-1, 3}).to(context.device);
  };
}

// Inputs: matrices [batch, 2, 3] or [batch, 3, 4], the sizes of the images.
Kernel make_affine_grid(const KernelRequest& request) {
  const bool corners = int_attribute(request.instruction, "align_corners", 0) != 0;
  const IntsOperand size(request, "", 1);
  return widened([corners, size](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = at::affine_grid_generator(tensor_at(in, 0), size.need(in), corners);
  });
}

constexpr KernelRow kRows[] = {
    {"AffineGrid", make_affine_grid},
    {"Crop", make_crop},
    {"GridSample", make_grid_sample},
    {"ImageScaler", make_image_scaler},
    {"NonMaxSuppression", make_non_max_suppression},
    {"RoiAlign", make_roi_align},
};

}  // namespace

std::span<const KernelRow> image_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
