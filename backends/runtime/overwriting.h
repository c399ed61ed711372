// Kernels that write their output over an input, where a step lets them (KernelContext::overwritten).
#pragma once

#include "runtime/kernel.h"

namespace berth::runtime {

/// The operand that a kernel of two may write its output over; undefined: it needs a tensor of its own.
[[nodiscard]] at::Tensor overwritable_operand(const KernelContext& context,
                                              std::span<const Value> operands);

/// The kernel of the request's instruction, which writes over the input where that is real numbers without gaps, of
/// which nobody else has anything, and of the output's shape; `own` computes all else. `own` itself for a type that
/// never does.
[[nodiscard]] Kernel overwriting(const KernelRequest& request, Kernel own);

}  // namespace berth::runtime
