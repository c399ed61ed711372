/// @file
/// Keeps groups apart that the constraints separate.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/export.h"
#include "berth/problem.h"
#include "berth/support/index.h"
#include "berth/types.h"

namespace berth {

/// Follows where the separated groups of a problem are, so that a search can ask of each move
/// whether it keeps them apart. Costs almost nothing for problems without separations.
/// [thread-compatible]
class BERTH_EXPORT SeparationTracker {
 public:
  /// `placement` may violate separations and may hold kNoDevice for groups not yet placed. The
  /// problem must outlive the tracker.
  SeparationTracker(const Problem& problem, const GroupPlacement& placement);

  /// Whether the group would be apart from the separated groups that are on `device` now.
  [[nodiscard]] bool may_be_on(GroupId group, DeviceId device) const;
  /// Records a move. kNoDevice as `from` or `to` = the group was, or will be, on no device.
  void move(GroupId group, DeviceId from, DeviceId to);
  /// The groups that a separation names, ascending.
  [[nodiscard]] const std::vector<GroupId>& separated_groups() const noexcept { return groups_; }

 private:
  struct Presence {
    std::int32_t part;
    std::int32_t groups;
  };
  using Labels = std::vector<std::pair<std::size_t, std::int32_t>>;  // (separation, part)
  [[nodiscard]] std::size_t key(std::size_t separation, DeviceId device) const noexcept {
    return separation * devices_ + at(device);
  }

  std::size_t devices_;
  std::vector<GroupId> groups_;
  std::unordered_map<GroupId, Labels> labels_;                      // of groups_
  std::unordered_map<std::size_t, std::vector<Presence>> present_;  // by separation and device
};

/// A device for every group that a separation names, such that all of them are apart and can run
/// there. Memory is not considered. Keeps the devices of `placement` if a short search finds
/// that possible. Empty for a problem without separations. Throws Error(infeasible) if there is no
/// such assignment, or a bounded search finds none.
[[nodiscard]] BERTH_EXPORT std::vector<std::pair<GroupId, DeviceId>> separated_devices(
    const Problem& problem, const GroupPlacement& placement);

}  // namespace berth
