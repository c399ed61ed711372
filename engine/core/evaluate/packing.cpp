#include "evaluate/packing.h"

#include <algorithm>
#include <map>
#include <utility>

#include "berth/support/index.h"
#include "berth/support/sums.h"

namespace berth {
namespace {

/// The search would not get through more groups; the small ones find room between them.
constexpr std::size_t kMostGroups = 160;
/// Steps of the whole search, some 10 ms, and for the ways to fill one device.
constexpr std::int64_t kMostSteps = 400000;
constexpr std::int64_t kMostStepsOfDevice = 2000;
/// The fullest are looked at.
constexpr std::size_t kMostWays = 200;

using Index = std::size_t;

class Packing {
 public:
  Packing(const Problem& problem, const std::vector<std::int64_t>& bytes,
          const std::vector<std::int64_t>& capacity, const GroupPlacement& placement)
      : capacity_(capacity), open_(capacity.size(), true) {
    collect(problem, bytes);
    compare_sets();
    find_classes(problem);
    for (const Item& item : items_) now_.push_back(placement[item.group]);
    found_.assign(items_.size(), kNoDevice);
  }

  PackingEnd run(GroupPlacement& placement) {
    if (!fill_devices())
      return whole_ && steps_left_ > 0 ? PackingEnd::none_exists : PackingEnd::gave_up;
    for (Index i = 0; i < items_.size(); ++i) placement[items_[i].group] = found_[i];
    return PackingEnd::found;
  }

 private:
  struct Item {
    std::int64_t bytes;
    GroupId group;
    std::int32_t able;  ///< index of the set of devices that can run it
  };
  /// A way to fill a device: what it takes, and what it leaves of the capacity.
  struct Way {
    std::int64_t left;
    std::vector<Index> items;
  };

  /// The largest first.
  void collect(const Problem& problem, const std::vector<std::int64_t>& bytes) {
    std::map<std::vector<bool>, std::int32_t> numbers;
    for (GroupId group = 0; group < problem.groups().count(); ++group) {
      if (bytes[at(group)] == 0) continue;
      std::vector<bool> able;
      for (DeviceId d = 0; d < problem.cluster().device_count(); ++d) {
        able.push_back(problem.can_run(group, d));
      }
      const auto [entry, is_new] =
          numbers.try_emplace(able, static_cast<std::int32_t>(able_.size()));
      if (is_new) able_.push_back(std::move(able));
      items_.push_back({bytes[at(group)], group, entry->second});
    }
    std::stable_sort(items_.begin(), items_.end(),
                     [](const Item& a, const Item& b) { return a.bytes > b.bytes; });
    if (items_.size() > kMostGroups) items_.resize(kMostGroups);
  }

  /// Which sets of devices are parts of which.
  void compare_sets() {
    for (const std::vector<bool>& set : able_) {
      std::vector<bool> within;
      for (const std::vector<bool>& other : able_) {
        bool part = true;
        for (Index d = 0; d < set.size(); ++d) part = part && (set[d] || !other[d]);
        within.push_back(part);
      }
      within_.push_back(std::move(within));
    }
  }

  /// Devices are alike that have the same capacity and can run the same groups.
  void find_classes(const Problem& problem) {
    std::map<std::pair<std::int64_t, std::vector<bool>>, std::int32_t> numbers;
    for (DeviceId d = 0; d < problem.cluster().device_count(); ++d) {
      std::vector<bool> runs;
      for (const std::vector<bool>& able : able_) runs.push_back(able[at(d)]);
      const auto number = static_cast<std::int32_t>(numbers.size());
      class_of_.push_back(numbers.try_emplace({capacity_[at(d)], runs}, number).first->second);
    }
  }

  [[nodiscard]] bool can_run(Index item, DeviceId device) const {
    return able_[at(items_[item].able)][at(device)];
  }

  /// The item left that the fewest open devices can run, the largest of those; all = none is left.
  [[nodiscard]] Index hardest() const {
    std::vector<int> open(able_.size(), 0);  // devices of each set
    for (Index set = 0; set < able_.size(); ++set) {
      for (Index d = 0; d < open_.size(); ++d) open[set] += open_[d] && able_[set][d] ? 1 : 0;
    }
    Index hardest = items_.size();
    for (Index i = 0; i < items_.size(); ++i) {
      if (found_[i] != kNoDevice) continue;
      const bool harder =
          hardest == items_.size() || open[at(items_[i].able)] < open[at(items_[hardest].able)];
      if (harder) hardest = i;
    }
    return hardest;
  }

  /// The bytes that the open devices may leave empty, all together; negative where they, or those that alone can
  /// run some of the items, have too little room.
  [[nodiscard]] std::int64_t slack() const {
    std::vector<std::int64_t> needed(able_.size(), 0);  // by items of each set
    for (Index i = 0; i < items_.size(); ++i) {
      std::int64_t& bytes = needed[at(items_[i].able)];
      if (found_[i] == kNoDevice) bytes = saturating_sum(bytes, items_[i].bytes);
    }
    for (Index set = 0; set < able_.size(); ++set) {
      std::int64_t of_set = 0;
      for (Index other = 0; other < able_.size(); ++other) {
        if (within_[set][other]) of_set = saturating_sum(of_set, needed[other]);
      }
      if (of_set > room(&able_[set])) return -1;
    }
    std::int64_t of_all = 0;
    for (const std::int64_t bytes : needed) of_all = saturating_sum(of_all, bytes);
    const std::int64_t room = this->room(nullptr);
    return room == kNoLimit ? kNoLimit : room - of_all;
  }

