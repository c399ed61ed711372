// Keeping apart what constraints separate, group by group.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/export.h"
#include "berth/problem.h"
#include "berth/types.h"

namespace berth {

/// Where the separated groups of a problem are, kept up move by move, so that a search can ask of
/// each move whether it keeps them apart. Costs next to nothing for problems without separations.
/// [thread-compatible]
class BERTH_EXPORT SeparationTracker {
 public:
  /// `device_of_group` may break separations, and may hold kNoDevice for groups not yet placed.
  /// The problem must outlive this.
  SeparationTracker(const Problem& problem, std::span<const DeviceId> device_of_group);

  /// Whether the group is apart from others that are on `device` now.
  [[nodiscard]] bool may_be_on(GroupId group, DeviceId device) const;
  /// `from` or `to` kNoDevice = was, or will be, nowhere.
  void move(GroupId group, DeviceId from, DeviceId to);
  /// Groups that a separation names, ascending.
  [[nodiscard]] const std::vector<GroupId>& separated_groups() const noexcept { return groups_; }

 private:
  struct Presence {
    std::int32_t part;
    std::int32_t groups;
  };
  using Labels = std::vector<std::pair<std::size_t, std::int32_t>>;  // (separation, part)
  [[nodiscard]] std::size_t key(std::size_t separation, DeviceId device) const noexcept {
    return separation * devices_ + static_cast<std::size_t>(device);
  }

  std::size_t devices_;
  std::vector<GroupId> groups_;
  std::unordered_map<GroupId, Labels> labels_;                      // of groups_
  std::unordered_map<std::size_t, std::vector<Presence>> present_;  // by separation and device
};

/// Devices for all groups that a separation names, such that they are apart and can run there;
/// memory is not asked. Stays with `device_of_group` where a search finds that soon. Empty where
/// there are no separations. Throws Error(infeasible) where there are no such devices, or none are
/// found within a bounded search.
[[nodiscard]] BERTH_EXPORT std::vector<std::pair<GroupId, DeviceId>> separated_devices(
    const Problem& problem, std::span<const DeviceId> device_of_group);

}  // namespace berth
