// Colours of images: [.., height, width, channels], where the channels are red, green and blue, or hue, saturation and
// value.
#include <ATen/Functions.h>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

struct Channels {
  explicit Channels(const Tensor& images) {
    if (images.dim() < 1 || images.size(-1) != 3) {
      throw Error(ErrorCode::invalid_argument,
                  cat("its images have ", images.dim() < 1 ? 0 : images.size(-1),
                      " channels and should have 3"));
    }
    first = images.select(-1, 0);
    second = images.select(-1, 1);
    third = images.select(-1, 2);
  }
  Tensor first, second, third;
};

/// A colour as its hue from 0 to 1, and its least and its largest channel.
struct Hue {
  Tensor hue, low, high;
};

Hue hue_of(const Tensor& images) {
  const Channels c(images);
  const Tensor &red = c.first, &green = c.second, &blue = c.third;
  const Tensor high = images.amax(-1), low = images.amin(-1);
  const Tensor range = at::sub(high, low);
  const auto sixth = [&](const Tensor& a, const Tensor& b, double offset) {
    return at::add(at::div(at::sub(a, b), at::mul(range, 6)), offset / 6);
  };
  Tensor hue = at::where(at::eq(red, high), sixth(green, blue, 0),
                         at::where(at::eq(green, high), sixth(blue, red, 2), sixth(red, green, 4)));
  hue = at::where(at::gt(range, 0), hue, at::zeros({}, hue.options()));
  return {at::where(at::lt(hue, 0), at::add(hue, 1), hue), low, high};
}

Tensor from_hue(const Hue& color) {
  const Tensor six = at::mul(color.hue, 6), range = at::sub(color.high, color.low);
  const auto distance = [&](double from) { return at::abs(at::sub(six, from)); };
  const auto channel = [&](const Tensor& share) {
    return at::add(color.low, at::mul(range, at::clamp(share, 0, 1)));
  };
  return at::stack({channel(at::sub(distance(3), 1)), channel(at::rsub(distance(2), 2)),
                    channel(at::rsub(distance(4), 2))},
                   -1);
}

Tensor saturation_of(const Hue& color) {
  return at::where(at::gt(color.high, 0), at::div(at::sub(color.high, color.low), color.high),
                   at::zeros({}, color.high.options()));
}
/// The same hue and largest channel.
Tensor with_saturation(const Tensor& hue, const Tensor& saturation, const Tensor& high) {
  return from_hue({hue, at::mul(high, at::rsub(saturation, 1)), high});
}

Tensor to_hsv(const Tensor& images) {
  const Hue color = hue_of(images);
  return at::stack({color.hue, saturation_of(color), color.high}, -1);
}
Tensor to_rgb(const Tensor& images) {
  const Channels c(images);
  return with_saturation(c.first, c.second, c.third);
}

/// (images, difference of hues)
Tensor adjust_hue(const Tensor& images, const Tensor& difference) {
  Hue color = hue_of(images);
  color.hue = at::remainder(at::add(color.hue, difference), 1);
  return from_hue(color);
}
/// (images, factor)
Tensor adjust_saturation(const Tensor& images, const Tensor& factor) {
  const Hue color = hue_of(images);
  const Tensor saturation = at::clamp(at::mul(saturation_of(color), factor), 0, 1);
  return with_saturation(color.hue, saturation, color.high);
}
/// (images, factor): every channel of an image keeps its mean.
Tensor adjust_contrast(const Tensor& images, const Tensor& factor) {
  const Tensor mean = images.mean({-3, -2}, /*keepdim=*/true);
  return at::add(at::mul(at::sub(images, mean), factor), mean);
}

constexpr KernelRow kRows[] = {
    {"AdjustContrastv2", make_binary<adjust_contrast>},
    {"AdjustHue", make_binary<adjust_hue>},
    {"AdjustSaturation", make_binary<adjust_saturation>},
    {"HSVToRGB", make_unary<to_rgb>},
    {"RGBToHSV", make_unary<to_hsv>},
};

}  // namespace

std::span<const KernelRow> color_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
