// What is to be solved: a graph, a machine, costs, and what counts as good.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "berth/cluster.h"
#include "berth/constraints.h"
#include "berth/costs.h"
#include "berth/export.h"
#include "berth/graph.h"
#include "berth/groups.h"
#include "berth/types.h"

namespace berth {

/// A device for every op of one graph, by op id.
using Placement = std::vector<DeviceId>;

enum class Objective {
  latency,     ///< runtime of one step
  throughput,  ///< the largest load of any device when steps are pipelined
};

/// The rules of a simulated step; see simulator.h.
enum class Semantics { dataflow, placeto };

/// Throws Error(invalid_argument) for anything but "latency" or "throughput".
[[nodiscard]] BERTH_EXPORT Objective objective_from_name(std::string_view name);
[[nodiscard]] BERTH_EXPORT std::string_view objective_name(Objective objective) noexcept;
/// Throws Error(invalid_argument) for anything but "dataflow" or "placeto".
[[nodiscard]] BERTH_EXPORT Semantics semantics_from_name(std::string_view name);
[[nodiscard]] BERTH_EXPORT std::string_view semantics_name(Semantics semantics) noexcept;

struct ProblemOptions {
  Objective objective = Objective::latency;
  Semantics semantics = Semantics::dataflow;
  /// `placeto` semantics only: the pause of a device after an op and of a bus after a transfer
  /// (defaults: the published simulator's, PAPERS A6.2).
  double device_gap_us = 5.7;
  double transfer_gap_us = 25;
};

/// Immutable. [thread-safe]
class BERTH_EXPORT Problem {
 public:
  /// `groups` null = the finest (finest_groups). Under `constraints` (null = none) they are made to
  /// obey them (regroup). Throws Error(invalid_argument) where the parts do not belong together or
  /// a co-location class of the graph is split between groups, Error(infeasible) naming an op or
  /// group that no device kind of the cluster can run.
  Problem(std::shared_ptr<const Graph> graph, std::shared_ptr<const Cluster> cluster,
          std::shared_ptr<const Costs> costs, std::shared_ptr<const Groups> groups = nullptr,
          ProblemOptions options = {}, std::shared_ptr<const Constraints> constraints = nullptr);

  [[nodiscard]] const Graph& graph() const noexcept { return *graph_; }
  [[nodiscard]] const Cluster& cluster() const noexcept { return *cluster_; }
  [[nodiscard]] const Costs& costs() const noexcept { return *costs_; }
  [[nodiscard]] const Groups& groups() const noexcept { return *groups_; }
  [[nodiscard]] const std::shared_ptr<const Graph>& shared_graph() const noexcept { return graph_; }
  [[nodiscard]] const std::shared_ptr<const Cluster>& shared_cluster() const noexcept {
    return cluster_;
  }
  [[nodiscard]] const std::shared_ptr<const Costs>& shared_costs() const noexcept { return costs_; }
  [[nodiscard]] const std::shared_ptr<const Groups>& shared_groups() const noexcept {
    return groups_;
  }
  [[nodiscard]] const ProblemOptions& options() const noexcept { return options_; }
  /// Null = none.
  [[nodiscard]] const std::shared_ptr<const Constraints>& constraints() const noexcept {
    return constraints_;
  }

  /// Whether the constraints let `op` be on `device`; what its kind can run is another question.
  [[nodiscard]] bool allowed(OpId op, DeviceId device) const noexcept {
    return constraints_ == nullptr || constraints_->allowed(op, device);
  }
  /// What a placement may use of the device's memory: all but the margin that constraints keep
  /// free; kNoLimit where there is no limit.
  [[nodiscard]] std::int64_t memory_bytes(DeviceId device) const noexcept {
    return constraints_ == nullptr ? cluster_->device(device).memory_bytes
                                   : constraints_->memory_bytes(device);
  }
  /// The finest groups a placement may use: co-location of the graph and of the constraints.
  [[nodiscard]] std::shared_ptr<const Groups> finest_groups() const;

  /// Compute time of `op` on `device`, without the per-op overhead; kCannotRun if it cannot or is
  /// not allowed to.
  [[nodiscard]] double cost_us(OpId op, DeviceId device) const noexcept {
    return allowed(op, device) ? costs_->op_us(op, cluster_->kind_of(device)) : kCannotRun;
  }
  /// Sum of cost_us over a group's members.
  [[nodiscard]] double group_cost_us(GroupId group, DeviceId device) const noexcept {
    return group_us_[static_cast<std::size_t>(device_class(device)) *
                         static_cast<std::size_t>(groups_->count()) +
                     static_cast<std::size_t>(group)];
  }
  /// Devices of one class have the same kind and run the same groups; without constraints a class
  /// is a kind. Dense, from 0. Memory and links may differ.
  [[nodiscard]] std::int32_t device_class(DeviceId device) const noexcept {
    return device_class_[static_cast<std::size_t>(device)];
  }
  [[nodiscard]] std::int32_t device_class_count() const noexcept { return device_class_count_; }
  /// Whether the group may be on the device, as to kinds and constraints.
  [[nodiscard]] bool can_run(GroupId group, DeviceId device) const noexcept {
    return group_cost_us(group, device) < kCannotRun;
  }
  /// Sum of Graph::param_bytes over a group's members.
  [[nodiscard]] std::int64_t group_param_bytes(GroupId group) const noexcept {
    return group_param_bytes_[static_cast<std::size_t>(group)];
  }

  /// Groups of different parts share no device.
  struct Separation {
    std::size_t rule;  ///< of the constraints
    std::vector<std::vector<GroupId>> parts;
  };
  /// What the constraints keep apart, by group; empty where there is nothing. can_run does not know
  /// of it, for it depends on where others are: see separation.h.
  [[nodiscard]] const std::vector<Separation>& separations() const noexcept { return separations_; }

  /// Throws Error naming the op and the fix unless `placement` has one valid device per op, that
  /// device can run the op and the constraints allow it there, every co-location class (of the
  /// graph and of the constraints) is on one device, and what is to be apart is. Ops of a coarser
  /// group may be apart: groups are a policy's working grain, not a constraint.
  /// Memory is not checked here: that is an evaluation's `feasible`.
  void validate(const Placement& placement) const;
  /// The same but for separations: what an evaluator takes. A search may pass through placements
  /// that do not keep them; their evaluation is not feasible.
  void validate_but_separations(const Placement& placement) const;
  /// The first device that holds ops which are to be apart; kNoDevice where there is none.
  [[nodiscard]] DeviceId crowded_device(std::span<const DeviceId> placement) const;

 private:
  void check_parts();
  void validate_colocation(const Placement& placement) const;
  /// Two ops that share a device and are to be apart, and what demands it.
  struct Crowd {
    OpId first;
    OpId second;
    std::size_t rule;
  };
  [[nodiscard]] std::optional<Crowd> find_crowd(std::span<const DeviceId> placement) const;
  void classify_devices();
  void separate_groups();
  void sum_groups();
  /// An op whose group does not hold all of its co-location class; kNoOp where there is none.
  [[nodiscard]] OpId split_from_its_class() const;

  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const Cluster> cluster_;
  std::shared_ptr<const Costs> costs_;
  std::shared_ptr<const Groups> groups_;
  std::shared_ptr<const Constraints> constraints_;
  ProblemOptions options_;
  std::vector<std::int32_t> device_class_;  // by device
  std::int32_t device_class_count_ = 0;
  std::vector<Separation> separations_;
  std::vector<double> group_us_;  // by device class, then group
  std::vector<std::int64_t> group_param_bytes_;
};

}  // namespace berth
