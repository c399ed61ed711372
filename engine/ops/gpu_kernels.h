// Ops that no GPU runs.
#pragma once

#include "berth/graph.h"

namespace berth::ops {

/// Whether the runtime of the graph's dialect has a kernel of the op's type for processors and none for
/// GPUs, or none for GPUs of the element type that the op has. A constant runs nowhere.
[[nodiscard]] bool lacks_gpu_kernel(const Graph& graph, OpId op);

}  // namespace berth::ops
