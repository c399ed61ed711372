// Weights that a training step changes.
#pragma once

#include <unordered_set>
#include <vector>

#include "onnx/program.h"

namespace berth::onnx_frontend {

/// Inputs of the program whose next values it returns, by the names of both (ops::earlier_names).
[[nodiscard]] std::unordered_set<ValueId> inputs_with_next_values(const Program& program);

/// Marks the weights (Value::trained) that the step changes or leaves its caller to change: those that an
/// optimizer or a buffer of gradients takes, and those of which the step makes the gradient or returns the next value,
/// by name. Where nothing is named so, `arguments`, the inputs that are weights in the file's order, are trained if the
/// results have all their shapes in that order.
void mark_trained(Program& program, const std::vector<ValueId>& arguments);

}  // namespace berth::onnx_frontend
