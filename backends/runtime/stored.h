// Weights that stay as they are stored, such as quantised ones: they are dequantised as they are read.
#pragma once

#include <span>
#include <vector>

#include "berth/sdk/program.h"
#include "runtime/kernel.h"

namespace berth::runtime {

/// Whether the op's input is made, by constants of the step, of several parameters that reside in
/// its place (Graph::kept_for).
[[nodiscard]] bool is_stored(const Graph& graph, TensorId input);

/// The parameters that reside for the op's stored inputs, each once, in the order in which its
/// kernel takes them.
[[nodiscard]] std::vector<TensorId> stored_parameters(const Graph& graph, OpId op);

/// Makes the kernels of ops with stored inputs take stored_parameters behind their other inputs, and
/// compute what they stand for before each run. The stored inputs themselves may be absent. No
/// result is kept, so that a step holds no more than a kernel that reads quantised weights.
void read_as_stored(const Program& program, std::vector<Kernel>& kernels);

}  // namespace berth::runtime
