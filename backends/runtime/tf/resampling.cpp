// Images in other sizes by filters that reach further than the next pixel, and seen through a projection.
// [batch, height, width, channels]
#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/tf/scaling.h"

namespace berth::runtime::tf {
namespace {

/// The share of each pixel of an axis in each of the resized one: [to, from].
class Shares {
 public:
  Shares(std::int64_t from, std::int64_t to) : from_(from) {
    if (from < 1 || to < 1) {
      throw Error(ErrorCode::invalid_argument,
                  cat("an axis of ", from, " pixels cannot be resized to ", to));
    }
    shares_ = at::zeros({to, from}, at::kFloat);
  }

  /// A pixel beyond the edge stands for the one at the edge.
  void add(std::int64_t out, std::int64_t pixel, float share) const {
    pixel = std::clamp<std::int64_t>(pixel, 0, from_ - 1);
    shares_.data_ptr<float>()[out * from_ + pixel] += share;
  }
  /// Makes the shares of one pixel sum up to 1, unless they are all but 0.
  void normalize(std::int64_t out) const {
    constexpr float kLeast = 1000 * std::numeric_limits<float>::min();
    const Tensor row = shares_.select(0, out);
    const float sum = row.sum().item<float>();
    if (std::abs(sum) >= kLeast) row.mul_(1 / sum);
  }
  [[nodiscard]] const Tensor& tensor() const { return shares_; }

