// Shares of a batch for devices of several kinds.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "berth/outcome.h"
#include "host/replica_models.h"

namespace berth {

/// Whether equal shares suit the devices.
[[nodiscard]] bool are_of_one_kind(const std::vector<DeviceId>& devices, const Cluster& cluster);

/// Finds shares with which replicas of one device each end together. [thread-compatible]
class ReplicaShares {
 public:
  /// Both must outlive this.
  ReplicaShares(ReplicaModels& models, const Cluster& cluster)
      : models_(models), cluster_(cluster) {}

  /// Indexed by op: it reads what is reduced, or follows what does.
  [[nodiscard]] const std::vector<bool>& behind_reduction();
  /// Work of these ops, of the model at so many samples, in microseconds.
  [[nodiscard]] double updates_us(std::int64_t samples, KindId kind);

  /// The fastest first.
  [[nodiscard]] std::vector<DeviceId> by_speed(std::vector<DeviceId> devices);
  /// Shares with which the lines of all devices end together, rounded to samples; nothing where a device
  /// would have none.
  [[nodiscard]] std::optional<ReplicaPlan> even_ends(const std::vector<DeviceId>& devices);
  /// The plan with samples moved from the kind that ends last to the one that ends first; nothing where
  /// there is one kind, or none has samples to give.
  [[nodiscard]] std::optional<ReplicaPlan> shifted(const ReplicaPlan& plan,
                                                   const ReplicaTimes& times) const;

 private:
  /// Work of the ops that the kind can run and that are marked; of all, if none is.
  double work_us(std::int64_t samples, KindId kind, const std::vector<bool>& marked);
  /// The step of one device by its samples: a constant and what each adds, in microseconds.
  std::pair<double, double> line(DeviceId device);

  ReplicaModels& models_;
  const Cluster& cluster_;
  std::map<KindId, std::pair<double, double>> lines_;
  std::vector<bool> behind_;  // by op; empty = not looked for yet
};

}  // namespace berth
