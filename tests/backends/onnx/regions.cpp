// Regions of images against their definition, one sample after the other.
#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>

#include "backends/onnx/values.h"
#include "frontends/onnx/model_text.h"
#include "support/torch_doctest.h"

namespace berth::test {
namespace {

constexpr std::int64_t kHeight = 11, kWidth = 17, kChannels = 3;
// Beyond the images, of no size, and larger than they are.
constexpr double kRegions[5][4] = {
    {1, 2, 6.5, 8}, {-30, -4, 3, 30}, {5, 5, 5, 5}, {-8, -8, 50, 40}, {20, 12, 33.3, 20.1}};
constexpr std::int64_t kImages[5] = {1, 0, 1, 0, 1};

/// The sum that the four neighbours of a point add to it.
std::array<double, 4> neighbours(const at::Tensor& plane, double y, double x) {
  if (y < -1 || y > kHeight || x < -1 || x > kWidth) return {};
  y = std::clamp(y, 0.0, kHeight - 1.0);
  x = std::clamp(x, 0.0, kWidth - 1.0);
  const auto top = static_cast<std::int64_t>(y), left = static_cast<std::int64_t>(x);
  const double down = y - static_cast<double>(top), across = x - static_cast<double>(left);
  const auto pixel = [&](std::int64_t row, std::int64_t column) {
    return plane[std::min(row, kHeight - 1)][std::min(column, kWidth - 1)].item<double>();
  };
  return {pixel(top, left) * (1 - down) * (1 - across), pixel(top, left + 1) * (1 - down) * across,
          pixel(top + 1, left) * down * (1 - across), pixel(top + 1, left + 1) * down * across};
}

double bin_of(const at::Tensor& plane, const double* region, std::int64_t row, std::int64_t column,
              std::int64_t ratio, bool is_max) {
  constexpr double kScale = 0.5;
  const double left = region[0] * kScale - 0.5, top = region[1] * kScale - 0.5;
  const double width = (region[2] - region[0]) * kScale / 3;
  const double height = (region[3] - region[1]) * kScale / 2;
  const auto samples = [&](double size) {
    return ratio > 0 ? ratio
                     : std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(size)));
  };
  const std::int64_t down = samples(height), across = samples(width);
  double sum = 0, most = -1e9;
  for (std::int64_t i = 0; i < down; ++i) {
    for (std::int64_t j = 0; j < across; ++j) {
      const auto place = [](std::int64_t bin, std::int64_t sample, std::int64_t count) {
        return static_cast<double>(bin) +
               (static_cast<double>(sample) + 0.5) / static_cast<double>(count);
      };
      for (const double part : neighbours(plane, top + place(row, i, down) * height,
                                          left + place(column, j, across) * width)) {
        sum += part;
        most = std::max(most, part);
      }
    }
  }
  return is_max ? most : sum / static_cast<double>(down * across);
}

onnx::TensorProto numbered_images() {
  onnx::TensorProto x;
  x.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t dim : {std::int64_t{2}, kChannels, kHeight, kWidth}) x.add_dims(dim);
  for (std::int64_t i = 0; i < 2 * kChannels * kHeight * kWidth; ++i) {
    x.add_float_data(static_cast<float>(i * 7 % 23) - 11);
  }
  return x;
}

TEST_CASE("regions are aligned as they are defined, wherever they lie") {
  std::string regions, images;
  for (std::size_t i = 0; i < std::size(kImages); ++i) {
    for (const double number : kRegions[i]) {
      regions += (regions.empty() ? "" : ", ") + std::to_string(number);
    }
    images += (i == 0 ? "" : ", ") + std::to_string(kImages[i]);
  }
  const onnx::TensorProto x = numbered_images();
  const at::Tensor planes = value_of(x).tensor;
  for (const std::int64_t ratio : {0, 1, 3}) {
    for (const char* const mode : {"avg", "max"}) {
      CAPTURE(ratio);
      CAPTURE(mode);
      ModelFolder models;
      const CpuModel model(models.save(parse_graph(
          "g (float[2, 3, 11, 17] x) => (float[5, 3, 2, 3] y) <float[5, 4] r = {" + regions +
              "}, int64[5] i = {" + images + "}> { y = RoiAlign<mode = \"" + mode +
              "\", spatial_scale = 0.5, output_height = 2, output_width = 3, sampling_ratio = " +
              std::to_string(ratio) + ">(x, r, i) }",
          22)));
      const at::Tensor y = model.run({value_of(x)}).at(0).tensor;
      REQUIRE(y.sizes() == at::IntArrayRef({5, 3, 2, 3}));
      double apart = 0;
      for (std::int64_t at = 0; at < y.numel(); ++at) {
        const std::int64_t i = at / 18, c = at / 6 % 3, row = at / 3 % 2, column = at % 3;
        const double wanted = bin_of(planes[kImages[i]][c], kRegions[i], row, column, ratio,
                                     mode == std::string_view("max"));
        apart = std::max(apart, std::abs(y[i][c][row][column].item<double>() - wanted));
      }
      CHECK(apart < 1e-5);
    }
  }
}

}  // namespace
}  // namespace berth::test
