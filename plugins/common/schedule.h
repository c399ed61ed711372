// A schedule of one step that grows op by op, for list schedulers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "berth/problem.h"
#include "berth/sdk/footprint.h"
#include "berth/support/index.h"
#include "common/engines.h"
#include "common/timeline.h"

namespace berth::policies {

struct ScheduleRules {
  /// True: a transfer waits for an outgoing engine of the sender (`placeto`: only its bus), an
  /// incoming engine of the receiver and the route's channels, after what was scheduled before it.
  /// Executors keep queues, so gaps before it are lost, unlike those of a device. False: each
  /// transfer takes only its route's time, as in the classic papers, and as over parallel links.
  bool contention = true;
  /// How much of the outputs, and of their copies on other devices, counts against a device's
  /// memory; see Footprint. With 1, groups of one op and no workspaces, what has room fits.
  double output_share = 0;
};

/// Ops with their starts, the transfers between them, and the memory of their groups. The first
/// placed op of a group fixes the device of all. It is an estimate: an executor orders ops and
/// transfers by its own rules. [thread-compatible]
class Schedule {
 public:
  Schedule(const Problem& problem, ScheduleRules rules);

  /// How long `op` keeps `device` busy, overheads and pauses included; kCannotRun if it cannot.
  [[nodiscard]] double busy_us(OpId op, DeviceId device) const;
  /// When the inputs of `op` that are placed so far could be on `device`. Without contention it
  /// does not change while other ops are placed, but for copies that they leave there.
  [[nodiscard]] double ready_us(OpId op, DeviceId device) const;
  /// The first gap of the device that is long enough for `op`, from `ready_us` on.
  [[nodiscard]] double start_us(OpId op, DeviceId device, double ready_us) const;
  /// From here on the device is free.
  [[nodiscard]] double free_us(DeviceId device) const { return devices_[at(device)].end_us(); }

  /// Schedules `op`, whose producers are placed and whose device is its group's or, if it has none
  /// yet, any; and the transfers of its inputs.
  void place(OpId op, DeviceId device);

  [[nodiscard]] bool placed(OpId op) const { return end_us_[at(op)] >= 0; }
  [[nodiscard]] double end_us(OpId op) const { return end_us_[at(op)]; }

  /// kNoDevice where no op of the group is placed yet.
  [[nodiscard]] DeviceId device_of(GroupId group) const { return placement_[group]; }
  /// Whether the device's memory holds the group beside what was placed there.
  [[nodiscard]] bool has_room(GroupId group, DeviceId device) const;
  /// Whether all that was placed has room.
  [[nodiscard]] bool fits() const;
  /// The devices of `among` that can run the group and have room for it. If none has room, the one
  /// that overflows least. If none of `among` can run it, the same for all devices.
  void candidates(GroupId group, const std::vector<DeviceId>& among,
                  std::vector<DeviceId>& out) const;
  /// Device by group; what was not placed goes to the first device that can run it.
  [[nodiscard]] GroupPlacement placement() const;

 private:
  static constexpr std::int32_t kNone = -1;
  /// A tensor that arrives on a device; the copies of one tensor are a chain.
  struct Copy {
    DeviceId device;
    double arrival_us;
    std::int32_t next;
  };

  [[nodiscard]] std::int64_t copy_bytes(TensorId tensor) const;
  /// Bytes of the copies that would come to `device` with the group, as far as is known.
  [[nodiscard]] std::int64_t incoming_bytes(GroupId group, DeviceId device) const;
  /// Bytes that the device would hold with the group on it.
  [[nodiscard]] std::int64_t filled_bytes(GroupId group, DeviceId device) const;
  void narrow(GroupId group, const std::vector<DeviceId>& among, std::vector<DeviceId>& out) const;
  /// The arrival of `tensor` on `device` if it was sent there already, else a negative number.
  [[nodiscard]] double known_arrival_us(TensorId tensor, DeviceId device) const;
  [[nodiscard]] double transfer_us(TensorId tensor, const Route& route) const;
  /// Whether a transfer over it waits for others.
  [[nodiscard]] bool contends(const Route& route) const {
    return rules_.contention && (broadcasts_ || !route.parallel);
  }
  [[nodiscard]] double transfer_start_us(const Route& route, DeviceId src, DeviceId dst,
                                         double from_us) const;
  double send(const Edge& edge, DeviceId src, DeviceId dst);

  const Problem& problem_;
  const Graph& graph_;
  const Cluster& cluster_;
  std::span<const GroupId> group_of_;  // by op
  ScheduleRules rules_;
  bool broadcasts_;  // placeto: one transfer reaches all receivers
  double device_gap_us_ = 0;
  double transfer_gap_us_ = 0;
  GroupPlacement placement_;
  Footprint footprint_;
  std::vector<std::int64_t> used_bytes_;  // by device
  std::vector<double> end_us_;            // by op; negative = not placed
  std::vector<Timeline> devices_;
  Engines engines_;
  /// When the engines and channels have carried all that is queued for them.
  std::vector<double> outgoing_us_, incoming_us_, channels_us_;
  std::vector<std::int32_t> first_copy_;  // by tensor, into copies_
  std::vector<Copy> copies_;
};

}  // namespace berth::policies
