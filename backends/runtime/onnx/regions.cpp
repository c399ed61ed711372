// Ops on boxes in images.
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "runtime/every_machine.h"
#include "runtime/integers.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"
#include "runtime/parallel.h"

namespace berth::runtime::onnx {
namespace {

// --- regions -------------------------------------------------------------------------------------

struct RoiOptions {
  bool is_max = false;
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t ratio = 0;
  double scale = 1;
  bool half_pixel = true;
};

// Weights and places of samples along one axis of a region: [bins, samples of a bin].
struct Samples {
  Tensor low, high, share;  // share: of `high`
  Tensor inside;

  [[nodiscard]] Samples on(const Tensor& image) const {
    const auto given = [&](const Tensor& numbers, const at::TensorOptions& options) {
      return numbers.reshape({-1}).to(options);
    };
    const at::TensorOptions whole = image.options().dtype(at::kLong);
    return {given(low, whole), given(high, whole), given(share, image.options()),
            given(inside, image.options())};
  }
};

Samples samples_of(double start, double bin, std::int64_t bins, std::int64_t per_bin,
                   std::int64_t length) {
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
  return {low, high, share, inside};
}

struct Region {
  Samples down, across;
};

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

// `roi`: x1, y1, x2, y2, in an image of this height and width.
Region region_of(const double* roi, std::int64_t image_height, std::int64_t image_width,
                 const RoiOptions& options) {
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
  return {samples_of(top, bin_height, options.height, per_bin(bin_height), image_height),
          samples_of(left, bin_width, options.width, per_bin(bin_width), image_width)};
}

// "max" is of the four weighted neighbours of all samples, not of the samples: so say ONNX's reference and
// its tests, and so does ONNX Runtime.
Tensor align_on_device(const Tensor& image, const Region& region, const RoiOptions& options) {
  const std::int64_t columns = region.across.low.size(1);
  const Tensor by_row = sample(image, 1, region.down.on(image), options.is_max);
  const Tensor sampled = sample(by_row, 2, region.across.on(image), options.is_max)
                             .reshape({image.size(0), options.height, -1, options.width,
                                       options.is_max ? 2 * columns : columns});
  return options.is_max ? at::amax(sampled, {2, 4}) : at::mean(sampled, {2, 4});
}

// Places that a bin reads along an axis, and their weights.
template <class T>
struct Taps {
  struct Tap {
    std::int64_t place;
    T weight;
  };
  std::vector<Tap> taps;
  std::vector<std::size_t> ends;      // by bin
  std::int64_t first = 0, count = 0;  // of all places

