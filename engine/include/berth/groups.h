// Groups of ops that are placed together, and the transforms that make them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/export.h"
#include "berth/graph.h"
#include "berth/types.h"

namespace berth {

class Constraints;

/// An immutable map op -> group with its quotient graph. Policies place groups.
///
/// Every group is non-empty. The groups are numbered in a topological order of the quotient graph
/// where it is acyclic; co-location constraints can force a cyclic one (a forward op with its
/// gradient), and then the number follows the mean position of the members in the graph's order.
/// [thread-safe: immutable]
class BERTH_EXPORT Groups {
 public:
  /// `group_of[op]` with any labels >= 0; they are renumbered as above.
  /// Throws Error(invalid_argument) for a wrong size or a negative label.
  Groups(const Graph& graph, std::vector<GroupId> group_of);

  [[nodiscard]] GroupId count() const noexcept { return static_cast<GroupId>(begin_.size()) - 1; }
  [[nodiscard]] GroupId of(OpId op) const noexcept {
    return group_of_[static_cast<std::size_t>(op)];
  }
  [[nodiscard]] std::span<const GroupId> map() const noexcept { return group_of_; }
  /// Sorted by topological position.
  [[nodiscard]] std::span<const OpId> members(GroupId group) const noexcept;
  /// True where the quotient graph has no cycle.
  [[nodiscard]] bool acyclic() const noexcept { return acyclic_; }

  /// An edge of the quotient graph: the distinct tensors that ops of `src` send to ops of `dst`,
  /// each counted once.
  struct Edge {
    GroupId src;
    GroupId dst;
    std::int64_t bytes;
    std::int32_t tensors;  ///< 0 = control edges only
  };
  [[nodiscard]] std::span<const Edge> out_edges(GroupId group) const noexcept;  ///< by dst
  [[nodiscard]] std::span<const Edge> in_edges(GroupId group) const noexcept;   ///< by src

  /// Device per op from device per group; sizes count() -> op count.
  [[nodiscard]] std::vector<DeviceId> expand(std::span<const DeviceId> device_of_group) const;

 private:
  std::vector<GroupId> group_of_;
  std::vector<std::int32_t> begin_;
  std::vector<OpId> members_;
  std::vector<std::int32_t> out_begin_, in_begin_;
  std::vector<Edge> out_edges_, in_edges_;
  bool acyclic_ = true;
};

/// The finest groups a placement may use: one per op, ops of one co-location class together
/// (TensorFlow's co-location groups: `_class`, variables with the ops that change them).
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Groups> colocation_groups(const Graph& graph);

/// At most `count` groups (more only where devices' kinds or `constraints` forbid a merge),
/// coarsened from `colocation_groups` (or Constraints::classes) by merging along the heaviest edge
/// that creates no cycle, then merging neighbours in topological order. Acyclic unless co-location
/// forces a cycle. Merging never joins ops without a common device kind, nor without a common
/// allowed device or that are to be apart; a group grows past twice the mean, in compute time on
/// its fastest kind or in parameter bytes, only where nothing else is left to merge. Deterministic.
/// Throws Error(invalid_argument) for count < 1 and for the costs of another graph.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Groups> coarsen(
    const Graph& graph, const Costs& costs, GroupId count,
    const Constraints* constraints = nullptr);

/// `groups` made to obey `constraints`: groups that share a co-location class become one, and a
/// group whose ops may not all be on one device is cut into runs of its topological order.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Groups> regroup(const Graph& graph,
                                                                 const Costs& costs,
                                                                 const Groups& groups,
                                                                 const Constraints& constraints);

/// The heuristics of Mirhoseini et al., "Device Placement Optimization with Reinforcement
/// Learning", ICML 2017 (PAPERS B3), in their order:
///   1. `colocation_groups`;
///   2. per-model rules, by layers (layers.h): every step of an LSTM layer is a group, and so are
///      every other layer with weights and up to four convolution and pooling layers in a row
///      ("several", there) that no branch enters or leaves;
///   3. a group whose outputs are consumed by one group alone joins it, to a fixpoint, except that
///      what 2 made a group joins nothing.
/// A class of 1 whose ops are of several layers goes with the first. Where the groups of 1 have no
/// cycle, as without gradients, 3 is done once, on the groups of 2 (the fixpoint of a graph with
/// one result would be a single group), and the result has none either. Merging never joins ops
/// without a common kind. Deterministic. Throws Error(invalid_argument) for another graph's costs.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Groups> icml2017_groups(const Graph& graph,
                                                                         const Costs& costs);

/// At most `count` groups (more only where devices' kinds forbid a merge): `icml2017_groups`,
/// merged along the heaviest edge (bytes) that creates no cycle, whatever the sizes, as Addanki et
/// al., "Placeto", NeurIPS 2019, are reported to do (PAPERS A5, F-23). Where no edge is left to
/// merge along, neighbours in topological order merge, the cheapest pair first. Deterministic.
/// Throws Error(invalid_argument) for count < 1 and for the costs of another graph.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Groups> placeto_groups(const Graph& graph,
                                                                        const Costs& costs,
                                                                        GroupId count);

/// The ways of grouping, each named after its source.
enum class Grouping {
  colocation,  ///< colocation_groups
  icml2017,    ///< icml2017_groups
  placeto,     ///< placeto_groups
  balanced,    ///< coarsen
};

/// Throws Error(invalid_argument) listing the known names.
[[nodiscard]] BERTH_EXPORT Grouping grouping_from_name(std::string_view name);
[[nodiscard]] BERTH_EXPORT std::string_view grouping_name(Grouping grouping) noexcept;

/// The groups that a user asks for: without `grouping`, balanced where there is a `count` and
/// colocation where not. Throws Error(invalid_argument) for placeto or balanced without a count and
/// for one of the others with it, and what the function of the grouping throws.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Groups> make_groups(
    const Graph& graph, const Costs& costs, std::optional<Grouping> grouping,
    std::optional<GroupId> count);

/// The graph without the ops that no op of `fetches` needs (names of ops, or of outputs; empty =
/// every op without consumers that is not a bare constant). Ops keep their order and
/// everything known of them. Throws Error(not_found) for a name that is not there.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Graph> prune(const Graph& graph,
                                                              std::span<const std::string> fetches);

}  // namespace berth
