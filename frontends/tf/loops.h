// Loops written with Enter, Merge, Switch, NextIteration and Exit: which nodes belong to which, and
// how often they run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tf/program.h"

namespace berth::tf_frontend {

using FrameId = std::int32_t;
inline constexpr FrameId kNoFrame = -1;

/// One loop: the nodes between its Enter and Exit nodes.
struct Frame {
  std::string name;  ///< unique in the program: the file's own, behind the call it is inlined from
  FrameId parent = kNoFrame;
  FrameId outermost = kNoFrame;  ///< the loop around all others, itself if there is none
  int depth = 1;
  std::int64_t trips = kUnknownDim;  ///< times the body runs; kUnknownDim until it is found
};

struct Loops {
  std::vector<Frame> frames;
  std::vector<FrameId> frame_of;  ///< by node: the innermost; kNoFrame outside
  std::vector<NodeId> order;      ///< all nodes, producers first but for the ends of loops

  /// The loop around all others that `node` is in; kNoFrame outside.
  [[nodiscard]] FrameId outermost(NodeId node) const {
    const FrameId frame = frame_of[static_cast<std::size_t>(node)];
    return frame == kNoFrame ? kNoFrame : frames[static_cast<std::size_t>(frame)].outermost;
  }
};

[[nodiscard]] inline bool is_enter(std::string_view op) {
  return op == "Enter" || op == "RefEnter";
}
[[nodiscard]] inline bool is_exit(std::string_view op) {
  return op == "Exit" || op == "RefExit";
}
[[nodiscard]] inline bool is_merge(std::string_view op) {
  return op == "Merge" || op == "RefMerge";
}
[[nodiscard]] inline bool is_switch(std::string_view op) {
  return op == "Switch" || op == "RefSwitch";
}
[[nodiscard]] inline bool is_next_iteration(std::string_view op) {
  return op == "NextIteration" || op == "RefNextIteration";
}

/// A variable of a loop written with Merge and NextIteration.
struct FrameVariable {
  Source start;  ///< its value before the first round
  Source end;    ///< its value at the end of a round
};
/// The variable that `merge` begins a round with; none where it is no loop's.
[[nodiscard]] std::optional<FrameVariable> variable_at(const Program& program, NodeId merge);

/// The shape after so many rounds of a variable that the first round takes from `before` to `after`,
/// both known and of one rank, and that each round changes by the same.
[[nodiscard]] Dims shape_behind(const Value& before, const Value& after, double rounds);

/// Throws Error(invalid_graph) naming the nodes of a cycle that is no loop's.
[[nodiscard]] Loops find_loops(const Program& program, const std::string& file);

/// The branch that an If of a program takes where its condition is as given, its values inferred; none where the file
/// has no such function.
using BranchOf =
    std::function<std::optional<Program>(const Program& program, const Node& node, bool condition)>;

/// How often the loop around `condition` (its LoopCond) runs, by a counter that starts at a known
/// number, changes by a known one, and is compared with a known one; kUnknownDim if that is not
/// how it is written. Where several conditions must hold, the first to fail decides; a branch that always ends the loop
/// is such a condition. The values of the condition's nodes are inferred.
[[nodiscard]] std::int64_t count_trips(const Program& program, NodeId condition,
                                       const BranchOf& branch_of);

/// The same for a functional loop: its condition and body as inferred, and what its variables are
/// before the first round. A limit may also be a variable that the body passes on as it is.
[[nodiscard]] std::int64_t count_trips(const Program& condition, const Program& body,
                                       const std::vector<Value>& initial,
                                       const BranchOf& branch_of);

/// Whether every round of a functional loop hands variable `index` on as it is.
[[nodiscard]] bool is_handed_on(const Program& body, std::size_t index);

/// Whether `source`, in a loop of `program` or where that is a loop's body, is the same tensor in every round, in memory
/// that is there before the first.
[[nodiscard]] bool is_kept(const Program& program, const Source& source);

/// Whether every round of a functional loop puts the same tensor at the end of the list that variable
/// `index` is.
[[nodiscard]] bool puts_the_same(const Program& body, std::size_t index);

/// The content of a loop variable after `trips` rounds, for a counter; kUnknown where `merge` is
/// none.
[[nodiscard]] std::int64_t counter_after(const Program& program, NodeId merge, std::int64_t trips);

/// The content of variable `index` of a functional loop after `trips` rounds of `body`: of a
/// counter, and of what every round passes on as it is; null for any other.
[[nodiscard]] DataPtr content_after(const Program& body, const std::vector<Value>& initial,
                                    std::size_t index, std::int64_t trips);

}  // namespace berth::tf_frontend