 private:
  std::int64_t from_;
  Tensor shares_;
};

/// `shares` applied to the rows and to the columns of images. The transposed ones take gradients back.
Tensor resampled(const Tensor& images, const Tensor& rows, const Tensor& columns) {
  const auto along = [](const Tensor& x, const Tensor& shares, std::int64_t axis) {
    return at::movedim(at::tensordot(x, shares.to(x.device()), {axis}, {1}), -1, axis);
  };
  return along(along(images.to(at::kFloat), rows, 1), columns, 2);
}

/// Keys' cubic convolution of four pixels (IEEE Trans. ASSP, 1981). TensorFlow reads it from a table. With pixels that
/// have centers, those beyond the edge do not count.
Tensor cubic_shares(const Scaling& scaling, std::int64_t from, std::int64_t to) {
  constexpr int kSteps = 1024;
  const double a = scaling.centers ? -0.5 : -0.75;
  const auto near = [a](double x) {
    return static_cast<float>(((a + 2) * x - (a + 3)) * x * x + 1);
  };
  const auto far = [a](double x) {  // from 1 to 2
    return static_cast<float>(((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
  };
  const Shares shares(from, to);
  const float scale = scaling.scale(from, to);
  for (std::int64_t i = 0; i < to; ++i) {
    const auto out = static_cast<float>(i);
    const float place = scaling.centers ? (out + 0.5F) * scale - 0.5F : out * scale;
    const auto pixel = static_cast<std::int64_t>(std::floor(place));
    const double part =
        static_cast<double>(std::lrint((place - std::floor(place)) * kSteps)) / kSteps;
    const float weights[] = {far(part + 1), near(part), near(1 - part), far(2 - part)};
    for (std::int64_t k = 0; k < 4; ++k) {
      const std::int64_t at_pixel = pixel - 1 + k;
      if (scaling.centers && (at_pixel < 0 || at_pixel >= from)) continue;
      shares.add(i, at_pixel, weights[k]);
    }
    if (scaling.centers) shares.normalize(i);
  }
  return shares.tensor();
}

/// Means of what each pixel covers.
Tensor area_shares(const Scaling& scaling, std::int64_t from, std::int64_t to) {
  const Shares shares(from, to);
  const float scale = scaling.scale(from, to);
  for (std::int64_t i = 0; i < to; ++i) {
    const float begin = static_cast<float>(i) * scale, end = static_cast<float>(i + 1) * scale;
    for (auto pixel = static_cast<std::int64_t>(std::floor(begin));
         pixel < static_cast<std::int64_t>(std::ceil(end)); ++pixel) {
      const auto low = static_cast<float>(pixel), high = static_cast<float>(pixel + 1);
      const float before = low < begin ? high - begin : 1;
      const float covered = high <= end ? before : low < begin ? scale : end - low;
      shares.add(i, pixel, covered / scale);
    }
  }
  return shares.tensor();
}

using MakeShares = Tensor (*)(const Scaling& scaling, std::int64_t from, std::int64_t to);

/// (images, height and width)
template <MakeShares make_shares>
Kernel make_resized(const KernelRequest& request) {
  return [scaling = Scaling(request.instruction), sizes = IntsInput(request, 1)](
             KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Ints size = sizes.get(in);
    out[0].tensor = resampled(x, make_shares(scaling, x.size(1), size.at(0)),
                              make_shares(scaling, x.size(2), size.at(1)));
  };
}

/// (gradient, the images as they were)
template <MakeShares make_shares>
Kernel make_resized_gradient(const KernelRequest& request) {
  return [scaling = Scaling(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor &gradient = tensor_at(in, 0), &x = tensor_at(in, 1);
    out[0].tensor = resampled(gradient, make_shares(scaling, x.size(1), gradient.size(1)).t(),
                              make_shares(scaling, x.size(2), gradient.size(2)).t())
                        .to(x.scalar_type());
  };
}

// --- scaled by any factor, and moved -------------------------------------------------------------

float lanczos(float x, float radius) {
  constexpr float kPi = 3.14159265358979F;
  if (x >= radius) return 0;
  if (x <= 1e-3F) return 1;
  return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
}
template <int radius>
float lanczos(float x) {
  return lanczos(x, radius);
}
float gaussian(float x) {
  constexpr float kRadius = 1.5F, kDeviation = 0.5F;
  return x >= kRadius ? 0 : std::exp(-x * x / (2 * kDeviation * kDeviation));
}
float box(float x) {
  return x < 0.5F ? 1 : x == 0.5F ? 0.5F : 0;
}
float triangle(float x) {
  return x < 1 ? 1 - x : 0;
}
float keys_cubic(float x) {
  if (x >= 2) return 0;
  if (x >= 1) return ((-0.5F * x + 2.5F) * x - 4) * x + 2;
  return (1.5F * x - 2.5F) * x * x + 1;
}
float mitchell_cubic(float x) {
  if (x >= 2) return 0;
  if (x >= 1) return ((-7.0F / 18 * x + 2) * x - 10.0F / 3) * x + 16.0F / 9;
  return (7.0F / 6 * x - 2) * x * x + 8.0F / 9;
}

/// How much a pixel counts by its distance, and from which on it does not.
struct Filter {
  const char* name;
  float radius;
  float (*weight)(float distance);
};
constexpr Filter kFilters[] = {
    {"lanczos1", 1, lanczos<1>},
    {"lanczos3", 3, lanczos<3>},
    {"lanczos5", 5, lanczos<5>},
    {"gaussian", 1.5F, gaussian},
    {"box", 1, box},
    {"triangle", 1, triangle},
    {"keyscubic", 2, keys_cubic},
    {"mitchellcubic", 2, mitchell_cubic},
};

struct Filtering {
  explicit Filtering(const Instruction& op) : smooth(int_attribute(op, "antialias", 1) != 0) {
    const std::string name = text_attribute(op, "kernel_type", "lanczos3");
    const auto* const found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                           [&](const Filter& each) { return each.name == name; });
    if (found == std::end(kFilters)) refuse_attribute("kernel_type", name);
    filter = *found;
  }

  [[nodiscard]] Tensor shares(std::int64_t from, std::int64_t to, double factor,
                              double moved) const {
    if (!(factor > 0)) {
      throw Error(ErrorCode::invalid_argument,
                  cat("its scale is ", factor, " and should be above 0"));
    }
    const Shares made(from, to);
    const auto back = static_cast<float>(1 / factor);
    const float start = -back * static_cast<float>(moved);
    // A filter that makes an image smaller covers what it leaves out.
    const float width = smooth ? std::max(back, 1.0F) : 1;
    const float reach = filter.radius * width;
    for (std::int64_t i = 0; i < to; ++i) {
      const float place = (static_cast<float>(i) + 0.5F) * back + start;
      if (!(place >= 0 && place <= static_cast<float>(from))) continue;
      // Bounded as floats: a filter may reach further than integers do.
      const float first = std::max(std::ceil(place - reach - 0.5F), 0.0F);
      const float last = std::min(std::floor(place + reach - 0.5F), static_cast<float>(from - 1));
      for (auto pixel = static_cast<std::int64_t>(first); pixel <= static_cast<std::int64_t>(last);
           ++pixel) {
        const float distance = std::abs(static_cast<float>(pixel) + 0.5F - place);
        made.add(i, pixel, filter.weight(distance / width));
      }
      made.normalize(i);
    }
    return made.tensor();
  }

  bool smooth;
  Filter filter{};
};

/// (images, height and width, factors, translations)
Kernel make_scaled(const KernelRequest& request) {
  return [filtering = Filtering(request.instruction), sizes = IntsInput(request, 1)](
             KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Ints size = sizes.get(in);
    const auto factors = numbers_of(tensor_at(in, 2)), moved = numbers_of(tensor_at(in, 3));
    out[0].tensor =
        resampled(x, filtering.shares(x.size(1), size.at(0), factors.at(0), moved.at(0)),
                  filtering.shares(x.size(2), size.at(1), factors.at(1), moved.at(1)));
  };
}

/// (gradient, the images as they were, factors, translations)
Kernel make_scaled_gradient(const KernelRequest& request) {
  return [filtering = Filtering(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor &gradient = tensor_at(in, 0), &x = tensor_at(in, 1);
    const auto factors = numbers_of(tensor_at(in, 2)), moved = numbers_of(tensor_at(in, 3));
    const auto back = [&](std::int64_t axis) {
      const auto i = static_cast<std::size_t>(axis) - 1;
      return filtering.shares(x.size(axis), gradient.size(axis), factors.at(i), moved.at(i)).t();
    };
    out[0].tensor = resampled(gradient, back(1), back(2)).to(x.scalar_type());
  };
}

// --- projections ---------------------------------------------------------------------------------

/// Stands in for pixels beyond the edge.
enum class Beyond : std::uint8_t { constant, reflected, wrapped, nearest };

Beyond beyond_of(const Instruction& op) {
  const std::string mode = text_attribute(op, "fill_mode", "CONSTANT");
  if (mode == "CONSTANT") return Beyond::constant;
  if (mode == "REFLECT") return Beyond::reflected;
  if (mode == "WRAP") return Beyond::wrapped;
  if (mode == "NEAREST") return Beyond::nearest;
  refuse_attribute("fill_mode", mode);
}

/// Places along an axis of `size` pixels, moved to where their pixels are.
Tensor inside(const Tensor& places, double size, Beyond beyond) {
  if (beyond == Beyond::constant) return places;
  const double last = size - 1;
  Tensor moved = places;
  if (size > 1 && beyond == Beyond::reflected) {
    // [abcd] is [dcba abcd dcba].
    const Tensor period = at::remainder(places, 2 * size);
    const Tensor turned = at::where(at::lt(period, size), period, at::rsub(period, 2 * size - 1));
    const Tensor within = at::logical_and(at::ge(places, 0), at::le(places, last));
    moved = at::where(within, places, turned);
  } else if (size > 1 && beyond == Beyond::wrapped) {
    const Tensor rounds = at::trunc(at::div(at::abs(places), last));
    moved =
        at::where(at::lt(places, 0), at::add(places, at::mul(at::add(rounds, 1), size)),
                  at::where(at::gt(places, last), at::sub(places, at::mul(rounds, size)), places));
  }
  return at::clamp(moved, 0, last);
}

/// Pixels of images at whole places [batch, rows, columns]; `fill` where there are none.
Tensor pixels_at(const Tensor& images, const Tensor& rows, const Tensor& columns, double fill) {
  const auto within = [](const Tensor& place, std::int64_t size) {
    return at::logical_and(at::ge(place, 0), at::lt(place, static_cast<double>(size)));
  };
  const Tensor valid =
      at::logical_and(within(rows, images.size(1)), within(columns, images.size(2)));
  const auto index = [&](const Tensor& place) {
    return at::where(valid, place, at::zeros({}, place.options())).to(at::kLong);
  };
  const Tensor batch = at::arange(images.size(0), images.options().dtype(at::kLong));
  const Tensor pixels = at::index(images, {batch.reshape({-1, 1, 1}), index(rows), index(columns)});
  return at::where(valid.unsqueeze(-1), pixels, at::full({}, fill, images.options()));
}

/// The place that each pixel of [rows, columns] is taken from, across and down: [batch, rows, columns] each.
std::pair<Tensor, Tensor> projected(const Tensor& transforms, std::int64_t rows,
                                    std::int64_t columns) {
  const Tensor x = at::arange(columns, transforms.options()).reshape({1, 1, -1});
  const Tensor y = at::arange(rows, transforms.options()).reshape({1, -1, 1});
  const auto factor = [&](std::int64_t i) { return transforms.select(1, i).reshape({-1, 1, 1}); };
  const auto line = [&](std::int64_t i) {
    return at::add(at::mul(factor(i), x), at::mul(factor(i + 1), y));
  };
  // A pixel at infinity is no number, and so beyond every edge.
  const Tensor depth = at::add(line(6), 1);
  const Tensor divisor =
      at::masked_fill(depth, at::eq(depth, 0), std::numeric_limits<double>::quiet_NaN());
  return {at::div(at::add(line(0), factor(2)), divisor),
          at::div(at::add(line(3), factor(5)), divisor)};
}

/// (images, transforms, height and width, fill?)
Kernel make_projection(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const std::string how = text_attribute(op, "interpolation", "");
  if (how != "NEAREST" && how != "BILINEAR") refuse_attribute("interpolation", how);
  return [is_nearest = how == "NEAREST", beyond = beyond_of(op), sizes = IntsInput(request, 2)](
             KernelContext&, Inputs in, Outputs out) {
    const Tensor& images = tensor_at(in, 0);
    const Ints size = sizes.get(in);
    const double fill = has(in, 3) ? tensor_at(in, 3).item<double>() : 0;
    const Tensor transforms = tensor_at(in, 1).to(images.device(), at::kFloat);
    if (images.dim() != 4 || transforms.dim() != 2 || transforms.size(1) != 8 || size.size() != 2) {
      throw Error(ErrorCode::invalid_argument,
                  "images have 4 dimensions, a transform 8 numbers, and a size 2");
    }
    const auto [across, down] = projected(transforms, size[0], size[1]);
    const auto finite = [](const Tensor& place) { return at::nan_to_num(place, -1e9, -1e9, -1e9); };
    const auto height = static_cast<double>(images.size(1));
    const auto width = static_cast<double>(images.size(2));
    const Ints shape = {images.size(0), size[0], size[1]};
    const Tensor x = finite(inside(across, width, beyond)).expand(shape);
    const Tensor y = finite(inside(down, height, beyond)).expand(shape);
    if (is_nearest) {
      const auto rounded = [](const Tensor& place) {  // halves away from 0
        return at::mul(at::sign(place), at::floor(at::add(at::abs(place), 0.5)));
      };
      out[0].tensor = pixels_at(images, rounded(y), rounded(x), fill);
      return;
    }
    const Tensor numbers = images.to(at::kFloat);
    const Tensor left = at::floor(x), top = at::floor(y);
    const Tensor right = at::sub(x, left).unsqueeze(-1), below = at::sub(y, top).unsqueeze(-1);
    const auto mixed = [&](const Tensor& row) {
      const Tensor a = pixels_at(numbers, row, left, fill);
      const Tensor b = pixels_at(numbers, row, at::add(left, 1), fill);
      return at::add(at::mul(at::rsub(right, 1), a), at::mul(right, b));
    };
    out[0].tensor =
        at::add(at::mul(at::rsub(below, 1), mixed(top)), at::mul(below, mixed(at::add(top, 1))))
            .to(images.scalar_type());
  };
}

constexpr KernelRow kRows[] = {
    {"ImageProjectiveTransformV2", make_projection},
    {"ImageProjectiveTransformV3", make_projection},
    {"ResizeArea", make_resized<area_shares>},
    {"ResizeBicubic", make_resized<cubic_shares>},
    {"ResizeBicubicGrad", make_resized_gradient<cubic_shares>},
    {"ScaleAndTranslate", make_scaled},
    {"ScaleAndTranslateGrad", make_scaled_gradient},
};

}  // namespace

std::span<const KernelRow> resampling_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
