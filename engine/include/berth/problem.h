/// @file
/// A placement problem: a graph, a machine, costs, and an objective.
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
#include "berth/placement.h"
#include "berth/types.h"

namespace berth {

enum class Objective {
  latency,     ///< runtime of one step
  throughput,  ///< the largest load of any device or channel when steps run as a pipeline
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
  /// `placeto` semantics only: the pause of a device after an op, and of a bus after a transfer;
  /// both >= 0. The defaults are those of the simulator released with Placeto (Addanki et al.,
  /// NeurIPS 2019), which its authors tuned to an AWS p2.8xlarge.
  double device_gap_us = 5.7;
  double transfer_gap_us = 25;
  /// Objective `throughput` only: steps in flight, each with its own inputs, activations and outputs
  /// in every device's memory; >= 0. With 0, memory holds the parameters alone.
  std::int64_t in_flight = 1;
  /// Whether ops write over inputs (ops::overwritten_inputs), where memory counts what lives through the step.
  /// False for a runtime other than the dialect's that gives every output memory of its own, as PyTorch does.
  bool overwrites = true;

  friend bool operator==(const ProblemOptions&, const ProblemOptions&) = default;
};

/// Whether memory counts what lives through the step. The published simulator of `placeto` knows
/// neither parameters nor inputs.
[[nodiscard]] constexpr bool counts_lifetimes(const ProblemOptions& options) noexcept {
  return options.semantics == Semantics::dataflow || options.objective == Objective::throughput;
}

/// A placement problem. [thread-safe: immutable]
class BERTH_EXPORT Problem {
 public:
  /// `groups` null = the finest (finest_groups). Under `constraints` (null = none) the groups are
  /// changed to obey them (regroup). Throws Error(invalid_argument) if the parts do not belong
  /// together, the groups split a co-location class of the graph, or times or bytes add up to more
  /// than can be computed with. Throws Error(infeasible) naming what no device kind can run.
  Problem(std::shared_ptr<const Graph> graph, std::shared_ptr<const Cluster> cluster,
          std::shared_ptr<const Costs> costs, std::shared_ptr<const Groups> groups = nullptr,
          ProblemOptions options = {}, std::shared_ptr<const Constraints> constraints = nullptr);

  [[nodiscard]] const Graph& graph() const noexcept;
  [[nodiscard]] const Cluster& cluster() const noexcept;
  [[nodiscard]] const Costs& costs() const noexcept;
  [[nodiscard]] const Groups& groups() const noexcept;
  [[nodiscard]] const std::shared_ptr<const Graph>& shared_graph() const noexcept;
  [[nodiscard]] const std::shared_ptr<const Cluster>& shared_cluster() const noexcept;
  [[nodiscard]] const std::shared_ptr<const Costs>& shared_costs() const noexcept;
  [[nodiscard]] const std::shared_ptr<const Groups>& shared_groups() const noexcept;
  [[nodiscard]] const ProblemOptions& options() const noexcept;
  /// Null = none.
  [[nodiscard]] const std::shared_ptr<const Constraints>& constraints() const noexcept;

  /// Whether the constraints allow `op` on `device`. Whether its kind can run it is not considered.
  [[nodiscard]] bool allowed(OpId op, DeviceId device) const noexcept;
  /// The memory that a placement may use on the device: all but the margin that constraints keep
  /// free; kNoLimit if there is no limit.
  [[nodiscard]] std::int64_t memory_bytes(DeviceId device) const noexcept;
  /// The finest groups a placement may use: co-location by the graph and by the constraints.
  [[nodiscard]] std::shared_ptr<const Groups> finest_groups() const;

  /// Compute time of `op` on `device`, without the per-op overhead; kCannotRun if the kind cannot
  /// run it or the constraints do not allow it.
  [[nodiscard]] double cost_us(OpId op, DeviceId device) const noexcept;
  /// Sum of cost_us over the members of a group.
  [[nodiscard]] double group_cost_us(GroupId group, DeviceId device) const noexcept;
  /// Bytes that the op leaves on its device to the end of a step, for every step in flight: the model's
  /// inputs and results (Graph::lasting_bytes), where the semantics count them; 0 for a view. Saturates.
  [[nodiscard]] std::int64_t lasting_bytes(OpId op) const noexcept;
  /// Whether the op's outputs take no memory, and keep what it reads: ops::is_view, an op that the one
  /// before it does in place (Costs::joined), and one that writes over an input. Never where the semantics
  /// count no lifetimes.
  [[nodiscard]] bool is_view(OpId op) const noexcept;
  /// The input that the op writes over, which is all that it keeps: it lets go of the others at its end. kNoTensor
  /// for an op that writes over none, be it a view or not.
  [[nodiscard]] TensorId overwritten(OpId op) const noexcept;
  /// Devices of one class have the same kind and can run the same groups; their memory and links
  /// may differ. Without constraints a class is a kind. Dense, from 0.
  [[nodiscard]] std::int32_t device_class(DeviceId device) const noexcept;
  [[nodiscard]] std::int32_t device_class_count() const noexcept;
  /// Whether the group may be on the device by its kind and by the constraints. Separations are not
  /// considered: they depend on where other groups are.
  [[nodiscard]] bool can_run(GroupId group, DeviceId device) const noexcept;
  /// Bytes that stay on the device of a group through the step, or to its end: the sum of
  /// Graph::param_bytes and lasting_bytes over its members.
  [[nodiscard]] std::int64_t group_param_bytes(GroupId group) const noexcept;

  /// Groups of different parts must not share a device.
  struct Separation {
    std::size_t rule;  ///< index into Constraints::rules
    std::vector<std::vector<GroupId>> parts;
  };
  /// Sets that constraints keep apart, by group; empty if there are none. See separation.h.
  [[nodiscard]] const std::vector<Separation>& separations() const noexcept;

  /// Checks that `placement` has one valid device per op, that each device can run its ops and the
  /// constraints allow them there, that every co-location class (of the graph and of the
  /// constraints) is on one device, and that separated ops are apart. Throws Error naming the op
  /// and the fix. Ops of a coarser group may be on different devices: groups are the unit that a
  /// policy works in, not a constraint. Memory is not checked here; see Evaluation::feasible.
  void validate(const Placement& placement) const;
  /// The same without the check of separations. Evaluators use it: a search may pass through
  /// placements that violate them, whose evaluation is then not feasible.
  void validate_but_separations(const Placement& placement) const;
  /// The first device that holds ops which must be apart; kNoDevice if there is none.
  [[nodiscard]] DeviceId crowded_device(std::span<const DeviceId> placement) const;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

}  // namespace berth
