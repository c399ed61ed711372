#include "measure/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <utility>

#include "support/median.h"

namespace berth {

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

double low_decile(std::vector<double> samples) {
  const auto nth = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 10);
  std::nth_element(samples.begin(), nth, samples.end());
  return *nth;
}

double half_interval(double deviation, std::size_t count) {
  const boost::math::students_t distribution(static_cast<double>(count - 1));
  const double t = boost::math::quantile(distribution, 0.975);
  return t * deviation / std::sqrt(static_cast<double>(count));
}

double drift(std::span<const double> samples) {
  constexpr std::size_t kFewest = 9;
  if (samples.size() < kFewest) return 0;
  const std::size_t third = samples.size() / 3;
  const auto mean_and_error = [third](std::span<const double> part) {
    double mean = 0, squares = 0;
    for (const double sample : part) mean += sample / static_cast<double>(third);
    for (const double sample : part) squares += (sample - mean) * (sample - mean);
    const auto count = static_cast<double>(third);
    return std::pair(mean, squares / (count - 1) / count);
  };
  const auto [first, first_error] = mean_and_error(samples.first(third));
  const auto [last, last_error] = mean_and_error(samples.last(third));
  if (std::abs(last - first) <= 3 * std::sqrt(first_error + last_error)) return 0;
  return last / first - 1;
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
  const double bandwidth = slope > 1e6 / kNoSlope ? 1e6 / slope : kNoSlope;
  if (bandwidth == kNoSlope) latency = wy / w;
  return {latency, bandwidth};
}

}  // namespace berth
