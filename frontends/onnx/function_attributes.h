#pragma once

#include <onnx/onnx_pb.h>

namespace berth::onnx_frontend {

/// Puts into `node`, a copy of one of the body of `function`, and into the graphs that it holds what the
/// attributes refer to: those of `call`, which are resolved, else the function's defaults. An optional
/// attribute that has neither is removed.
void resolve_attributes(onnx::NodeProto& node, const onnx::FunctionProto& function,
                        const onnx::NodeProto& call);

}  // namespace berth::onnx_frontend
