#include "topo/contiguous.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "berth/support/index.h"

namespace berth::policies::topo {
namespace {

constexpr std::size_t kMaxStates = 4096;

/// Sums over segments for devices that run the same groups at the same cost.
struct KindSums {
  std::vector<double> us;     // prefix sums of compute time
  std::vector<double> bytes;  // prefix sums of parameters
  std::vector<GroupId>
      next_bad;  // by group: the first at or after it that must not be on this kind
};

/// Devices that are the same to a segment: those with one memory size, too.
struct DeviceClass {
  std::vector<DeviceId> devices;
  const KindSums* sums = nullptr;
  double memory_bytes = kCannotRun;
};

class Cutter {
 public:
  Cutter(const Problem& problem, const std::vector<DeviceId>& devices, ContiguousRules rules)
      : problem_(problem), groups_(problem.groups().count()) {
    std::map<std::tuple<std::int32_t, std::int64_t>, std::size_t> index;
    for (const DeviceId device : devices) {
      const std::int64_t memory = problem.memory_bytes(device);
      const std::int32_t sort = problem.device_class(device);
      const auto [entry, is_new] = index.try_emplace({sort, memory}, classes_.size());
      if (is_new) {
        classes_.emplace_back();
        classes_.back().sums = &sums_[sort];
        if (rules.memory && memory != kNoLimit) {
          classes_.back().memory_bytes = static_cast<double>(memory);
        }
      }
      classes_[entry->second].devices.push_back(device);
    }
    std::vector<bool> runs_here(at(groups_), false);
    for (const DeviceClass& device_class : classes_) {
      for (GroupId group = 0; group < groups_; ++group) {
        if (problem.can_run(group, device_class.devices.front())) runs_here[at(group)] = true;
      }
    }
    for (const DeviceClass& device_class : classes_) {
      KindSums& sums = sums_[problem.device_class(device_class.devices.front())];
      if (sums.us.empty()) fill(sums, device_class.devices.front(), runs_here, rules);
    }
    number_states();
  }

  std::optional<GroupPlacement> best() {
    double high = 0;
    for (const DeviceClass& device_class : classes_) high += device_class.sums->us.back();
    if (!covers(high)) return std::nullopt;
    double low = 0;
    // `high` is always a load that can be had; halving ends where doubles do.
    for (int step = 0; step < 200 && high - low > 1e-13 * high; ++step) {
      const double middle = low + (high - low) / 2;
      (covers(middle) ? high : low) = middle;
    }
    covers(high);
    return placement();
  }

 private:
  void fill(KindSums& sums, DeviceId device, const std::vector<bool>& runs_here,
            ContiguousRules rules) const {
    sums.us.assign(1, 0);
    sums.bytes.assign(1, 0);
    sums.next_bad.assign(at(groups_) + 1, groups_);
    for (GroupId group = 0; group < groups_; ++group) {
      const bool can = problem_.can_run(group, device);
      const double us = can ? problem_.group_cost_us(group, device) : 0;
      const auto bytes = can ? static_cast<double>(problem_.group_param_bytes(group)) : 0;
      sums.us.push_back(sums.us.back() + us);
      sums.bytes.push_back(sums.bytes.back() + bytes);
    }
    for (GroupId group = groups_ - 1; group >= 0; --group) {
      const bool bad = rules.kinds && runs_here[at(group)] && !problem_.can_run(group, device);
      sums.next_bad[at(group)] = bad ? group : sums.next_bad[at(group) + 1];
    }
  }

  /// A state is how many devices of each class are used, in mixed radix; if there are too many
  /// of them, how many devices of all in the cluster's order.
  void number_states() {
    std::size_t states = 1;
    for (const DeviceClass& device_class : classes_) {
      stride_.push_back(states);
      states = std::min(kMaxStates + 1, states * (device_class.devices.size() + 1));
    }
    if (states <= kMaxStates) {
      furthest_.resize(states);
    } else {
      for (std::size_t c = 0; c < classes_.size(); ++c) {
        for (const DeviceId device : classes_[c].devices) fixed_order_.emplace_back(device, c);
      }
      std::sort(fixed_order_.begin(), fixed_order_.end());
      furthest_.resize(fixed_order_.size() + 1);
    }
    last_class_.resize(furthest_.size());
    used_.resize(furthest_.size(), 0);
    for (std::size_t state = 1; state < used_.size(); ++state) used_[state] = devices_used(state);
  }

