#pragma once

#include <string>

#include "onnx/program.h"

namespace berth::onnx_frontend {

/// Fills the order of `body`, which belongs to `program`, and of all bodies within it: producers first,
/// else as in the file. Throws Error(invalid_graph), naming `file` and the nodes, where nodes read each
/// other's outputs in a circle.
void order_nodes(const Program& program, Body& body, const std::string& file);

}  // namespace berth::onnx_frontend
