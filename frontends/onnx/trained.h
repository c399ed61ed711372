// Weights that a training step changes.
#pragma once

#include <unordered_set>

#include "onnx/program.h"

namespace berth::onnx_frontend {

/// Inputs of the program whose next values it returns, by the names of both (ops::earlier_names).
[[nodiscard]] std::unordered_set<ValueId> inputs_with_next_values(const Program& program);

}  // namespace berth::onnx_frontend
