#pragma once

#include <string>
#include <vector>

#include "onnx/program.h"

namespace berth::onnx_frontend {

/// Unique op names of a program's main body, always the same for the same file. A node keeps its
/// name; a repeated name gets "_2", "_3", ... in file order. Then graph inputs, and Constants that
/// the graph returns, get their own names. Nodes without a name are then named after their first
/// output.
struct GraphNames {
  std::vector<std::string> nodes;      ///< by index in Body::nodes
  std::vector<std::string> inputs;     ///< by index in Body::inputs
  std::vector<std::string> constants;  ///< by index in Program::returned_constants
  std::vector<std::string> repeated;   ///< names of the file that occur more than once
};
[[nodiscard]] GraphNames name_ops(const Program& program);

}  // namespace berth::onnx_frontend
