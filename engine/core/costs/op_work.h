#pragma once

#include "berth/graph.h"
#include "ops/work.h"

namespace berth::costs {

/// The op's work as stated or by the rule of its type, finite whatever the graph says. An op
/// without a rule or with unknown shapes gets OpClass::other and the bytes that are known.
[[nodiscard]] ops::Estimate estimate_work(const Graph& graph, OpId op);

}  // namespace berth::costs
