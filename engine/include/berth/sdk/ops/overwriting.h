/// @file
/// Ops that write their output over an input, as runtimes let them where nobody else needs it.
#pragma once

#include <vector>

#include "berth/export.h"
#include "berth/graph.h"

namespace berth::ops {

/// The input that each op writes its output over, by op; kNoTensor = none. A tensor is overwritten by its only
/// reader, where that gives one tensor of the type and size, which the step does not return, and where the tensor is
/// made in the step, in memory of its own: it is no input, parameter, constant, result or state, and no view of one, or
/// of what others read. Types of ops write over inputs as ONNX Runtime's and TensorFlow's do; graphs of other dialects
/// have none. `hosts_alone`: a machine has no other devices; some kernels write over inputs there alone.
/// [thread-safe]
[[nodiscard]] BERTH_EXPORT std::vector<TensorId> overwritten_inputs(const Graph& graph,
                                                                    bool hosts_alone);

}  // namespace berth::ops
