#include "teaching.h"

#include <vector>

namespace berth::learning {

Teaching::Teaching(std::span<const double> advantages, std::int64_t samples,
                   double entropy_weight) {
  std::vector<std::int64_t> rows;
  std::vector<float> values;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    const double advantage = advantages[static_cast<std::size_t>(sample)];
    if (advantage == 0 && entropy_weight == 0) continue;
    rows.push_back(sample);
    values.push_back(static_cast<float>(advantage));
  }
  advantages_ = torch::tensor(values, torch::kFloat32);
  if (count() < samples) rows_ = torch::tensor(rows, torch::kInt64);
}

torch::Tensor Teaching::of(const torch::Tensor& values, std::int64_t axis) const {
  return rows_.defined() ? values.index_select(axis, rows_) : values;
}

}  // namespace berth::learning
