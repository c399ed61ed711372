// Statistics of runtime samples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace berth {

/// `samples` not empty.
[[nodiscard]] double median(std::vector<double> samples);

/// The median of the samples within three scaled median absolute deviations of their median.
/// Samples further away were disturbed from outside. `samples` must not be empty.
[[nodiscard]] double robust_median(std::vector<double> samples);

struct Point {
  double bytes;
  double us;
};
/// latency + bytes / bandwidth.
struct TransferLine {
  double latency_us;
  double bandwidth_bytes_per_s;
};
/// The line with the smallest sum of squared relative errors, with latency and slope >= 0. Small
/// tensors count as much as large ones. Requires at least two sizes, and times > 0.
[[nodiscard]] TransferLine fit_transfers(std::span<const Point> points);

}  // namespace berth
