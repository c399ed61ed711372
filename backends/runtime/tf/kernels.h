#pragma once

#include "runtime/kernel.h"

namespace berth::runtime {

/// Kernels of the dialect "tf". Built at the first call.
[[nodiscard]] const KernelRegistry& tf_kernels();

}  // namespace berth::runtime
