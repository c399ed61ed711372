#pragma once

#include <filesystem>
#include <vector>

#include "berth/cluster.h"
#include "berth/graph.h"
#include "berth/placement.h"
#include "berth/sdk/splitting.h"

namespace berth::onnx_frontend {

/// ModelSplitter::split. Files are "0.gpu_0.onnx", with "0.gpu_0.weights" beside it where the model has
/// external data. Weights lie in the parts that read them, constants and what depends on weights alone
/// too. Inputs of parts that are none of the model have an element type and no shape, where the
/// file does not say more.
[[nodiscard]] std::vector<ModelPart> split_model(const std::filesystem::path& model,
                                                 const Graph& graph, const Cluster& cluster,
                                                 const Placement& placement,
                                                 const std::filesystem::path& folder);

}  // namespace berth::onnx_frontend
