#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace berth {

/// The mean of the two in the middle where their number is even. `samples` not empty.
[[nodiscard]] inline double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  if (samples.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(samples.begin(), middle)) / 2;
}

}  // namespace berth
