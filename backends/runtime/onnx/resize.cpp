// Resizing by interpolation, one axis after the other.
#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "berth/error.h"
#include "berth/sdk/ops/lengths.h"
#include "berth/support/text.h"
#include "runtime/onnx/planes.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"

namespace berth::runtime::onnx {
namespace {

// Before opset 11, as ONNX Runtime does: down where there are more elements than before, and up where fewer.
constexpr const char* kTowardsMore = "";

struct ResizeOptions {
  std::string mode;         // nearest, linear, cubic
  std::string coordinates;  // how a place in the output is one in the input
  std::string nearest;      // how that is rounded
  double cubic_a = -0.75;
  bool antialias = false;  // fewer elements than before are means of all that lie between them
  bool exclude_outside = false;
  double extrapolation = 0;

  explicit ResizeOptions(const Instruction& op)
      : mode(text_attribute(op, "mode", "nearest")),
        // Before opset 11 an op had no choice.
        coordinates(text_attribute(op, "coordinate_transformation_mode",
                                   op.version < 11 ? "asymmetric" : "half_pixel")),
        nearest(op.version < 11 ? kTowardsMore
                                : text_attribute(op, "nearest_mode", "round_prefer_floor")),
        cubic_a(float_attribute(op, "cubic_coeff_a", -0.75)),
        antialias(int_attribute(op, "antialias", 0) != 0),
        exclude_outside(int_attribute(op, "exclude_outside", 0) != 0),
        extrapolation(float_attribute(op, "extrapolation_value", 0)) {
    check("mode", mode, {"nearest", "linear", "bilinear", "cubic"});
    check("coordinate_transformation_mode", coordinates,
          {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
           "tf_half_pixel_for_nn", "tf_crop_and_resize", "half_pixel_symmetric"});
    check("nearest_mode", nearest,
          {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", kTowardsMore});
  }

 private:
  static void check(const char* name, const std::string& value,
                    std::initializer_list<const char*> known) {
    if (std::find(known.begin(), known.end(), value) == known.end()) {
      refuse_attribute(name, value);
    }
  }
};

// One axis: `length` elements become `size`, of which [begin, end] (shares) is looked at.
struct Axis {
  std::int64_t axis = 0;
  std::int64_t length = 0;
  std::int64_t size = 0;
  float scale = 1;
  float begin = 0;
  float end = 1;
};

// In f32, as ONNX Runtime computes places: 3.5 / 0.7 is 5 there, and a tie between two elements.
float source_of(std::int64_t i, const Axis& axis, const std::string& coordinates) {
  const auto at = static_cast<float>(i);
  const auto length = static_cast<float>(axis.length);
  const auto size = static_cast<float>(axis.size);
  if (coordinates == "asymmetric") return at / axis.scale;
  if (coordinates == "align_corners") return size > 1 ? at * (length - 1) / (size - 1) : 0;
  if (coordinates == "tf_half_pixel_for_nn") return (at + 0.5F) / axis.scale;
  if (coordinates == "tf_crop_and_resize") {
    if (size <= 1) return 0.5F * (axis.begin + axis.end) * (length - 1);
    return axis.begin * (length - 1) + at * (axis.end - axis.begin) * (length - 1) / (size - 1);
  }
  if (coordinates == "pytorch_half_pixel" && size <= 1) return 0;
  const float centred = (at + 0.5F) / axis.scale - 0.5F;
  if (coordinates == "half_pixel_symmetric") {
    return length / 2 * (1 - size / (axis.scale * length)) + centred;
  }
  return centred;
}

double rounded(double x, const Axis& axis, const std::string& nearest) {
  if (nearest == kTowardsMore) return axis.scale < 1 ? std::ceil(x) : std::floor(x);
  if (nearest == "floor") return std::floor(x);
  if (nearest == "ceil") return std::ceil(x);
  return nearest == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

// The sources of each output element: `taps` input elements with a weight each, tap by tap.
struct Taps {
  std::vector<Ints> from;
  std::vector<std::vector<double>> weights;
  std::vector<bool> outside;  // by output element
};

double cubic_weight(double distance, double a) {
  const double d = std::abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

Taps taps_of(const Axis& axis, const ResizeOptions& options) {
  const bool is_cubic = options.mode == "cubic";
  const double reach = is_cubic ? 2 : 1;
  const double narrowing = options.antialias ? std::min(axis.scale, 1.0F) : 1;
  const int before = static_cast<int>(std::ceil(reach / narrowing)) - 1;
  const int count = options.mode == "nearest" ? 1 : 2 * before + 2;
  const bool shared_out = options.antialias || options.exclude_outside;
  Taps taps;
  taps.from.resize(static_cast<std::size_t>(count));
  taps.weights.resize(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < axis.size; ++i) {
    const double x = source_of(i, axis, options.coordinates);
    taps.outside.push_back(x < 0 || x > static_cast<double>(axis.length - 1));
    const double first = count == 1 ? rounded(x, axis, options.nearest)
                                    : std::floor(x) - static_cast<double>(before);
    double sum = 0;
    std::vector<double> weights;
    for (int t = 0; t < count; ++t) {
      const double distance = narrowing * (x - (first + t));
      double weight = count == 1 ? 1
                      : is_cubic ? cubic_weight(distance, options.cubic_a)
                                 : std::max(0.0, 1 - std::abs(distance));
      const bool inside = first + t >= 0 && first + t <= static_cast<double>(axis.length - 1);
      if (options.exclude_outside && !inside) weight = 0;
      weights.push_back(weight);
      sum += weight;
    }
    for (int t = 0; t < count; ++t) {
      const auto tap = static_cast<std::size_t>(t);
      taps.from[tap].push_back(
          std::clamp<std::int64_t>(static_cast<std::int64_t>(first) + t, 0, axis.length - 1));
      taps.weights[tap].push_back(shared_out ? weights[tap] / sum : weights[tap]);
    }
  }
  return taps;
}

// Steps in 1 of ONNX Runtime's weights of whole numbers, which are filtered in f64.
constexpr double kWeightSteps = 1 << 22;

Tensor resize_axis(const Tensor& x, const Axis& axis, const ResizeOptions& options) {
  const Taps taps = taps_of(axis, options);
  Ints shape(static_cast<std::size_t>(x.dim()), 1);
  shape[static_cast<std::size_t>(axis.axis)] = axis.size;
  Tensor y;
  for (std::size_t t = 0; t < taps.from.size(); ++t) {
    const Tensor part =
        at::index_select(x, axis.axis, at::tensor(taps.from[t], at::kLong).to(x.device()));
    if (taps.from.size() == 1) {
      y = part;
      break;
    }
    Tensor weights = at::tensor(taps.weights[t], at::kDouble);
    if (x.scalar_type() == at::kDouble) {
      weights = at::div(at::round(at::mul(weights, kWeightSteps)), kWeightSteps);
    }
    const Tensor weighted = at::mul(part, weights.to(x.device(), x.scalar_type()).reshape(shape));
    y = y.defined() ? at::add(y, weighted) : weighted;
  }
  if (options.coordinates == "tf_crop_and_resize") {
    std::vector<std::int64_t> outside(taps.outside.begin(), taps.outside.end());
    const Tensor mask = at::tensor(outside, at::kLong).to(x.device(), at::kBool).reshape(shape);
    y = at::masked_fill(y, mask, options.extrapolation);
  }
  return y;
}

/// The nearest numbers that the type has, as ONNX Runtime keeps them between two axes.
Tensor whole_numbers(const Tensor& y, at::ScalarType type) {
  const Tensor whole = at::floor(at::add(y, 0.5));
  if (type == at::kByte) return at::clamp(whole, 0, 255);
  return type == at::kChar ? at::clamp(whole, -128, 127) : whole;
}

bool stays(const Axis& axis) {
  return axis.size == axis.length && axis.scale == 1;
}

Sources sources_of(const Axis& axis, const ResizeOptions& options) {
  if (stays(axis)) return {};
  Taps taps = taps_of(axis, options);
  Sources sources{std::move(taps.from[0]), {}};
  if (taps.from.size() == 1) return sources;
  sources.second = std::move(taps.from[1]);
  sources.of_first.assign(taps.weights[0].begin(), taps.weights[0].end());
  sources.of_second.assign(taps.weights[1].begin(), taps.weights[1].end());
  return sources;
}

// One pass over images of which rows and columns alone change; undefined where they are others, or need more than two
// sources.
Tensor resized_planes(const Tensor& x, const std::vector<Axis>& axes,
                      const ResizeOptions& options) {
  const bool computes = options.mode != "nearest";
  const bool is_plain = options.coordinates != "tf_crop_and_resize" &&
                        (!computes || (options.mode == "linear" && !options.antialias));
  if (!is_plain || !resamples(x, computes)) return {};
  Sources rows, columns;
  for (const Axis& axis : axes) {
    if (axis.axis == x.dim() - 1) {
      columns = sources_of(axis, options);
    } else if (axis.axis == x.dim() - 2) {
      rows = sources_of(axis, options);
    } else if (!stays(axis)) {
      return {};
    }
  }
  return resampled(x, rows, columns);
}

// The innermost axis first, as ONNX Runtime does.
Tensor resize(const Tensor& given, const std::vector<Axis>& axes, const ResizeOptions& options) {
  const auto keeps_length = [](const Axis& axis) { return axis.size == axis.length; };
  // ONNX Runtime gives what has its lengths already, whatever the scale.
  if (std::all_of(axes.begin(), axes.end(), keeps_length)) return given;
  if (Tensor planes = resized_planes(given, axes, options); planes.defined()) return planes;
  const bool computes = options.mode != "nearest";
  const bool rounds = computes && options.antialias && !given.is_floating_point();
  Tensor y = computes ? given.to(rounds ? at::kDouble : at::kFloat) : given;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (stays(*axis) && options.coordinates != "tf_crop_and_resize") continue;
    y = resize_axis(y, *axis, options);
    if (rounds) y = whole_numbers(y, given.scalar_type());
  }
  return computes ? y.to(given.scalar_type()) : y;
}

// Sizes such that every axis has the same scale.
void keep_ratio(std::vector<Axis>& axes, const std::string& policy) {
  if (axes.empty() || policy == "stretch") return;
  float scale = axes.front().scale;
  for (const Axis& axis : axes) {
    scale = policy == "not_larger" ? std::min(scale, axis.scale) : std::max(scale, axis.scale);
  }
  for (Axis& axis : axes) {
    axis.scale = scale;
    axis.size = static_cast<std::int64_t>(ops::onnx::nearest_length(axis.length, scale));
  }
}

// Scales are an attribute (Upsample 7), input 1 (opset 9 and 10) or input 2; sizes input 3.
Kernel make_resize(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const ResizeOptions options(op);
  const bool is_old = op.version < 11;
  const NumbersOperand scales_operand(request, "scales", is_old ? 1 : 2);
  const NumbersOperand roi_operand(request, "", is_old ? 9 : 1);
  const IntsOperand sizes_operand(request, "", is_old ? 9 : 3);
  const auto stated_axes = ints_attribute(op, "axes");
  const std::string policy = text_attribute(op, "keep_aspect_ratio_policy", "stretch");
  return [=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    Ints over(static_cast<std::size_t>(x.dim()));
    std::iota(over.begin(), over.end(), 0);
    if (stated_axes) over = *stated_axes;
    const auto scales = scales_operand.get(in).value_or(std::vector<double>{});
    const auto sizes = sizes_operand.get(in).value_or(Ints{});
    const auto roi = roi_operand.get(in).value_or(std::vector<double>{});
    if (scales.empty() == sizes.empty()) {
      throw Error(ErrorCode::invalid_argument, "it needs either scales or sizes");
    }
    std::vector<Axis> axes;
    for (std::size_t i = 0; i < over.size(); ++i) {
      Axis axis;
      axis.axis = normal_axis(over[i], x.dim());
      axis.length = x.size(axis.axis);
      if (!sizes.empty()) {
        axis.size = sizes.at(i);
        if (axis.size < 0) {
          throw Error(ErrorCode::invalid_argument,
                      cat("its size of axis ", axis.axis, " is ", axis.size));
        }
        axis.scale = static_cast<float>(axis.size) / static_cast<float>(axis.length);
      } else {
        axis.scale = static_cast<float>(scales.at(i));
        if (!(axis.scale > 0) || std::isinf(axis.scale)) {
          throw Error(ErrorCode::invalid_argument, cat("its scale of axis ", axis.axis, " is ",
                                                       scales[i], "; give a finite one above 0"));
        }
        axis.size = static_cast<std::int64_t>(ops::onnx::scaled_length(axis.length, axis.scale));
      }
      if (roi.size() == 2 * over.size()) {
        axis.begin = static_cast<float>(roi[i]);
        axis.end = static_cast<float>(roi[i + over.size()]);
      }
      axes.push_back(axis);
    }
    if (!sizes.empty()) keep_ratio(axes, policy);
    out[0].tensor = resize(x, axes, options);
  };
}

constexpr KernelRow kRows[] = {
    {"Resize", make_resize},
    {"Upsample", make_resize},
};

}  // namespace

std::span<const KernelRow> resize_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
