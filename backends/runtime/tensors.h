// From a file's tensors to ATen's.
#pragma once

#include <ATen/core/Tensor.h>

#include "berth/dtype.h"
#include "berth/sdk/program.h"

namespace berth::runtime {

/// The type in which ATen computes with `dtype`. ATen has no unsigned types beyond u8 and none
/// narrower than a byte. Such values are held in the next wider signed type (u64 in i64, bit for
/// bit), or in a byte each. Throws Error(unsupported) for f8, text and opaque types.
[[nodiscard]] at::ScalarType scalar_type(DType dtype);

/// A tensor on the CPU. It shares the content's bytes, and keeps them alive, if ATen can read them
/// in place. Throws Error(unsupported) as `scalar_type`, and Error(invalid_graph) if the bytes do
/// not fit the shape.
[[nodiscard]] at::Tensor make_tensor(const TensorContent& content);

}  // namespace berth::runtime
