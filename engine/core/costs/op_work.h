#pragma once

#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/graph.h"
#include "ops/work.h"

namespace berth::costs {

/// The op's work as stated or by the rule of its type, finite whatever the graph says. An op
/// without a rule or with unknown shapes gets OpClass::other and the bytes that are known.
[[nodiscard]] ops::Estimate estimate_work(const Graph& graph, OpId op);

/// The roofline cost of the op on `device`, whose figures are stated, whatever its runtime has a kernel of.
[[nodiscard]] double kernel_us(const Graph& graph, OpId op, const Device& device,
                               const Arithmetic& arithmetic);

}  // namespace berth::costs