  [[nodiscard]] std::size_t devices_used(std::size_t state) const {
    if (!fixed_order_.empty()) return state;
    std::size_t used = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c) used += used_of(c, state);
    return used;
  }
  [[nodiscard]] std::size_t used_of(std::size_t c, std::size_t state) const {
    return state / stride_[c] % (classes_[c].devices.size() + 1);
  }

  /// The end of the longest segment from `from` on a device of this class within `limit_us`.
  [[nodiscard]] GroupId reach(const DeviceClass& device_class, GroupId from,
                              double limit_us) const {
    const auto last_within = [&](const std::vector<double>& sums, double limit) {
      const auto past = std::upper_bound(sums.begin() + from, sums.end(), sums[at(from)] + limit);
      return static_cast<GroupId>(past - sums.begin()) - 1;
    };
    return std::min({last_within(device_class.sums->us, limit_us),
                     last_within(device_class.sums->bytes, device_class.memory_bytes),
                     device_class.sums->next_bad[at(from)]});
  }

  /// Whether all groups can be covered with no segment above `limit_us`: the furthest group that
  /// each set of used devices can reach. Reaching further never hurts what follows.
  bool covers(double limit_us) {
    furthest_[0] = 0;
    for (std::size_t state = 1; state < furthest_.size(); ++state) {
      furthest_[state] = -1;
      const auto consider = [&](std::size_t c, std::size_t before) {
        const GroupId end = reach(classes_[c], furthest_[before], limit_us);
        if (end <= furthest_[state]) return;
        furthest_[state] = end;
        last_class_[state] = c;
      };
      if (!fixed_order_.empty()) {
        consider(fixed_order_[state - 1].second, state - 1);
        continue;
      }
      for (std::size_t c = 0; c < classes_.size(); ++c) {
        if (used_of(c, state) > 0) consider(c, state - stride_[c]);
      }
    }
    // With the fewest devices that do: every one more is a cut more.
    final_state_ = furthest_.size();
    for (std::size_t state = 0; state < furthest_.size(); ++state) {
      if (furthest_[state] < groups_) continue;
      if (final_state_ == furthest_.size() || used_[state] < used_[final_state_]) {
        final_state_ = state;
      }
    }
    return final_state_ < furthest_.size();
  }

  GroupPlacement placement() const {
    GroupPlacement result(at(groups_), kNoDevice);
    // The segments from the last to the first, then devices of each class in the cluster's order.
    std::vector<std::pair<std::size_t, std::pair<GroupId, GroupId>>> segments;
    for (std::size_t state = final_state_; state > 0;) {
      const std::size_t c = last_class_[state];
      const std::size_t before = fixed_order_.empty() ? state - stride_[c] : state - 1;
      segments.push_back({c, {furthest_[before], furthest_[state]}});
      state = before;
    }
    std::vector<std::size_t> used(classes_.size(), 0);
    for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
      const auto [c, range] = *segment;
      const DeviceId device = classes_[c].devices[used[c]++];
      for (GroupId group = range.first; group < range.second; ++group) result[group] = device;
    }
    return result;
  }

  const Problem& problem_;
  GroupId groups_;
  std::map<std::int32_t, KindSums> sums_;  // by Problem::device_class; a map: classes point into it
  std::vector<DeviceClass> classes_;
  std::vector<std::size_t> stride_;
  std::vector<std::pair<DeviceId, std::size_t>> fixed_order_;  // empty: all orders are searched
  std::vector<GroupId> furthest_;                              // by state: the groups covered
  std::vector<std::size_t> last_class_;                        // by state
  std::vector<std::size_t> used_;                              // by state: how many devices
  std::size_t final_state_ = 0;
};

}  // namespace

std::optional<GroupPlacement> cut_contiguously(const Problem& problem,
                                               const std::vector<DeviceId>& devices,
                                               ContiguousRules rules) {
  return Cutter(problem, devices, rules).best();
}

}  // namespace berth::policies::topo