  /// The capacity of the open devices among `set`; null = of all.
  [[nodiscard]] std::int64_t room(const std::vector<bool>* set) const {
    std::int64_t room = 0;
    for (Index d = 0; d < open_.size(); ++d) {
      if (open_[d] && (set == nullptr || (*set)[d])) room = saturating_sum(room, capacity_[d]);
    }
    return room;
  }

  bool fill_devices() {
    const Index first = hardest();
    if (first == items_.size()) return true;
    const std::int64_t slack = this->slack();
    if (slack < 0) return false;
    for (const DeviceId device : devices_for(first)) {
      open_[at(device)] = false;
      for (const Way& way : ways(first, device, slack)) {
        for (const Index item : way.items) found_[item] = device;
        if (fill_devices()) return true;
        for (const Index item : way.items) found_[item] = kNoDevice;
        if (steps_left_ <= 0) return false;
      }
      open_[at(device)] = true;
    }
    return false;
  }

  /// Open devices that can run the item, one of each class; the one where it is now comes first.
  [[nodiscard]] std::vector<DeviceId> devices_for(Index item) const {
    std::vector<DeviceId> order{now_[item]};
    for (DeviceId d = 0; at(d) < open_.size(); ++d) order.push_back(d);
    std::vector<bool> seen(open_.size(), false);
    std::vector<DeviceId> devices;
    for (const DeviceId d : order) {
      if (!open_[at(d)] || !can_run(item, d) || capacity_[at(d)] < items_[item].bytes) continue;
      if (seen[at(class_of_[at(d)])]) continue;
      seen[at(class_of_[at(d)])] = true;
      devices.push_back(d);
    }
    return devices;
  }

  /// The ways to fill the device with `first` and others so that at most `slack` is left and no other
  /// item finds room there, the fullest first.
  std::vector<Way> ways(Index first, DeviceId device, std::int64_t slack) {
    others_.clear();
    for (Index i = 0; i < items_.size(); ++i) {
      if (i != first && found_[i] == kNoDevice && can_run(i, device)) others_.push_back(i);
    }
    rest_.assign(others_.size() + 1, 0);
    for (Index i = others_.size(); i-- > 0;) {
      rest_[i] = saturating_sum(rest_[i + 1], items_[others_[i]].bytes);
    }
    std::vector<Way> all;
    std::vector<Index> taken{first};
    steps_of_device_left_ = kMostStepsOfDevice;
    extend(0, capacity_[at(device)] - items_[first].bytes, kNoLimit, slack, taken, all);
    const auto looked_at = static_cast<std::int64_t>(items_.size() + open_.size());
    steps_left_ -= looked_at + kMostStepsOfDevice - steps_of_device_left_;
    std::stable_sort(all.begin(), all.end(),
                     [](const Way& a, const Way& b) { return a.left < b.left; });
    whole_ = whole_ && steps_of_device_left_ > 0 && all.size() <= kMostWays;
    if (all.size() > kMostWays) all.resize(kMostWays);
    return all;
  }

  /// `least_out`: bytes of the smallest item that was left out.
  void extend(Index i, std::int64_t left, std::int64_t least_out, std::int64_t slack,
              std::vector<Index>& taken, std::vector<Way>& all) {
    if (--steps_of_device_left_ <= 0) return;
    while (i < others_.size() && items_[others_[i]].bytes > left) ++i;
    if (left - rest_[i] > slack || left - rest_[i] >= least_out) return;
    if (i == others_.size()) {
      all.push_back({left, taken});
      return;
    }
    const Item& item = items_[others_[i]];
    taken.push_back(others_[i]);
    extend(i + 1, left - item.bytes, least_out, slack, taken, all);
    taken.pop_back();
    // The first ones are taken of items that are alike.
    for (++i; i < others_.size(); ++i) {
      const Item& next = items_[others_[i]];
      if (next.bytes != item.bytes || next.able != item.able) break;
    }
    extend(i, left, std::min(least_out, item.bytes), slack, taken, all);
  }

  const std::vector<std::int64_t>& capacity_;
  std::vector<Item> items_;
  std::vector<std::vector<bool>> able_;    // the distinct sets of devices
  std::vector<std::vector<bool>> within_;  // by set: the sets that are parts of it
  std::vector<std::int32_t> class_of_;     // by device
  std::vector<DeviceId> now_;              // by item
  std::vector<bool> open_;                 // by device
  std::vector<DeviceId> found_;            // by item
  std::vector<Index> others_;              // that may be beside the first item of a device
  std::vector<std::int64_t> rest_;         // bytes of the others from each on
  std::int64_t steps_left_ = kMostSteps;
  std::int64_t steps_of_device_left_ = 0;
  bool whole_ = true;  // whether no way was left out
};

}  // namespace

PackingEnd pack_largest(const Problem& problem, const std::vector<std::int64_t>& bytes,
                        const std::vector<std::int64_t>& capacity, GroupPlacement& placement) {
  return Packing(problem, bytes, capacity, placement).run(placement);
}

}  // namespace berth
