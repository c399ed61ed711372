// The engine's knowledge of op types, applied to the nodes of a file.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "berth/sdk/op_rules.h"
#include "berth/sdk/ops/op.h"
#include "tf/attributes.h"
#include "tf/graph_def.h"

namespace berth::tf_frontend {

/// Null for a type that no table has. [thread-safe]
[[nodiscard]] const ops::OpInfo* find_op(std::string_view type);

/// Tensors that one output stands for.
[[nodiscard]] std::size_t tensor_count(const ArgDef& output, const Attributes& attributes);
/// The types of all tensors of `outputs`, in order.
[[nodiscard]] std::vector<int> output_types(std::span<const ArgDef> outputs,
                                            const Attributes& attributes);

/// Fills what follows of `outputs`, whose types are known; `largest_step`, `expected` and `pieces` as in ops::OpContext.
/// Whether what does not follow depends on what a step computes. Throws Error(invalid_graph) naming
/// the node for a constant without a value.
bool apply_rules(const ops::OpInfo& info, std::string_view node, std::string_view type,
                 const Attributes& attributes, std::span<const Value* const> inputs,
                 std::span<Value> outputs, bool largest_step, std::int64_t expected = kUnknownDim,
                 std::int64_t pieces = 1);

/// The same for a rule of the user's; what the op does, where the sizes are known.
std::optional<Work> apply_rule_of_user(const OpRule& rule, std::string_view type,
                                       const Attributes& attributes,
                                       std::span<const Value* const> inputs,
                                       std::span<Value> outputs);

}  // namespace berth::tf_frontend
