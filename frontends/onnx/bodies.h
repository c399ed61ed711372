// The part of an op's bodies that counts: which run, how often, and what of them has no size. The types of all values are
// inferred.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "onnx/op_context.h"
#include "onnx/program.h"

namespace berth::onnx_frontend {

/// Whether the node is an If, Loop, Scan or SequenceMap: its bodies run as it says.
[[nodiscard]] bool is_control_flow(const Node& node);

/// Number `i` of an attribute that lists numbers; 0 where there is none.
[[nodiscard]] std::int64_t listed(const NodeContext& op, std::string_view name, std::size_t i);

/// Whether the body may run in the step: not the branch of an If whose condition is known to choose the other.
[[nodiscard]] bool may_run(const Program& program, const Node& op, const Body& body);

/// Whether the op searches for a sequence: its decoder runs once for each token that is made.
[[nodiscard]] bool searches(const Node& node);

/// How often the decoder of an op that searches runs, by the length that the result may have, and by that which is
/// there before; kUnknownDim where either is not known.
[[nodiscard]] std::int64_t tokens_made(const NodeContext& op);

/// How often `body` of `op` runs: the trip count of a Loop or Scan, the number of elements of a SequenceMap, or that of
/// tokens for a decoder, if it is known, else 1.
[[nodiscard]] double trip_count(const Program& program, const Node& op, const Body& body);

/// How many sequences each one becomes that the body of an op that searches is written for: beams, where the body has
/// the batch of what they continue. 1 where that is not known.
[[nodiscard]] double beams_beside(const Program& program, const Node& op, const Body& body);

/// The types of the ops in the bodies of `op` that may run; of one with bodies those in them.
[[nodiscard]] std::set<std::string> types_inside(const Program& program, const Node& op);

/// How many tensors have no size in the bodies of `op`; of branches, in the one that lacks fewest: the others may be for
/// other sizes.
[[nodiscard]] std::int64_t unsized_inside(const Program& program, const Node& op);
/// How many of those that nodes of `body` give have none, and in their bodies; `every_branch`: of branches too that
/// are not the one that lacks fewest.
[[nodiscard]] std::int64_t unsized_values(const Program& program, const Body& body,
                                          bool every_branch = false);

}  // namespace berth::onnx_frontend
