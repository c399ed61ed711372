/// @file
/// Groups of ops that are placed together, and the ways to make them.
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
#include "berth/placement.h"
#include "berth/types.h"

namespace berth {

/// An immutable map from ops to groups, with its quotient graph. Policies place groups.
///
/// No group is empty. If the quotient graph is acyclic, the groups are numbered in a topological
/// order. Co-location constraints can force a cycle, for example between a forward op and its
/// gradient. The groups are then numbered by the edges from classes that begin earlier to others
/// (those of the forward ops) or, where these have a cycle, by their first member. [thread-safe]
class BERTH_EXPORT Groups {
 public:
  /// `group_of[op]` may hold any labels >= 0; they are renumbered as described above. Throws
  /// Error(invalid_argument) for a wrong size or a negative label.
  Groups(const Graph& graph, std::vector<GroupId> group_of);

  [[nodiscard]] GroupId count() const noexcept;
  [[nodiscard]] GroupId of(OpId op) const noexcept;
  [[nodiscard]] std::span<const GroupId> map() const noexcept;
  /// Sorted by position in the topological order.
  [[nodiscard]] std::span<const OpId> members(GroupId group) const noexcept;
  /// True if the quotient graph has no cycle.
  [[nodiscard]] bool acyclic() const noexcept;

  /// An edge of the quotient graph: the tensors that ops of `src` send to ops of `dst`, each
  /// counted once.
  struct Edge {
    GroupId src;
    GroupId dst;
    std::int64_t bytes;
    std::int32_t tensors;  ///< 0 = control edges only
  };
  /// Sorted by dst.
  [[nodiscard]] std::span<const Edge> out_edges(GroupId group) const noexcept;
  /// Sorted by src.
  [[nodiscard]] std::span<const Edge> in_edges(GroupId group) const noexcept;

  /// A device per op from count() devices by group. Error(invalid_argument) for any other count.
  [[nodiscard]] Placement expand(const GroupPlacement& placement) const;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

/// The finest groups a placement may use: ops of one co-location class form a group, and every
/// other op is a group of its own. In TensorFlow, co-location classes come from `_class` attributes
/// and join variables with the ops that change them. A constant of the step joins its first reader.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Groups> colocation_groups(const Graph& graph);

/// At most `count` groups of similar size.
///
/// Starts from `colocation_groups`. Merges along the heaviest edge that creates no cycle; when no
/// such edge is left, merges neighbours in topological order. The result is acyclic unless
/// co-location forces a cycle. Ops that may be on different devices are never merged; `count` can be
/// exceeded only for this reason. A group exceeds twice the mean (in compute time on its fastest
/// kind, or in parameter bytes) only if nothing else is left to merge. Deterministic. Throws
/// Error(invalid_argument) for count < 1 and for the costs of another graph.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Groups> coarsen(const Graph& graph,
                                                                 const Costs& costs, GroupId count);

/// The grouping heuristics of Mirhoseini et al., "Device Placement Optimization with Reinforcement
/// Learning", ICML 2017 (section on co-locating operations), in three steps:
///   1. Start from `colocation_groups`.
///   2. Apply rules per model, by layers (layers.h). Every step of an LSTM layer is a group, and so
///      is every other layer with weights. Up to four convolution and pooling layers in a row that
///      no branch enters or leaves form one group; the paper says "several" layers.
///   3. A group whose outputs are consumed by one other group only joins that group. Repeat until
///      nothing changes. The groups of step 2 do not join others.
///
/// A co-location class whose ops belong to several layers goes with the first of them. Without
/// gradients the groups of step 1 are acyclic. Step 3 is then done once, on the groups of step 2,
/// and the result is acyclic too; repeated, it would turn a graph with one result into a single
/// group. Ops that run on different kinds are never merged. Deterministic. Throws
/// Error(invalid_argument) for the costs of another graph.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Groups> icml2017_groups(const Graph& graph,
                                                                         const Costs& costs);

/// At most `count` groups: `icml2017_groups`, merged further as `coarsen` does, along the heaviest
/// edge that creates no cycle and no group above twice the mean. The first rule is what others report
/// of the grouping of Addanki et al., "Placeto", NeurIPS 2019; the code released with the paper leaves
/// grouping out. Without a limit on sizes Inception-V3 becomes a star: one group with most of the work.
/// Ops that run on different kinds are never merged; `count` can be exceeded only for this
/// reason. Deterministic. Throws Error(invalid_argument) for count < 1 and for the costs of another
/// graph.
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

/// The groups that a user asks for. Without `grouping` it is `balanced` if a `count` is given and
/// `colocation` if not. Throws Error(invalid_argument) for `placeto` or `balanced` without a count,
/// for the others with one, and as the function of the grouping does.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Groups> make_groups(
    const Graph& graph, const Costs& costs, std::optional<Grouping> grouping,
    std::optional<GroupId> count);

/// The graph reduced to the ops that `fetches` need. `fetches` are names of ops or of their
/// outputs. Empty = every op without consumers that is not a bare constant. Ops keep their order
/// and all their properties. Throws Error(not_found) for an unknown name.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Graph> prune(const Graph& graph,
                                                              std::span<const std::string> fetches);

}  // namespace berth
