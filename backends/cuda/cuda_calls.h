#pragma once

#include <memory>

#include "cuda/calls.h"

namespace berth::cuda {

/// The CUDA Runtime and LibTorch's CUDA. Touches neither before it is asked something.
[[nodiscard]] std::shared_ptr<Calls> make_cuda_calls();

}  // namespace berth::cuda
