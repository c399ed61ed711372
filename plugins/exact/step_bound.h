// Bounds of a step's runtime (objective latency).
#pragma once

#include <vector>

#include "berth/support/one_machine.h"
#include "common/engines.h"
#include "exact/bound.h"

namespace berth::policies::exact {

/// Every argument below relaxes what both semantics have in common. None assumes an order of ops
/// that the simulator leaves to its queues. Because of scheduling anomalies, nothing is deduced
/// from simulating a part of the graph.
///
/// paths     head(v, d), no op v on device d starts before it: for every arc u -> v the end of u on
///           the device left to it that is best, then the device's pause (same device) or the
///           transfer (another). tail(v, d), the least time from v's start to the end of the step,
///           is the same backwards. A group leaves a device where head + tail reach the limit.
/// devices   the ops fixed to a device run on one machine, pauses included; so does each further op
///           if it is put there, which therefore leaves where that reaches the limit.
/// senders   so do the transfers that an outgoing engine must carry: one per tensor in placeto semantics, with
///           the bus's pause, one per receiving device in dataflow semantics; none over parallel links.
/// work      all devices in use together: each is idle until its first op can start and after its
///           last has ended, and no two have the same first or last op; the least over all numbers
///           of devices in use. Where speeds differ: the weighted mean of what they do.
class StepBound final : public Bound {
 public:
  /// Keeps the reference.
  explicit StepBound(const ExactModel& model);

  double tighten(Domains& domains, double limit_us) override;

 private:
  [[nodiscard]] std::size_t cell(OpId op, DeviceId device) const noexcept {
    return static_cast<std::size_t>(op) * static_cast<std::size_t>(model_.devices()) +
           static_cast<std::size_t>(device);
  }
  [[nodiscard]] GroupId group_of(OpId op) const noexcept {
    return model_.problem().groups().of(op);
  }
  [[nodiscard]] double occupied_us(OpId op, DeviceId device) const noexcept {
    return model_.op_us(op, device) + model_.pause_us(op, device);
  }
  /// Sets of the arc's other end, given the device of this end: itself, where they are one group.
  [[nodiscard]] DeviceSet set_of(const Domains& domains, GroupId group, GroupId other,
                                 DeviceId device) const noexcept {
    return group == other ? only(device) : domains[static_cast<std::size_t>(other)];
  }

  void compute_heads(const Domains& domains);
  void compute_tails(const Domains& domains);
  /// The longest path; takes devices away. `changed`: whether it did.
  double narrow_by_paths(Domains& domains, double limit_us, bool& changed) const;
  void collect_jobs(const Domains& domains);
  double devices_us();
  bool narrow_by_devices(Domains& domains, double limit_us) const;
  double senders_us(const Domains& domains);
  void add_sends(const ExactModel::Tensor& tensor, DeviceId src, const Domains& domains);
  double work_us(const Domains& domains);
  [[nodiscard]] double latest_tail_us(const ExactModel::Tensor& tensor, DeviceSet away,
                                      const Domains& domains) const;

  const ExactModel& model_;
  std::vector<double> head_us_, tail_us_;      // by op, device
  std::vector<std::vector<MachineJob>> jobs_;  // by device
  Engines engines_;
  std::vector<std::vector<MachineJob>> sends_;  // by outgoing engine
  std::vector<double> first_us_, last_us_;
  bool equal_speeds_ = true;
};

}  // namespace berth::policies::exact
