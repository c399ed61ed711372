// A problem as the exact search sees it: the cost of each op and tensor on each device, and which
// devices are alike.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "berth/problem.h"

namespace berth::policies::exact {

/// Devices that a group may still get, a bit each.
using DeviceSet = std::uint64_t;

[[nodiscard]] inline bool is_fixed(DeviceSet set) noexcept {
  return std::has_single_bit(set);
}
/// The lowest device of a set that is not empty.
[[nodiscard]] inline DeviceId first_device(DeviceSet set) noexcept {
  return std::countr_zero(set);
}
[[nodiscard]] inline DeviceSet only(DeviceId device) noexcept {
  return DeviceSet{1} << device;
}
[[nodiscard]] inline bool has(DeviceSet set, DeviceId device) noexcept {
  return (set >> device & 1U) != 0;
}

/// Calls body(device) for each of a set, lowest first.
template <typename Body>
void for_each_device(DeviceSet set, Body&& body) {
  for (; set != 0; set &= set - 1) body(first_device(set));
}

/// A partial placement by group: the fixed devices, and those left to the rest.
using Domains = std::vector<DeviceSet>;

/// Immutable. [thread-safe]
class ExactModel {
 public:
  static constexpr DeviceId kMaxDevices = 64;

  /// At most kMaxDevices devices. Keeps a reference.
  explicit ExactModel(const Problem& problem);

  struct Tensor {
    OpId producer;
    GroupId group;  ///< of the producer
    std::int64_t bytes;
    std::vector<OpId> consumers;
    std::vector<GroupId> readers;  ///< groups of the consumers, distinct, without `group`
  };
  struct Arc {
    OpId src;
    OpId dst;
    std::size_t row;  ///< of arc_us
  };

  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
  [[nodiscard]] GroupId groups() const noexcept { return problem_.groups().count(); }
  [[nodiscard]] DeviceId devices() const noexcept { return problem_.cluster().device_count(); }
  [[nodiscard]] bool placeto() const noexcept {
    return problem_.options().semantics == Semantics::placeto;
  }
  [[nodiscard]] bool host(DeviceId device) const noexcept {
    return problem_.cluster().device(device).host;
  }

  /// Every group with the devices that can run it.
  [[nodiscard]] const Domains& all() const noexcept { return all_; }
  /// Groups, each after those it reads from where the quotient graph allows, and right after them
  /// where it can be: along paths.
  [[nodiscard]] const std::vector<GroupId>& path_order() const noexcept { return path_order_; }

  /// Time an op keeps a device, per-op overhead included; the pause after it is not.
  [[nodiscard]] double op_us(OpId op, DeviceId device) const noexcept {
    return op_us_[kind_row(device) + static_cast<std::size_t>(op)];
  }
  /// The device's pause after the op (placeto).
  [[nodiscard]] double pause_us(OpId op, DeviceId device) const noexcept {
    return pause_us_[kind_row(device) + static_cast<std::size_t>(op)];
  }
  /// Sum of op_us over a group.
  [[nodiscard]] double group_us(GroupId group, DeviceId device) const noexcept {
    return group_us_[static_cast<std::size_t>(problem_.cluster().kind_of(device)) * all_.size() +
                     static_cast<std::size_t>(group)];
  }
  /// Parameters that the group alone makes resident; 0 where the problem does not count them.
  [[nodiscard]] std::int64_t param_bytes(GroupId group) const noexcept {
    return param_bytes_[static_cast<std::size_t>(group)];
  }
  /// Takes devices from groups whose parameters find no room there beside those of the groups that are
  /// fixed. False if there is no completion with room for all.
  [[nodiscard]] bool keep_to_memory(Domains& domains) const;
  /// How fast a device is beside the fastest kind, over all that it can run; 1 for the fastest.
  [[nodiscard]] double speed(DeviceId device) const noexcept {
    return speed_[static_cast<std::size_t>(device)];
  }

  [[nodiscard]] const std::vector<Tensor>& tensors() const noexcept { return tensors_; }
  /// Tensors that the group produces or reads, of those with readers; ascending.
  [[nodiscard]] const std::vector<std::size_t>& tensors_at(GroupId group) const noexcept {
    return tensors_at_[static_cast<std::size_t>(group)];
  }
  /// One transfer, alone, between two different devices.
  [[nodiscard]] double transfer_us(std::int64_t bytes, DeviceId src, DeviceId dst) const noexcept;
  /// Its part of the load of `src` and of `dst`: a host pays for transfers with other hosts alone.
  [[nodiscard]] double send_us(std::int64_t bytes, DeviceId src, DeviceId dst) const noexcept {
    return pays(src, dst) ? transfer_us(bytes, src, dst) : 0;
  }
  [[nodiscard]] double receive_us(std::int64_t bytes, DeviceId src, DeviceId dst) const noexcept {
    return pays(dst, src) ? transfer_us(bytes, src, dst) : 0;
  }

  /// Arcs into (out of) an op, control edges included.
  [[nodiscard]] const std::vector<Arc>& in(OpId op) const noexcept {
    return in_[static_cast<std::size_t>(op)];
  }
  [[nodiscard]] const std::vector<Arc>& out(OpId op) const noexcept {
    return out_[static_cast<std::size_t>(op)];
  }
  /// Least time from the end of the arc's source on `src` to the start of its destination on
  /// another device `dst`.
  [[nodiscard]] double arc_us(const Arc& arc, DeviceId src, DeviceId dst) const noexcept {
    return arc_us_[(arc.row * static_cast<std::size_t>(devices()) + static_cast<std::size_t>(src)) *
                       static_cast<std::size_t>(devices()) +
                   static_cast<std::size_t>(dst)];
  }

  /// Whether exchanging two devices changes nothing but the order of events at one instant.
  [[nodiscard]] bool alike(DeviceId a, DeviceId b) const noexcept {
    return class_of_[static_cast<std::size_t>(a)] == class_of_[static_cast<std::size_t>(b)];
  }

 private:
  [[nodiscard]] bool pays(DeviceId device, DeviceId other) const noexcept {
    return !host(device) || host(other);
  }
  [[nodiscard]] std::size_t kind_row(DeviceId device) const noexcept {
    return static_cast<std::size_t>(problem_.cluster().kind_of(device)) *
           static_cast<std::size_t>(problem_.graph().op_count());
  }
  void cost_ops();
  void cost_groups();
  void order_along_paths();
  void collect_tensors();
  void collect_arcs();
  void classify_devices();
  [[nodiscard]] bool exchangeable(DeviceId a, DeviceId b) const;

  const Problem& problem_;
  Domains all_;
  std::vector<GroupId> path_order_;
  std::vector<double> op_us_, pause_us_;  // kind-major
  std::vector<double> group_us_;          // kind-major
  std::vector<std::int64_t> param_bytes_;
  bool memory_binds_ = false;  // whether some device has no room for the parameters of all groups
  std::vector<double> speed_;
  std::vector<Tensor> tensors_;
  std::vector<std::vector<std::size_t>> tensors_at_;
  std::vector<std::vector<Arc>> in_, out_;
  std::vector<double> arc_us_;  // arc row, source, destination
  std::vector<DeviceId> class_of_;
};

}  // namespace berth::policies::exact
