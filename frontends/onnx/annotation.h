#pragma once

#include <filesystem>

#include "berth/cluster.h"
#include "berth/graph.h"
#include "berth/problem.h"

namespace berth::onnx_frontend {

/// Copies `model` to `output` with the placement of `graph` (loaded from it, perhaps pruned since):
///  - every node of the main graph gets the metadata "berth.device" and "layer_ann" = its device's
///    name (IR 10); the latter is ONNX Runtime's layer annotation, of which its session option
///    `session.layer_assignment_settings` makes devices. A call of a local function gets them where
///    all ops inlined from it agree, a Constant where all ops that read it do;
///  - the model gets a device configuration named "berth" that lists the cluster's devices, and each
///    of these nodes a device configuration by which all its outputs are whole on the one device of
///    that list: where the file is of IR 11 or later, which have these fields.
/// The file keeps its IR version; readers of versions before 10 skip the metadata. Everything else is copied byte by byte, weights without
/// being held. `output` may be `model`; it is replaced as a whole or not at all.
///
/// Throws Error(invalid_argument) if `graph` is not of this model, and Error(io).
void write_annotated(const std::filesystem::path& model, const Graph& graph, const Cluster& cluster,
                     const Placement& placement, const std::filesystem::path& output);

}  // namespace berth::onnx_frontend
