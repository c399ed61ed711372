// What a user demands of a placement: rules over ops, compiled for one graph and cluster.
//
// A policy need not know them: Problem answers can_run, cost_us and memory_bytes accordingly, its
// groups keep co-located ops together, and plugins/common keeps separated groups apart.
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

/// Some ops of a graph: those for which everything given here holds. An empty text asks nothing.
struct OpSelector {
  std::string name;  ///< the op's name, exactly
  /// Matches the whole name: literals, `.`, `[a-z]`, `\d \w \s`, `( )`, `|`, `* + ? {n,m}`.
  /// Matching takes linear time, so there are no back references and no look-around.
  std::string regex;
  std::string type;  ///< the op's type, exactly
  /// The device the model file asks for: its text, a device or kind of the cluster that this text
  /// names ("/device:GPU:0" names "gpu:0"), or "*" for any.
  std::string requested_device;
};

/// One rule as a user states it.
struct ConstraintRule {
  enum class Kind {
    pin,       ///< `ops` go on one of `devices`
    forbid,    ///< `ops` stay off `devices`
    colocate,  ///< all `ops` go on one device, together
    /// Ops of one selector share no device with ops of another; with a single selector, each of
    /// its ops shares no device with any other of them.
    separate,
    respect_devices,  ///< `ops` (empty = all) that ask for a device in the model file go there
    memory_margin,    ///< so much memory of `devices` (empty = all with a limit) stays free
  };
  Kind kind = Kind::pin;
  std::vector<OpSelector> ops;       ///< an op is meant where one of these selects it
  std::vector<std::string> devices;  ///< names of devices, or of kinds: all devices of that kind
  std::int64_t margin_bytes = 0;     ///< memory_margin: >= 0; of several rules the largest counts
  double margin_share = 0;           ///< memory_margin: of the memory, in [0, 1)
  std::string text;                  ///< as its author wrote it, for messages; empty = to_text
};

/// The rule as a config file would hold it: `{ pin = "conv1/.*", to = "gpu:0" }`.
[[nodiscard]] BERTH_EXPORT std::string to_text(const ConstraintRule& rule);

/// A memory_margin rule from "10%", "2GiB", "500 MB" or a number of bytes. Throws
/// Error(invalid_argument) for anything else.
[[nodiscard]] BERTH_EXPORT ConstraintRule memory_margin_rule(std::string_view amount,
                                                             std::vector<std::string> devices);

/// Rules compiled for one graph, the devices of one cluster and what their kinds can run.
/// Immutable. [thread-safe: immutable]
class BERTH_EXPORT Constraints {
 public:
  /// Throws Error(invalid_argument) for a rule that selects no op (with near names), names no
  /// device of the cluster, or keeps more memory free than there is; Error(infeasible), showing
  /// the rules in conflict as they were written, where no placement can obey them all.
  Constraints(const Graph& graph, const Cluster& cluster, const Costs& costs,
              std::vector<ConstraintRule> rules);

  [[nodiscard]] const std::vector<ConstraintRule>& rules() const noexcept { return rules_; }
  /// The ops that a rule is about, ascending.
  [[nodiscard]] std::span<const OpId> ops_of(std::size_t rule) const noexcept {
    return ops_of_rule_[rule];
  }

  /// Whether the rules let `op`, with all that is co-located with it, be on `device`. What the
  /// device's kind can run is another question.
  [[nodiscard]] bool allowed(OpId op, DeviceId device) const noexcept {
    return sets_[static_cast<std::size_t>(set_of_op_[static_cast<std::size_t>(op)]) *
                     memory_bytes_.size() +
                 static_cast<std::size_t>(device)];
  }
  /// What tells devices of a kind apart: equal columns, equal answers to allowed for every op.
  [[nodiscard]] std::vector<bool> column(DeviceId device) const;
  /// The rules that keep `op`, or an op co-located with it, from `device`; indices into rules().
  [[nodiscard]] std::vector<std::size_t> rules_against(OpId op, DeviceId device) const;
  /// Memory of the device without its margin; kNoLimit where it has no limit.
  [[nodiscard]] std::int64_t memory_bytes(DeviceId device) const noexcept {
    return memory_bytes_[static_cast<std::size_t>(device)];
  }
  [[nodiscard]] DeviceId device_count() const noexcept {
    return static_cast<DeviceId>(memory_bytes_.size());
  }

  /// The finest groups a placement may use: co-location of the graph and of the rules together.
  [[nodiscard]] const std::shared_ptr<const Groups>& classes() const noexcept { return classes_; }
  /// Whether neither a rule nor its kind keeps a class from a device. Every class has one.
  [[nodiscard]] bool class_can_be_on(GroupId of_classes, DeviceId device) const noexcept {
    return places_[static_cast<std::size_t>(place_of_class_[static_cast<std::size_t>(of_classes)]) *
                       memory_bytes_.size() +
                   static_cast<std::size_t>(device)];
  }

  /// Ops of different parts share no device.
  struct Separation {
    std::size_t rule;
    std::vector<std::vector<OpId>> parts;
  };
  [[nodiscard]] const std::vector<Separation>& separations() const noexcept { return separations_; }
  /// Classes with the same label are in the same parts of the same separations; 0 = in none.
  [[nodiscard]] std::int32_t label_of_class(GroupId of_classes) const noexcept {
    return label_of_class_[static_cast<std::size_t>(of_classes)];
  }

 private:
  friend class ConstraintCompiler;

  std::vector<ConstraintRule> rules_;
  std::vector<std::vector<OpId>> ops_of_rule_;
  /// What a rule leaves some ops: one per pin and forbid, one per device that ops of a
  /// respect_devices ask for.
  struct Restriction {
    std::size_t rule;
    std::vector<OpId> ops;
    std::vector<bool> devices;
  };
  std::vector<Restriction> restrictions_;
  std::vector<std::int32_t> set_of_op_;
  std::vector<bool> sets_;  // set-major, by device
  std::vector<std::int32_t> place_of_class_;
  std::vector<bool> places_;  // place-major, by device
  std::shared_ptr<const Groups> classes_;
  std::vector<Separation> separations_;
  std::vector<std::int32_t> label_of_class_;
  std::vector<std::int64_t> memory_bytes_;
};

}  // namespace berth
