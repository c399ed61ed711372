// Bounds of the largest load (objective throughput).
#pragma once

#include <cstdint>
#include <vector>

#include "exact/bound.h"

namespace berth::policies::exact {

/// Three arguments, each valid for every completion:
///
/// fixed loads   what fixed groups compute, receive and send; a tensor that cannot have all its
///               readers with it is sent, over the fastest route left. A group leaves a device
///               where the two together would reach the limit.
/// work          with a weight y per device (its speed), the largest load is at least the weighted
///               mean of all; what is not fixed adds, wherever it goes, no less than it would where
///               it adds least. A tensor to receive is shared out among those that may yet read it.
/// counting      of the j heaviest groups left, a device takes no more than fit below the limit,
///               lightest first; where the devices together take fewer than j, there is no
///               completion (for any j).
class LoadBound final : public Bound {
 public:
  /// Keeps the reference.
  explicit LoadBound(const ExactModel& model);

  double tighten(Domains& domains, double limit_us) override;

 private:
  void load_fixed(const Domains& domains);
  void load_tensor(const ExactModel::Tensor& tensor, std::size_t index, const Domains& domains);
  /// Whether anything was taken away.
  bool narrow(Domains& domains, double limit_us);
  [[nodiscard]] bool fits(const Domains& domains, GroupId group, DeviceId device,
                          double limit_us) const;
  [[nodiscard]] double work_us(const Domains& domains) const;
  [[nodiscard]] bool too_many(const Domains& domains, double limit_us);

  const ExactModel& model_;
  std::vector<double> load_us_;  // by device
  // Indexed by tensor whose producer is fixed: devices that receive it, readers that are not fixed,
  // and the cost of sending it so far.
  std::vector<DeviceSet> received_;
  std::vector<int> open_readers_;
  std::vector<double> sent_us_;
  std::vector<std::vector<double>> lightest_;  // by device: scratch of too_many
};

}  // namespace berth::policies::exact
