// Devices for separated items, or the proof that there are none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "berth/support/index.h"
#include "berth/types.h"

namespace berth {

/// Items are groups. Depth-first search: the most restricted item comes first, and of devices that
/// are alike only one is tried. The work is limited, because the problem contains graph colouring.
class SeparationSearch {
 public:
  using Item = GroupId;
  using Parts = std::vector<std::vector<Item>>;  ///< items of different parts share no device

  SeparationSearch(DeviceId device_count, const std::vector<Parts>& separations,
                   const std::function<bool(Item, DeviceId)>& can_be_on);

  /// A separation whose parts cannot each have a device, even without other separations (there is
  /// no matching of parts and devices).
  [[nodiscard]] std::optional<std::size_t> crowded() const;

  /// A device that an item prefers; tried first.
  void prefer(Item item, DeviceId device);

  enum class Result { found, impossible, unknown };
  Result run();
  /// After found: every item's device.
  [[nodiscard]] std::vector<std::pair<Item, DeviceId>> devices() const;

 private:
  struct Node {
    std::vector<Item> items;  ///< the same in all that counts: one may be where another is
    std::vector<bool> allowed;
    std::vector<std::pair<std::int32_t, std::int32_t>> labels;  ///< (separation, part)
    std::vector<std::int32_t> votes;                            ///< by device
    DeviceId device = kNoDevice;
  };
  struct Owner {
    std::int32_t part = -1;
    std::int32_t count = 0;
  };

  [[nodiscard]] bool free_for(const Node& node, DeviceId device) const;
  [[nodiscard]] bool unused(DeviceId device) const;
  [[nodiscard]] Node* most_restricted();
  [[nodiscard]] std::vector<DeviceId> candidates(const Node& node) const;
  void assign(Node& node, DeviceId device);
  void release(Node& node);
  Result search();
  Owner& owner(std::int32_t separation, DeviceId device) {
    return owners_[at(separation) * devices_ + at(device)];
  }
  [[nodiscard]] const Owner& owner(std::int32_t separation, DeviceId device) const {
    return owners_[at(separation) * devices_ + at(device)];
  }

  std::size_t devices_;
  std::vector<Node> nodes_;
  std::vector<std::vector<std::vector<std::size_t>>> nodes_of_part_;  // by separation, part
  std::vector<Owner> owners_;                                         // by separation, device
  std::vector<std::int32_t> uses_;                                    // by device
  std::vector<std::int32_t> column_of_;  // by device: equal = no node tells them apart
  double work_left_ = 5e7;
};

}  // namespace berth
