#pragma once

#include <vector>

#include "berth/graph.h"
#include "berth/placement.h"
#include "onnx/model.h"

namespace berth::onnx_frontend {

/// A device per node of the main graph in file order; kNoDevice = none to name: it was pruned, or is a
/// Constant that several read. Throws Error(invalid_argument) where the placement is none of `graph`, or
/// `graph` not of this model, and Error(unsupported) where a node, such as a call of a local function, has
/// ops on several devices.
[[nodiscard]] std::vector<DeviceId> devices_of_nodes(Model& model, const Graph& graph,
                                                     const Placement& placement);

}  // namespace berth::onnx_frontend
