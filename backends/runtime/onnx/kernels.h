#pragma once

#include "runtime/kernel.h"

namespace berth::runtime {

/// Kernels of the dialect "onnx". Built at the first call.
[[nodiscard]] const KernelRegistry& onnx_kernels();

}  // namespace berth::runtime
