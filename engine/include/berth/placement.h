/// @file
/// Which device every op, or every group of ops, is on.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "berth/support/index.h"
#include "berth/types.h"

namespace berth {

/// A device for every op of one graph, by op id.
using Placement = std::vector<DeviceId>;

/// A device for every group of one `Groups`, by group id. Groups::expand makes a Placement of it.
///
/// A type of its own: it converts neither to a Placement nor to the spans of devices by op that
/// evaluators and simulators take. [thread-compatible]
class GroupPlacement {
 public:
  GroupPlacement() = default;
  /// `count` groups, all on `device`.
  explicit GroupPlacement(std::size_t count, DeviceId device = kNoDevice)
      : devices_(count, device) {}
  explicit GroupPlacement(std::vector<DeviceId> devices) : devices_(std::move(devices)) {}
  GroupPlacement(std::initializer_list<DeviceId> devices) : devices_(devices) {}

  [[nodiscard]] std::size_t size() const noexcept { return devices_.size(); }
  [[nodiscard]] bool empty() const noexcept { return devices_.empty(); }
  [[nodiscard]] DeviceId operator[](GroupId group) const noexcept { return devices_[at(group)]; }
  [[nodiscard]] DeviceId& operator[](GroupId group) noexcept { return devices_[at(group)]; }
  /// Devices by group.
  [[nodiscard]] std::span<const DeviceId> devices() const noexcept { return devices_; }

  void reserve(std::size_t count) { devices_.reserve(count); }
  /// The device of the next group.
  void push_back(DeviceId device) { devices_.push_back(device); }

  friend bool operator==(const GroupPlacement&, const GroupPlacement&) = default;

 private:
  std::vector<DeviceId> devices_;
};

}  // namespace berth
