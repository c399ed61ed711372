#include "measure/statistics.h"

#include <algorithm>
#include <cmath>

namespace berth {

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  if (samples.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(samples.begin(), middle)) / 2;
}

double robust_median(std::vector<double> samples) {
  constexpr double kScale = 1.4826;  // a normal distribution's deviation over its median deviation
  constexpr double kWidth = 3;
  const double centre = median(samples);
  std::vector<double> distances;
  for (const double sample : samples) distances.push_back(std::abs(sample - centre));
  const double limit = kWidth * kScale * median(distances);
  std::erase_if(samples, [&](double sample) { return std::abs(sample - centre) > limit; });
  return median(std::move(samples));
}

TransferLine fit_transfers(std::span<const Point> points) {
  // Weighted least squares of us = latency + slope * bytes, weights 1 / us^2.
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (const auto& [bytes, us] : points) {
    const double weight = 1 / (us * us);
    w += weight;
    wx += weight * bytes;
    wy += weight * us;
    wxx += weight * bytes * bytes;
    wxy += weight * bytes * us;
  }
  const double determinant = w * wxx - wx * wx;
  double slope = determinant > 0 ? (w * wxy - wx * wy) / determinant : 0;
  double latency = (wy - slope * wx) / w;
  if (latency < 0) {
    latency = 0;
    slope = wxy / wxx;
  }
  constexpr double kFastest = 1e15;  // bytes per second; a slope of 0 has no bandwidth
  const double bandwidth = slope > 1e6 / kFastest ? 1e6 / slope : kFastest;
  if (bandwidth == kFastest) latency = wy / w;
  return {latency, bandwidth};
}

}  // namespace berth
