// Ops that a runtime makes part of another.
#pragma once

#include "berth/graph.h"

namespace berth::ops {

/// Whether ONNX Runtime 1.32 computes the op within the products that read it: FusedMatMul takes a matrix
/// of dequantised weights turned around.
[[nodiscard]] bool is_fused(const Graph& graph, OpId op);

}  // namespace berth::ops
