// The shells of baselines that spread a graph over devices.
#pragma once

#include <vector>

#include "berth/plugin.h"
#include "berth/policy.h"
#include "berth/problem.h"
#include "berth/sdk/repair.h"
#include "common/list_scheduling.h"
#include "common/schedule.h"

namespace berth::policies {

/// Devices that a baseline spreads a graph over, in the cluster's order: all, or all but the hosts.
/// A cluster of hosts only gives all of them. Never empty.
[[nodiscard]] std::vector<DeviceId> spread_devices(const Problem& problem, bool hosts);

/// How long an op takes where it is fastest, without what its device adds.
[[nodiscard]] double fastest_us(const Problem& problem, OpId op);

/// A policy with the options `hosts` and `repair` whose answer repair_placement puts right.
/// [thread-compatible]
class SpreadPolicy : public Policy {
 public:
  explicit SpreadPolicy(const Options& options)
      : hosts_(options.boolean("hosts")), repair_(options.boolean("repair")) {}

  [[nodiscard]] bool takes_starts() const override { return false; }
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    return repair_placement(problem, evaluator, spread(problem, spread_devices(problem, hosts_)),
                            repair_, context);
  }

 private:
  [[nodiscard]] virtual GroupPlacement spread(const Problem& problem,
                                              const std::vector<DeviceId>& devices) const = 0;

  bool hosts_;
  bool repair_;
};

/// A list scheduler with the options `hosts`, `contention` and `repair`. [thread-compatible]
class ListPolicy : public Policy {
 public:
  explicit ListPolicy(const Options& options)
      : hosts_(options.boolean("hosts")),
        contention_(options.boolean("contention")),
        repair_(options.boolean("repair")) {}

  [[nodiscard]] bool takes_starts() const override { return false; }
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    const std::vector<DeviceId> devices = spread_devices(problem, hosts_);
    prepare(problem, devices, context);
    return place_within_memory(problem, evaluator, context, repair_, [&](double output_share) {
      return schedule(problem, devices, {contention_, output_share}, context).placement();
    });
  }

 private:
  /// Called once, before the schedules.
  virtual void prepare(const Problem& /*problem*/, const std::vector<DeviceId>& /*devices*/,
                       const PlaceContext& /*context*/) {}
  [[nodiscard]] virtual Schedule schedule(const Problem& problem,
                                          const std::vector<DeviceId>& devices, ScheduleRules rules,
                                          const PlaceContext& context) const = 0;

  bool hosts_;
  bool contention_;
  bool repair_;
};

}  // namespace berth::policies
