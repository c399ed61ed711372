// Statistics of runtime samples.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace berth {

/// The median of the samples within three scaled median absolute deviations of their median.
/// Samples further away were disturbed from outside. `samples` must not be empty.
[[nodiscard]] double robust_median(std::vector<double> samples);

/// The sample that a tenth of them is below: what is measured takes that long where most of them waited for
/// another program. `samples` must not be empty.
[[nodiscard]] double low_decile(std::vector<double> samples);

/// Half of the 95 % confidence interval of the mean of `count` >= 2 samples that deviate by
/// `deviation` (n - 1), by Student's t.
[[nodiscard]] double half_interval(double deviation, std::size_t count);

/// The excess of the last third of the samples over the first, as a share of the first third's mean;
/// 0 where that may be chance (less than three standard errors) or there are fewer than nine samples.
[[nodiscard]] double drift(std::span<const double> samples);

struct Point {
  double bytes;
  double us;
};
/// Bytes per second where larger tensors take no longer than small ones.
inline constexpr double kNoSlope = 1e15;
/// latency + bytes / bandwidth.
struct TransferLine {
  double latency_us;
  double bandwidth_bytes_per_s;
};
/// The line with the smallest sum of squared relative errors, with latency and slope >= 0. Small
/// tensors count as much as large ones. Requires at least two sizes, and times > 0.
[[nodiscard]] TransferLine fit_transfers(std::span<const Point> points);

}  // namespace berth