  [[nodiscard]] std::span<const Tap> of(std::size_t bin) const {
    const std::size_t begin = bin == 0 ? 0 : ends[bin - 1];
    return std::span(taps).subspan(begin, ends[bin] - begin);
  }
  void add(std::int64_t place, double weight, bool joined) {
    const std::size_t begin = ends.empty() ? 0 : ends.back();
    for (std::size_t i = taps.size(); joined && i > begin && i + 2 > taps.size(); --i) {
      if (taps[i - 1].place != place) continue;
      taps[i - 1].weight += static_cast<T>(weight);
      return;
    }
    taps.push_back({place, static_cast<T>(weight)});
  }
};

/// `mean`: weights are divided by the number of samples, and neighbours that samples share are joined.
template <class T>
Taps<T> taps_of(const Samples& samples, bool mean) {
  Taps<T> made;
  const std::int64_t bins = samples.low.size(0), per_bin = samples.low.size(1);
  const double divisor = mean ? static_cast<double>(per_bin) : 1;
  const auto* const low = samples.low.data_ptr<std::int64_t>();
  const auto* const high = samples.high.data_ptr<std::int64_t>();
  const auto* const share = samples.share.data_ptr<double>();
  const auto* const inside = samples.inside.data_ptr<double>();
  for (std::int64_t i = 0; i < bins * per_bin; ++i) {
    made.add(low[i], (1 - share[i]) * inside[i] / divisor, mean);
    made.add(high[i], share[i] * inside[i] / divisor, mean);
    if ((i + 1) % per_bin == 0) made.ends.push_back(made.taps.size());
  }
  const auto [least, most] =
      std::minmax_element(made.taps.begin(), made.taps.end(),
                          [](const auto& a, const auto& b) { return a.place < b.place; });
  made.first = least->place;
  made.count = most->place - least->place + 1;
  return made;
}

BERTH_EVERY_MACHINE void add_scaled(const float* x, float factor, std::int64_t count, float* sums) {
  for (std::int64_t i = 0; i < count; ++i) sums[i] += factor * x[i];
}
BERTH_EVERY_MACHINE void add_scaled(const double* x, double factor, std::int64_t count,
                                    double* sums) {
  for (std::int64_t i = 0; i < count; ++i) sums[i] += factor * x[i];
}

/// A row of bins at a time: the rows that it reads are added up first.
template <class T>
void average(const T* plane, std::int64_t width, const Taps<T>& down, const Taps<T>& across,
             std::vector<T>& sums, T* to) {
  for (std::size_t row = 0; row < down.ends.size(); ++row) {
    sums.assign(static_cast<std::size_t>(across.count), 0);
    for (const auto& tap : down.of(row)) {
      add_scaled(plane + tap.place * width + across.first, tap.weight, across.count, sums.data());
    }
    for (std::size_t column = 0; column < across.ends.size(); ++column) {
      T sum = 0;
      for (const auto& tap : across.of(column)) {
        sum += tap.weight * sums[static_cast<std::size_t>(tap.place - across.first)];
      }
      *to++ = sum;
    }
  }
}

template <class T>
void maximum(const T* plane, std::int64_t width, const Taps<T>& down, const Taps<T>& across,
             T* to) {
  for (std::size_t row = 0; row < down.ends.size(); ++row) {
    for (std::size_t column = 0; column < across.ends.size(); ++column) {
      T most = -std::numeric_limits<T>::infinity();
      for (const auto& y : down.of(row)) {
        for (const auto& x : across.of(column)) {
          most = std::max(most, plane[y.place * width + x.place] * y.weight * x.weight);
        }
      }
      *to++ = most;
    }
  }
}

/// On a CPU, where ATen's calls for a box would take longer than its pixels. `batches`: the image of each region.
template <class T>
Tensor align_on_host(const Tensor& x, const std::vector<double>& rois, const Ints& batches,
                     const RoiOptions& options) {
  const Tensor images = x.contiguous();
  const auto count = static_cast<std::int64_t>(batches.size());
  const std::int64_t channels = x.size(1), height = x.size(2), width = x.size(3);
  const std::int64_t bins = options.height * options.width;
  const Tensor y = at::empty({count, channels, options.height, options.width}, x.options());
  const T* const from = images.template data_ptr<T>();
  T* const to = y.template data_ptr<T>();
  in_parallel(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> sums;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto at_roi = static_cast<std::size_t>(i);
      const Region region = region_of(&rois.at(4 * at_roi + 3) - 3, height, width, options);
      const Taps<T> down = taps_of<T>(region.down, !options.is_max);
      const Taps<T> across = taps_of<T>(region.across, !options.is_max);
      for (std::int64_t c = 0; c < channels; ++c) {
        const T* const plane = from + (batches[at_roi] * channels + c) * height * width;
        T* const out = to + (i * channels + c) * bins;
        options.is_max ? maximum(plane, width, down, across, out)
                       : average(plane, width, down, across, sums, out);
      }
    }
  });
  return y;
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
    if (x.is_cpu()) {
      out[0].tensor = AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "RoiAlign", [&] {
        return align_on_host<scalar_t>(x, rois, batches, options);
      });
      return;
    }
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const Region region = region_of(&rois.at(4 * i + 3) - 3, x.size(2), x.size(3), options);
      results.push_back(align_on_device(x.select(0, batches[i]), region, options));
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
std::vector<std::size_t> kept_boxes(const std::vector<Box>& boxes, const float* scores,
                                    std::int64_t limit, double max_overlap,
                                    std::optional<float> least_score) {
  std::vector<std::size_t> order, kept;
  if (limit <= 0) return kept;
  // Most boxes of most classes score too low.
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!least_score || scores[i] > *least_score) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  for (const std::size_t candidate : order) {
    if (static_cast<std::int64_t>(kept.size()) >= limit) break;
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
    const Tensor scores = tensor_at(in, 1).to(at::kCPU, at::kFloat).contiguous();
    const std::int64_t limit = has(in, 2) ? ints_of(tensor_at(in, 2)).at(0) : 0;
    const double max_overlap = has(in, 3) ? numbers_of(tensor_at(in, 3)).at(0) : 0;
    std::optional<float> least_score;
    if (has(in, 4)) least_score = static_cast<float>(numbers_of(tensor_at(in, 4)).at(0));
    const std::int64_t batches = tensor_at(in, 1).size(0);
    const std::int64_t classes = tensor_at(in, 1).size(1);
    const auto count = static_cast<std::size_t>(tensor_at(in, 1).size(2));
    Ints chosen;
    for (std::int64_t b = 0; b < batches; ++b) {
      std::vector<Box> boxes;
      boxes.reserve(count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t from = (static_cast<std::size_t>(b) * count + i) * 4;
        boxes.push_back(box_at(&numbers.at(from + 3) - 3, by_centre));
      }
      for (std::int64_t c = 0; c < classes; ++c) {
        const auto row = static_cast<std::size_t>(b * classes + c);
        for (const std::size_t box : kept_boxes(boxes, scores.data_ptr<float>() + row * count,
                                                limit, max_overlap, least_score)) {
          chosen.insert(chosen.end(), {b, c, static_cast<std::int64_t>(box)});
        }
      }
    }
    out[0].tensor = at::tensor(chosen, at::kLong).reshape({-1, 3}).to(context.device);
  };
}

constexpr KernelRow kRows[] = {
    {"NonMaxSuppression", make_non_max_suppression},
    {"RoiAlign", make_roi_align},
};

}  // namespace

std::span<const KernelRow> region_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
