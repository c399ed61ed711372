/// @file
/// User rules for placements: compiled for one graph and cluster.
///
/// A policy need not know them. Problem::can_run, Problem::cost_us and Problem::memory_bytes take
/// them into account, the problem's groups keep co-located ops together, and SeparationTracker
/// keeps separated groups apart.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/export.h"
#include "berth/graph.h"
#include "berth/groups.h"
#include "berth/types.h"

namespace berth {

/// Selects the ops of a graph for which every given field holds. An empty field selects all.
struct OpSelector {
  std::string name;  ///< the op's name, exactly
  /// Matches the whole name. Supported: literals, `.`, `[a-z]`, `\d \w \s`, `( )`, `|` and
  /// `* + ? {n,m}`. Matching takes linear time; there are no back references and no look-around.
  std::string regex;
  std::string type;  ///< the op's type, exactly
  /// The device that the model file asks for: its exact text, the device or kind of the cluster
  /// that the text means ("/device:GPU:0" means "gpu:0"), or "*" for any.
  std::string requested_device;
};

/// One rule as a user writes it.
struct ConstraintRule {
  enum class Kind {
    pin,       ///< `ops` must be on one of `devices`
    forbid,    ///< `ops` must not be on `devices`
    colocate,  ///< all `ops` must share one device
    /// Ops of one selector share no device with ops of another. With a single selector, no two of
    /// its ops share a device.
    separate,
    respect_devices,  ///< `ops` (empty = all) go where the model file asks for, if it does
    memory_margin,    ///< part of the memory of `devices` (empty = all with a limit) stays free
  };
  Kind kind = Kind::pin;
  std::vector<OpSelector> ops;       ///< the rule applies to an op that any of these selects
  std::vector<std::string> devices;  ///< names of devices, or of kinds (all devices of the kind)
  std::int64_t margin_bytes = 0;     ///< memory_margin: >= 0; the largest of several rules counts
  double margin_share = 0;           ///< memory_margin: share of the memory, in [0, 1)
  std::string text;                  ///< as its author wrote it, for messages; empty = to_text
};

/// The rule as a config file would spell it: `{ pin = "conv1/.*", to = "gpu:0" }`.
[[nodiscard]] BERTH_EXPORT std::string to_text(const ConstraintRule& rule);

/// A memory_margin rule from "10%", "2GiB", "500 MB" or a number of bytes. Throws
/// Error(invalid_argument) for any other text.
[[nodiscard]] BERTH_EXPORT ConstraintRule memory_margin_rule(std::string_view amount,
                                                             std::vector<std::string> devices);

/// Rules compiled for one graph, the devices of one cluster, and what their kinds can run.
/// [thread-safe: immutable]
class BERTH_EXPORT Constraints {
 public:
  /// Throws Error(invalid_argument) for a rule that selects no op (the message lists similar names)
  /// or constants alone, which are where they are read, names no device of the cluster, or keeps
  /// more memory free than a device has. Throws Error(infeasible) if no placement can obey all
  /// rules; the message shows the conflicting rules as they were written.
  Constraints(const Graph& graph, const Cluster& cluster, const Costs& costs,
              std::vector<ConstraintRule> rules);

  [[nodiscard]] const std::vector<ConstraintRule>& rules() const noexcept;
  /// The ops that a rule applies to, ascending.
  [[nodiscard]] std::span<const OpId> ops_of(std::size_t rule) const noexcept;

  /// Whether the rules allow `op`, with everything co-located with it, on `device`. Whether the
  /// device's kind can run it is not considered.
  [[nodiscard]] bool allowed(OpId op, DeviceId device) const noexcept;
  /// `allowed` of every op for one device. Devices with equal columns are alike to the rules.
  [[nodiscard]] std::vector<bool> column(DeviceId device) const;
  /// The rules that keep `op`, or an op co-located with it, off `device`: indices into rules().
  [[nodiscard]] std::vector<std::size_t> rules_against(OpId op, DeviceId device) const;
  /// Memory of the device less its margin; kNoLimit if it has no limit.
  [[nodiscard]] std::int64_t memory_bytes(DeviceId device) const noexcept;
  [[nodiscard]] DeviceId device_count() const noexcept;

  /// The finest groups a placement may use: co-location by the graph and by the rules together.
  [[nodiscard]] const std::shared_ptr<const Groups>& classes() const noexcept;
  /// Whether a class may be on a device by the rules and by the device's kind. Every class has at
  /// least one such device.
  [[nodiscard]] bool class_can_be_on(GroupId of_classes, DeviceId device) const noexcept;

  /// Ops of different parts must not share a device.
  struct Separation {
    std::size_t rule;
    std::vector<std::vector<OpId>> parts;
  };
  [[nodiscard]] const std::vector<Separation>& separations() const noexcept;
  /// Classes with the same label are in the same parts of the same separations. 0 = in none.
  [[nodiscard]] std::int32_t label_of_class(GroupId of_classes) const noexcept;

 private:
  friend class ConstraintCompiler;
  struct Data;
  std::shared_ptr<const Data> data_;
};

/// coarsen (groups.h) from Constraints::classes. Ops that `constraints` let on different devices, or
/// that must be apart, are never merged. `constraints` null = none.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Groups> coarsen(const Graph& graph,
                                                                 const Costs& costs, GroupId count,
                                                                 const Constraints* constraints);

/// `base` made coarser within zones: groups of different zones are never merged, nor are those that
/// coarsen would keep apart. `zone_of` [groups of `base`]: any names. The result has `count` groups,
/// or as few as zones, constraints and the order of ops allow without adding a cycle. `base` must
/// keep the ops of each co-location class of `constraints` together. Throws Error(invalid_argument)
/// for a count below 1 or another number of zones.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Groups> coarsen_zones(
    const Graph& graph, const Costs& costs, std::shared_ptr<const Groups> base, GroupId count,
    std::span<const std::int32_t> zone_of, const Constraints* constraints);

/// `groups` changed to obey `constraints`. Groups that share a co-location class become one. A
/// group whose ops may be on different devices is cut into runs of its topological order.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Groups> regroup(const Graph& graph,
                                                                 const Costs& costs,
                                                                 const Groups& groups,
                                                                 const Constraints& constraints);

}  // namespace berth
