// What is to be solved: a graph, a machine, costs, and what counts as good.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "berth/cluster.h"
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
  /// `groups` null = colocation_groups(*graph). Throws Error(invalid_argument) where the parts do
  /// not belong together or a co-location class is split between groups, Error(infeasible) naming
  /// an op or group that no device kind of the cluster can run.
  Problem(std::shared_ptr<const Graph> graph, std::shared_ptr<const Cluster> cluster,
          std::shared_ptr<const Costs> costs, std::shared_ptr<const Groups> groups = nullptr,
          ProblemOptions options = {});

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

  /// Compute time of `op` on `device`, without the per-op overhead; kCannotRun if it cannot.
  [[nodiscard]] double cost_us(OpId op, DeviceId device) const noexcept {
    return costs_->op_us(op, cluster_->kind_of(device));
  }
  /// Sum of cost_us over a group's members.
  [[nodiscard]] double group_cost_us(GroupId group, DeviceId device) const noexcept {
    return group_us_[static_cast<std::size_t>(cluster_->kind_of(device)) *
                         static_cast<std::size_t>(groups_->count()) +
                     static_cast<std::size_t>(group)];
  }
  [[nodiscard]] bool can_run(GroupId group, DeviceId device) const noexcept {
    return group_cost_us(group, device) < kCannotRun;
  }
  /// Sum of Graph::param_bytes over a group's members.
  [[nodiscard]] std::int64_t group_param_bytes(GroupId group) const noexcept {
    return group_param_bytes_[static_cast<std::size_t>(group)];
  }

  /// Throws Error naming the op and the fix unless `placement` has one valid device per op, that
  /// device can run the op, and every co-location class of the graph is on one device. Ops of a
  /// coarser group may be apart: groups are a policy's working grain, not a constraint.
  /// Memory is not checked here: that is an evaluation's `feasible`.
  void validate(const Placement& placement) const;

 private:
  void sum_groups();
  /// An op whose group does not hold all of its co-location class; kNoOp where there is none.
  [[nodiscard]] OpId split_from_its_class() const;

  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const Cluster> cluster_;
  std::shared_ptr<const Costs> costs_;
  std::shared_ptr<const Groups> groups_;
  ProblemOptions options_;
  std::vector<double> group_us_;  // kind-major
  std::vector<std::int64_t> group_param_bytes_;
};

}  // namespace berth
