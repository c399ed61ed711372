/// @file
/// Estimates the bytes that groups take on devices while a placement is being made.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "berth/export.h"
#include "berth/problem.h"

namespace berth {

/// Bytes each group needs on its device: parameters, where the problem counts them, and a share of
/// its outputs. A parameter shared by several groups counts once per device. [thread-compatible]
class BERTH_EXPORT Footprint {
 public:
  /// `output_share` in [0, 1]: 0 counts only parameters; 1 counts every output as if it were held
  /// for the whole step, which is more than a step holds at once.
  Footprint(const Problem& problem, double output_share);

  /// All of the group's bytes, as if it were alone on a device.
  [[nodiscard]] std::int64_t alone(GroupId group) const;
  /// Bytes that the group would add to a device beside the groups already there.
  [[nodiscard]] std::int64_t added(GroupId group, DeviceId device) const;
  void put(GroupId group, DeviceId device);

 private:
  [[nodiscard]] std::size_t key(std::size_t shared, DeviceId device) const {
    return shared * devices_ + static_cast<std::size_t>(device);
  }

  std::size_t devices_;
  std::vector<std::int64_t> own_;
  std::vector<std::vector<std::size_t>> shared_;  // per group, ascending, distinct
  std::vector<std::int64_t> shared_bytes_;
  std::unordered_set<std::size_t> resident_;
};

}  // namespace berth
