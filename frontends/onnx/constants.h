#pragma once

#include <onnx/onnx_pb.h>

#include "onnx/types.h"

namespace berth::onnx_frontend {

/// The value a Constant node makes.
struct Constant {
  Type type;                                  ///< unknown if the node states no value
  const onnx::TensorProto* tensor = nullptr;  ///< where it is given as one
};

[[nodiscard]] Constant read_constant(const onnx::NodeProto& node);

[[nodiscard]] Type type_of_tensor(const onnx::TensorProto& tensor);
[[nodiscard]] Type type_of_sparse_tensor(const onnx::SparseTensorProto& tensor);

}  // namespace berth::onnx_frontend
