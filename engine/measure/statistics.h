// What samples of a runtime say.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace berth {

/// `samples` not empty.
[[nodiscard]] double median(std::vector<double> samples);

/// The median of the samples within three scaled median absolute deviations of their median: those
/// beyond were disturbed from outside. Not empty.
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
/// The line with the smallest sum of squared relative errors, latency and slope not negative: small
/// tensors count as much as large ones. At least two sizes, times > 0.
[[nodiscard]] TransferLine fit_transfers(std::span<const Point> points);

}  // namespace berth
