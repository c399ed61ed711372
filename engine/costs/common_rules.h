// Rules that need no dialect: of elements, bytes and what several dialects write alike.
#pragma once

#include "costs/work_rules.h"

namespace berth::costs {

using EstimateFunction = Estimate(const OpView& op, const WorkRule& rule);

// --- what rules return -------------------------------------------------------------------------
[[nodiscard]] Estimate make_estimate(const OpView& op, const WorkRule& rule, double flops,
                                     double bytes, double workspace_bytes = 0);
/// Read and written.
[[nodiscard]] double all_bytes(const OpView& op);

// --- by elements: rule.flops for each ----------------------------------------------------------
EstimateFunction no_work;      ///< a view, a shape, a constant
EstimateFunction per_output;   ///< of the first output; all inputs read, all outputs written
EstimateFunction per_input;    ///< of the first input (reductions)
EstimateFunction per_operand;  ///< of the first output, for every input after the first
EstimateFunction write_only;   ///< of the first output; inputs are only sizes
EstimateFunction gathered;     ///< reads as many bytes of the data as it writes, and the indices

// --- others ------------------------------------------------------------------------------------
EstimateFunction einsum;       ///< attribute "equation"
EstimateFunction determinant;  ///< by factorisation; inverses too

}  // namespace berth::costs
