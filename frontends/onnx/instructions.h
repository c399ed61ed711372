#pragma once

#include <string>
#include <vector>

#include "berth/sdk/program.h"
#include "onnx/contents.h"
#include "onnx/program.h"
#include "onnx/translation.h"

namespace berth::onnx_frontend {

/// Collects everything that executing `program` needs besides its graph. `graph` is the translation's, or what pruning
/// left of it for `fetches`; the outputs are then what they name. Notes for users are appended to
/// `notes`.
[[nodiscard]] berth::Program make_executable(const Program& program, const Translation& translation,
                                             std::shared_ptr<const Graph> graph,
                                             const std::vector<std::string>& fetches,
                                             Contents& contents, std::vector<std::string>& notes);

}  // namespace berth::onnx_frontend
